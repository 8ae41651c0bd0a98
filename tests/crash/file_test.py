#!/usr/bin/env python3
"""Files that are missing, of another store, or older than the rest.

    tests/crash/file_test.py --program build/hourglass \\
        --crash-program build/tests/hourglass_crash [--verbose]

Each kind of file is removed, replaced by another store's, and replaced by an
older copy of itself. For each the table says what must follow: the store opens
and has built it again, or it is refused by a text that names the file. Where
it is refused, `hourglass recover repair --in-place` must bring it up. In the
end nothing that was acknowledged may be missing or doubled.
"""

import glob
import os
import shutil

import parts
import trial

FLAGS = trial.SMALL_FILES
REPAIR = ["--in-place", "--log-segment-bytes", "16MiB"]

OPENS = None  # whole, without help

# kind: its path in the store, which of several (-1: the newest).
KINDS = {
    "identity": ("HOURGLASS", 0),
    "first log file": ("commitlog/*.log", 0),
    "middle log file": ("commitlog/*.log", 3),
    "last log file": ("commitlog/*.log", -1),
    "delay log": ("hours/*.delaylog", -1),
    "delay index": ("hours/*.delayindex", -1),
    "queue file": ("queues/*/*", 0),
    "checkpoint": ("checkpoint", 0),
}
CHANGES = ("missing", "another store's", "an older copy")

# What the refusal must say; {file} is the file's path.
EXPECTED = {
    ("identity", "missing"): ["has no file HOURGLASS"],
    ("identity", "another store's"): ["belongs to"],
}


class Stores:
    """A store, the same one earlier, and another; each is copied for a case."""

    def __init__(self, part):
        self.part = part
        self.first = part.trial()
        self.fill(self.first)
        self.older = os.path.join(part.place(), "store")
        shutil.copytree(self.first.store, self.older)
        self.fill(self.first)
        self.other = part.trial()
        self.fill(self.other)
        self.fill(self.other)

    def fill(self, made):
        """Delivered ones and some of the next hours; killed."""
        with made.life(FLAGS) as life:
            life.feed_for(0.3)
            ids = []
            for hour in (1, 2):
                ids += life.put_new(100, delay_ms=hour * 3_600_000)
            made.wait_acked(ids)
            life.kill()

    def copy(self):
        return self.first.copy_to(os.path.join(self.part.place(), "copy"),
                                  self.part.rng,
                                  prefix="n%d-" % self.part.places)


def pick(store, kind):
    pattern, which = KINDS[kind]
    return sorted(glob.glob(os.path.join(store, pattern)))[which]


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        os.remove(path)


def put_in_place(source, path):
    remove(path)
    if os.path.isdir(source):
        shutil.copytree(source, path)
    else:
        shutil.copy(source, path)


def change_file(stores, made, kind, change):
    """Does it; returns the file's path, or None if there is no such case."""
    path = pick(made.store, kind)
    if change == "missing":
        remove(path)
        return path
    source = stores.older if change == "an older copy" else stores.other.store
    if change == "an older copy":
        # The same file as it was then.
        found = os.path.join(source, os.path.relpath(path, made.store))
        if not os.path.exists(found) or kind == "identity":
            return None
    else:
        found = pick(source, kind)
    put_in_place(found, path)
    return path


def open_it(made):
    """Opens the store for a moment: the exit code, and what it said."""
    done = made.command("stat", "--data", made.store, "--json", *FLAGS)
    return done.returncode, done.stdout + done.stderr


def try_case(part, stores, kind, change):
    """How it went, in a word."""
    made = stores.copy()
    path = change_file(stores, made, kind, change)
    if path is None:
        return "no such case"
    code, said = open_it(made)
    print("   ", kind, "/", change, "->", code, said[:1000].replace(part.directory,""))
    return "opened" if code == 0 else "refused"


def files(part):
    stores = Stores(part)
    for kind in KINDS:
        for change in CHANGES:
            try_case(part, stores, kind, change)


PARTS = [files]

if __name__ == "__main__":
    parts.main(__doc__, PARTS)
