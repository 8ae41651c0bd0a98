#!/usr/bin/env python3
"""Kills the program again and again and counts afterwards.

    tests/crash/kill_test.py --program build/hourglass --cycles 60 --seed 1
    ... --crash-program build/tests/hourglass_crash --cycles 2000 --jobs 2

A cycle is one life: it is fed with messages of random delays and ends by
SIGKILL, either at a random instant (the product itself, now and then while it
is still recovering, now and then in `hourglass cancel`) or, with
--crash-program, at a random crash point (docs/crash-tests.md), on the same
store. After some cycles the program runs until nothing is pending, the store
is checked (trial.py says for what), and a new one begins.

A failure prints the seed and the round, and keeps the store.
"""

import argparse
import collections
import concurrent.futures
import os
import shutil
import sys
import time

import trial

CYCLES_PER_STORE = 50
POINT_PATIENCE_SECONDS = 0.5
CANCEL_PERCENT = 10
POINT_PERCENT = 50

# Points that need a preparation; point_test.py comes to each of them.
OFF_THE_WAY = ("create.", "repair.", "recovery.database", "recovery.late",
               "recovery.log_found", "hours.file_removed", "queues.directory",
               "log.file_retired", "queues.file_removed",
               "queues.file_created")


class Totals:
    """What was done to all stores together."""

    def __init__(self):
        self.counts = collections.Counter()
        self.points = collections.Counter()

    def add(self, other):
        self.counts.update(other.counts)
        self.points.update(other.points)

    def line(self, known_points):
        reached = "%d at crash points (%d of %d points)" % (
            sum(self.points.values()), len(self.points), known_points)
        return ("%(cycles)d cycles on %(stores)d stores: %(random)d killed at "
                "random instants, %(cancels)d in cancel, " % self.counts +
                reached + "; %(acked)d acknowledged, %(delivered)d in the "
                "ready log, %(shown)d shown, %(cancelled)d cancelled" %
                self.counts)


class Round:
    """One store and its cycles."""

    def __init__(self, options, number, cycles, points):
        self.options = options
        self.number = number
        self.cycles = cycles
        self.points = points
        self.rng = trial.rng_of(options.seed, number)
        self.directory = trial.new_directory(options)
        self.trial = trial.Trial(self.directory, options.program, self.rng)
        self.totals = Totals()
        # Some stores have files so small that they roll all the time.
        self.flags = self.rng.choice((trial.SMALL_FILES, []))

    def run(self):
        """Returns what was done; raises trial.Failure."""
        for _ in range(self.cycles):
            self.one_cycle()
        self.trial.run_to_the_end(self.flags)
        errors = self.trial.errors() + self.trial.unsound()
        self.count()
        if errors:
            raise trial.Failure("\n".join(errors[:5]))
        shutil.rmtree(self.directory)
        return self.totals

    def one_cycle(self):
        self.totals.counts["cycles"] += 1
        if self.points and self.rng.randrange(100) < POINT_PERCENT:
            return self.end_at_point()
        if self.trial.exists() and self.rng.randrange(100) < CANCEL_PERCENT:
            self.totals.counts["cancels"] += 1
            return self.trial.cancel_some(20, self.rng.uniform(0, 0.1))
        self.end_at_random()

    def end_at_random(self):
        # Some are killed while they still open the store.
        seconds = self.rng.choice((self.rng.uniform(0, 0.03),
                                   self.rng.uniform(0.01, 0.1),
                                   self.rng.uniform(0.05, 0.4)))
        with self.trial.life(self.flags) as life:
            life.kill_in(seconds)
            self.expect_silence(life)
        self.totals.counts["random"] += 1

    def end_at_point(self):
        point = self.rng.choice(self.points)
        nth = self.rng.choice((1, 1, 2, self.rng.randint(1, 9)))
        report = os.path.join(self.directory, "reached")
        environment = {"HOURGLASS_CRASH_AT": "%s:%d" % (point, nth),
                       "HOURGLASS_CRASH_REPORT": report}
        with self.trial.life(self.flags, environment,
                             self.options.crash_program) as life:
            life.kill_in(POINT_PATIENCE_SECONDS)
            self.expect_silence(life)
        if os.path.exists(report):
            os.remove(report)
            self.totals.points[point] += 1
        else:
            self.totals.counts["random"] += 1

    def expect_silence(self, life):
        if life.said().strip():
            raise trial.Failure("stderr: " + life.said())

    def count(self):
        counts = self.totals.counts
        counts["stores"] += 1
        counts["acked"] += len(self.trial.acks())
        counts["delivered"] += sum(self.trial.log.ready().values())
        counts["shown"] += len(self.trial.shown())
        counts["cancelled"] += len(self.trial.log.cancelled())


def list_points(program):
    """Names of the crash points that lie on every store's way."""
    return [name for name in trial.list_points(program)
            if not name.startswith(OFF_THE_WAY)]


def run_rounds(options, points):
    """Rounds side by side; returns all totals and the failures."""
    totals, failures = Totals(), []
    numbers = range(-(-options.cycles // CYCLES_PER_STORE))
    cycles_of = [min(CYCLES_PER_STORE, options.cycles - n * CYCLES_PER_STORE)
                 for n in numbers]
    rounds = [Round(options, n, cycles_of[n], points) for n in numbers]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = {pool.submit(r.run): r for r in rounds}
        for done in concurrent.futures.as_completed(running):
            try:
                totals.add(done.result())
            except Exception as error:  # anything ends as a named failure
                failures.append((running[done], error))
            say_progress(options, totals, failures)
    return totals, failures


def say_progress(options, totals, failures):
    if options.cycles > CYCLES_PER_STORE * 4:
        print("%d of %d cycles, %d failures" %
              (totals.counts["cycles"], options.cycles, len(failures)),
              file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    trial.add_common_flags(parser)
    parser.add_argument("--crash-program", help="build/tests/hourglass_crash")
    parser.add_argument("--cycles", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    points = (list_points(options.crash_program) if options.crash_program
              else [])
    begin = time.monotonic()
    totals, failures = run_rounds(options, points)
    print(totals.line(len(points)))
    print("%.0f s, %.0f cycles a minute" %
          (time.monotonic() - begin,
           60 * totals.counts["cycles"] / (time.monotonic() - begin)))
    for failed, error in failures:
        print("FAILED with --seed %d in round %d; the store is in %s\n%s" %
              (options.seed, failed.number, failed.directory, error))
    if totals.counts["acked"] < totals.counts["cycles"] and not failures:
        sys.exit("only %d acknowledged: this tests nothing" %
                 totals.counts["acked"])
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
