"""Tests of several parts, each on a store of its own, side by side.

    PARTS = [a_full_disk, a_read_only_disk]

    if __name__ == "__main__":
        parts.main(__doc__, PARTS)

    def a_full_disk(part):
        made = part.trial()
        ...
        part.demand(code == 2, "pipe ended with %s" % code)
        part.finish(made)

A part is a function that returns when all is well, raises trial.Failure when
not, or parts.Skipped with the reason when this machine does not allow it. Each
says its result in a line; what was skipped is said again at the end.
"""

import argparse
import concurrent.futures
import os
import shutil
import subprocess
import sys
import time
import traceback

import trial

# Set once this process may mount what it likes.
MAY_MOUNT = "HOURGLASS_CRASH_MAY_MOUNT"


class Skipped(Exception):
    """This machine does not allow it."""


class Part:
    """What a part needs: options, chance, and places that go away."""

    def __init__(self, options, function):
        self.options = options
        self.function = function
        self.name = function.__name__
        self.directory = trial.new_directory(options)
        self.rng = trial.rng_of(options.seed, self.name)
        self.places = 0
        self.undo = []

    def place(self):
        """A new empty directory."""
        self.places += 1
        made = os.path.join(self.directory, str(self.places))
        os.mkdir(made)
        return made

    def trial(self, store_root=None):
        return trial.Trial(self.place(), self.options.program, self.rng,
                           store_root, prefix="m%d-" % self.places)

    def mount_tmpfs(self, megabytes):
        """A disk of that size; see resize, remount."""
        where = self.place()
        self.mount(["-t", "tmpfs", "-o", "size=%dm" % megabytes, "tmpfs",
                    where])
        return where

    def mount(self, arguments):
        """Mounts; undone after the part."""
        self.system(["mount"] + arguments)
        self.undo.append(["umount", "--lazy", arguments[-1]])

    def system(self, command):
        """Another program; Skipped if it may not, or is not there."""
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
        except FileNotFoundError:
            raise Skipped("there is no program %s" % command[0])
        if done.returncode != 0:
            raise Skipped("%s: %s" % (" ".join(command),
                                      done.stdout.strip()))

    def demand(self, condition, text):
        if not condition:
            raise trial.Failure(text)

    def demand_said(self, text, *wanted):
        for words in wanted:
            self.demand(words in text,
                        "expected %r in what was said: %r" % (words, text))

    def finish(self, made, hours_ahead=0, flags=(), repaired=False,
               log_is_whole=True):
        """Opens the store for the last time, and counts."""
        environment, program = {}, None
        if hours_ahead:
            program = self.options.crash_program
            environment["HOURGLASS_CRASH_CLOCK_MS"] = str(
                hours_ahead * 3_600_000)
        made.run_to_the_end(flags, environment, program, messages=20)
        errors = made.errors(log_is_whole)
        if repaired:
            # A group of the new log has no time at which it was delivered.
            errors = [e for e in errors if not e.startswith("early: ")]
        errors += made.unsound()
        if errors:
            raise trial.Failure("\n".join(errors[:5]))

    def run(self):
        try:
            return self.function(self)
        finally:
            for command in reversed(self.undo):
                subprocess.run(command, stderr=subprocess.DEVNULL)


def get_a_mount_space():
    """Starts this script again where it may mount and leaves nothing behind.

    A user who is not root becomes root of a name space of his own, where at
    least tmpfs may be mounted. Where neither is allowed, parts are skipped.
    """
    if os.environ.get(MAY_MOUNT):
        return
    os.environ[MAY_MOUNT] = "yes"
    unshare = ["unshare", "--mount"]
    if os.geteuid() != 0:
        unshare += ["--user", "--map-root-user"]
    try:
        allowed = subprocess.run(unshare + ["true"],
                                 stderr=subprocess.DEVNULL).returncode == 0
    except FileNotFoundError:
        allowed = False
    if allowed:
        os.execvp("unshare", unshare + [sys.executable] + sys.argv)


def run_one(part):
    """Its result: how it ended, and why."""
    begin = time.monotonic()
    try:
        said = part.run() or ""
        result, why = "ok", said
    except Skipped as reason:
        result, why = "SKIPPED", str(reason)
    except trial.Failure as failure:
        result, why = "FAILED", str(failure)
    except Exception:  # a broken test is a failed one
        result, why = "FAILED", traceback.format_exc()
    print("%-8s %-36s %4.1f s  %s" %
          (result, part.name, time.monotonic() - begin, why), flush=True)
    if result == "FAILED":
        print("    the store is in %s" % part.directory, flush=True)
    else:
        shutil.rmtree(part.directory)
    return result


def parse(description, add_flags):
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    trial.add_common_flags(parser)
    parser.add_argument("--crash-program", required=True,
                        help="build/tests/hourglass_crash: its clock can be "
                        "set")
    parser.add_argument("--part", action="append", help="only this one")
    parser.add_argument("--jobs", type=int, default=4)
    if add_flags:
        add_flags(parser)
    return parser.parse_args()


def main(description, functions, add_flags=None):
    options = parse(description, add_flags)
    chosen = [f for f in functions
              if not options.part or f.__name__ in options.part]
    # The parts sleep most of their time.
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda f: run_one(Part(options, f)), chosen))
    count = {word: results.count(word) for word in ("ok", "SKIPPED", "FAILED")}
    print("%d parts: %d ok, %d SKIPPED, %d FAILED (--seed %d)" %
          (len(results), count["ok"], count["SKIPPED"], count["FAILED"],
           options.seed))
    sys.exit(1 if count["FAILED"] or not results else 0)
