#!/usr/bin/env python3
"""Files that are missing, of another store, or older than the rest.

    tests/crash/file_test.py --program build/hourglass \\
        --crash-program build/tests/hourglass_crash [--part delay_log]

Each kind of file is removed, replaced by another store's, and replaced by an
older copy of itself; the table says what must follow. Whatever it is, the
store is brought up as docs/recovery.md says, and then nothing that was
acknowledged may be missing or doubled.
"""

import filecmp
import glob
import json
import os
import shutil
import time

import parts
import trial

FLAGS = trial.SMALL_FILES
LOG_FILE_BYTES = 256 << 10
LOG_FILES_MIN = 5
REPAIR = ["--in-place", "--log-segment-bytes", "16MiB"]

MISSING, FOREIGN, OLDER = "missing", "another store's", "an older copy"

# What must follow.
REBUILT = "opens, built again, sound"
DAMAGED = "opens, verify names it, repair brings it up"
REFUSED = "refused by name, repair brings it up"
# A log file is read at opening only behind the last checkpoint, a queue file
# when a message becomes ready.
NOTICED = "refused, or verify names it, repair brings it up"
RETIRED = "opens as if retention had taken it"

# kind: its path, which of several (-1: the newest), and change: what follows.
KINDS = {
    "identity": ("HOURGLASS", 0, {
        MISSING: REFUSED, FOREIGN: REFUSED}),
    "first_log_file": ("commitlog/*.log", 0, {
        MISSING: RETIRED, FOREIGN: DAMAGED}),
    "middle_log_file": ("commitlog/*.log", 3, {
        MISSING: NOTICED, FOREIGN: NOTICED}),
    "log_file_that_was_the_last": ("commitlog/*.log", -1, {
        OLDER: NOTICED}),
    "last_log_file": ("commitlog/*.log", -1, {
        MISSING: REFUSED, FOREIGN: REFUSED}),
    "delay_log": ("hours/*.delaylog", -1, {
        MISSING: REBUILT, FOREIGN: DAMAGED, OLDER: REBUILT}),
    "delay_index": ("hours/*.delayindex", -1, {
        MISSING: REBUILT, FOREIGN: DAMAGED, OLDER: REBUILT}),
    "queue_file": ("queues/*/*", 0, {
        MISSING: REBUILT, FOREIGN: NOTICED, OLDER: REBUILT}),
    "checkpoint": ("checkpoint", 0, {
        MISSING: REBUILT, FOREIGN: REFUSED, OLDER: REBUILT}),
}


class Stores:
    """A store, the same one earlier, and another; each is copied for a case."""

    def __init__(self, part):
        self.part = part
        self.first = part.trial()
        # On a slow machine one life does not fill many files.
        while len(self.log_files(self.first)) < LOG_FILES_MIN:
            self.fill(self.first)
        self.older = os.path.join(part.place(), "store")
        shutil.copytree(self.first.store, self.older)
        self.fill(self.first)
        self.fill_last_log_file(self.first)
        self.other = part.trial()
        # Longer than the first: shorter files count as missing.
        while self.shortest_queue(self.other) <= self.longest_queue(self.first):
            self.fill(self.other)
        while len(self.log_files(self.other)) < LOG_FILES_MIN:
            self.fill(self.other)

    @staticmethod
    def log_files(made):
        return glob.glob(os.path.join(made.store, "commitlog", "*.log"))

    @staticmethod
    def queue_sizes(made):
        return [os.path.getsize(path) for path in
                glob.glob(os.path.join(made.store, "queues", "*", "*"))]

    def shortest_queue(self, made):
        return min(self.queue_sizes(made), default=0)

    def longest_queue(self, made):
        return max(self.queue_sizes(made), default=0)

    def fill(self, made):
        """Delivered ones, and some of the next hours; killed."""
        with made.life(FLAGS) as life:
            life.feed_for(0.3)
            ids = []
            for hour in (1, 2):
                ids += life.put_new(100, delay_ms=hour * 3_600_000)
            made.wait_acked(ids)
            life.kill()

    def fill_last_log_file(self, made):
        """So that it holds something, and a checkpoint knows of it."""
        with made.life(FLAGS) as life:
            # The hand goes on to a later second: what was delivered before
            # stands no longer only in the first log file.
            time.sleep(1.2)
            while True:
                ids = life.put_new(100, delay_ms=0)
                made.wait_shown(ids)
                time.sleep(0.2)  # for a checkpoint
                made.harvest()
                end = max(made.log.by_offset) % LOG_FILE_BYTES
                if end > LOG_FILE_BYTES / 4:
                    life.kill()
                    break
        self.part.demand(self.replay_from(made) > LOG_FILE_BYTES,
                         "the checkpoint still needs the first log file")

    def replay_from(self, made):
        """Where recovery begins, as the log's newest checkpoint says."""
        newest = 0
        for path in sorted(glob.glob(made.store + "/commitlog/*.log")):
            done = made.command("recover", "inspect", path, "--json")
            for line in done.stdout.splitlines():
                newest = json.loads(line).get("replay_from", newest)
        return newest

    def copy(self):
        return self.first.copy_to(os.path.join(self.part.place(), "copy"),
                                  self.part.rng,
                                  prefix="n%d-" % self.part.places)


class Case:
    """One kind of file, changed in one way."""

    def __init__(self, part, stores, kind, change):
        self.part = part
        self.kind = kind
        self.made = stores.copy()
        self.pattern, self.which, expected = KINDS[kind]
        self.expected = expected[change]
        self.replace(stores, change)

    def pick(self, store):
        found = glob.glob(os.path.join(store, self.pattern))
        return sorted(found)[self.which]

    def replace(self, stores, change):
        source = None
        if change == OLDER:
            source = self.pick(stores.older)
            self.path = os.path.join(self.made.store,
                                     os.path.relpath(source, stores.older))
            if os.path.isfile(source) and filecmp.cmp(source, self.path,
                                                      shallow=False):
                self.expected = REBUILT  # not older: it was full then
        else:
            self.path = self.pick(self.made.store)
        if change == FOREIGN:
            source = self.pick(stores.other.store)
        self.kept = os.path.join(self.part.place(), "kept")
        copy(self.path, self.kept)
        remove(self.path)
        if source:
            copy(source, self.path)

    def run(self):
        opened = self.made.command("stat", "--data", self.made.store, *FLAGS)
        if self.expected == REFUSED:
            self.demand_named(opened)
        elif self.expected != NOTICED:
            self.part.demand(opened.returncode == 0, opened.stderr)
        verified = self.made.command("recover", "verify", self.made.store)
        if self.expected in (REFUSED, DAMAGED, NOTICED):
            self.demand_named(verified)
            self.part.demand(verified.returncode == 1, verified.stderr)
        else:
            self.part.demand(verified.returncode == 0, verified.stdout)
        self.bring_up()
        self.part.finish(self.made, hours_ahead=3, flags=FLAGS,
                         repaired=self.expected in (REFUSED, DAMAGED, NOTICED),
                         log_is_whole="log_file" not in self.kind)

    def demand_named(self, done):
        """It failed, and said which file, or whose."""
        self.part.demand(done.returncode != 0, "it was not noticed")
        said = done.stdout + done.stderr
        name = os.path.basename(self.path)
        # Of the log's end the offset is named.
        self.part.demand(name in said or "belongs to" in said or
                         "offset" in said,
                         "%s is not named: %s" % (name, said))

    def bring_up(self):
        if self.expected in (REBUILT, RETIRED):
            return
        done = self.made.command("recover", "repair", self.made.store,
                                 *REPAIR)
        self.part.demand(done.returncode == 0, "repair: %s%s" %
                         (done.stdout, done.stderr))
        self.made.log = trial.LogRecords()  # a new log has new offsets


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        os.remove(path)


def copy(source, path):
    if os.path.isdir(source):
        shutil.copytree(source, path)
    else:
        shutil.copy(source, path)


def part_of(kind):
    """A part with all that may happen to that kind of file."""
    def run(part):
        stores = Stores(part)
        for change, expected in KINDS[kind][2].items():
            try:
                Case(part, stores, kind, change).run()
            except trial.Failure as failure:
                raise trial.Failure("%s (expected: %s): %s" %
                                    (change, expected, failure))
        return "; ".join("%s: %s" % item for item in KINDS[kind][2].items())
    run.__name__ = kind
    return run


PARTS = [part_of(kind) for kind in KINDS]

if __name__ == "__main__":
    parts.main(__doc__, PARTS)
