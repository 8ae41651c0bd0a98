#!/usr/bin/env python3
"""Kills the program once at each crash point, and looks what that left.

    tests/crash/point_test.py --program build/hourglass \\
        --crash-program build/tests/hourglass_crash [--point log.file_named]

For each point a store is brought to where the point lies on the way (most
need a store that was used and killed, some a clock that was stepped, an old
log, a damaged database), then hourglass_crash runs on it and must end there:
by SIGKILL, and with the point's name in its report. Afterwards the product
opens the store, and nothing may be lost, doubled or early (trial.py), and
`hourglass recover verify` must call it sound.

The names in the code must be those in crash_points.cc, and each is tried.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import signal
import sys
import threading

import trial

REACH_SECONDS = 60
HOUR_MS = 3_600_000
FLAGS = trial.SMALL_FILES
RETENTION = ["--retention-ms", "1000"]
REPAIR = ["--in-place", "--log-segment-bytes", "16MiB"]


class Case:
    """How to come to one point."""

    def __init__(self, prepare="used", nth=1, clock_ms=0, retention=False,
                 topic_prefix="t", repair=False):
        self.prepare = prepare
        self.nth = nth
        self.flags = FLAGS + (RETENTION if retention else [])
        self.retention = retention
        self.clock_ms = clock_ms
        # Where old files are to go, log must come behind them, but not so
        # much that checkpoints become slow and rare.
        self.profile = trial.Profile(
            topic_prefix=topic_prefix,
            burst_max=4 if retention else 40,
            sizes=(5000,) if retention else (10, 100, 1000))
        self.repair = repair


FRESH = [Case(prepare="nothing")]
AFTER_NOTED = [Case(prepare="ended at checkpoint.noted:3")]
REBUILD = [Case(prepare="damaged database")]

# Those not named here lie on the way of a store that was used and killed.
CASES = {
    "hours.file_cut": AFTER_NOTED,
    "queues.file_cut": AFTER_NOTED,
    "hours.unknown_removed": [Case(prepare="ended early at "
                                   "hours.file_created:2")],
    "queues.unknown_removed": [Case(prepare="ended early at "
                                    "queues.entries_written")],
    "recovery.record_replayed": [Case(nth=1), Case(nth=20)],
    "recovery.late_found": [Case(prepare="clock stepped back")],
    "recovery.log_found_complete": REBUILD,
    "recovery.database_set_aside": REBUILD,
    "recovery.database_directory_made": REBUILD,
    "hours.file_created": [Case(prepare="nothing", nth=1),
                           Case(prepare="nothing", nth=2)],
    "queues.directory_made": FRESH,
    "queues.file_created": FRESH,
    "checkpoint.batch_written": [Case(nth=n) for n in (1, 2, 5, 9)],
    "hours.file_removed": [Case(clock_ms=2 * HOUR_MS, nth=1),
                           Case(clock_ms=2 * HOUR_MS, nth=2)],
    "log.file_retired": [Case(clock_ms=100 * HOUR_MS, retention=True)],
    "queues.file_removed": [Case(clock_ms=100 * HOUR_MS, retention=True,
                                 topic_prefix="other")],
}


def cases_of(point):
    if point in CASES:
        return CASES[point]
    if point.startswith("create."):
        return FRESH
    if point.startswith("repair."):
        return [Case(repair=True)]
    return [Case()]


class Workshop:
    """Makes stores for the cases; each kind once, then copies."""

    def __init__(self, options, directory):
        self.options = options
        self.directory = directory
        self.made = {}
        self.lock = threading.Lock()

    def make(self, kind, name):
        """A store of that kind of one's own."""
        rng = trial.rng_of(self.options.seed, name)
        directory = os.path.join(self.directory, name)
        if kind == "nothing":
            os.mkdir(directory)
            return trial.Trial(directory, self.options.program, rng)
        with self.lock:
            if kind not in self.made:
                self.made[kind] = self.build(kind)
        return self.made[kind].copy_to(directory, rng, prefix="n")

    def build(self, kind):
        name = "kind-" + kind.replace(" ", "-")
        if kind == "used":
            made = self.make("nothing", name)
            self.use(made)
        elif kind.startswith("ended early at "):
            made = self.make("nothing", name)
            self.end_at(made, kind.split()[-1])
        elif kind.startswith("ended at "):
            made = self.copy_of_used(name)
            self.end_at(made, kind.split()[-1])
        elif kind == "damaged database":
            made = self.copy_of_used(name)
            os.truncate(os.path.join(made.store, "checkpoint", "CURRENT"), 3)
        else:
            made = self.copy_of_used(name)
            self.step_back(made)
        return made

    def copy_of_used(self, name):
        if "used" not in self.made:
            self.made["used"] = self.build("used")
        rng = trial.rng_of(self.options.seed, name)
        return self.made["used"].copy_to(os.path.join(self.directory, name),
                                         rng, prefix="k")

    def use(self, made):
        with made.life(FLAGS) as life:
            life.kill_in(0.6)

    def end_at(self, made, point):
        Crash(self.options, made).run(Case(), point)

    def step_back(self, made):
        """Messages behind the cursor, because the clock went back."""
        crash = Crash(self.options, made)
        with crash.life(Case(clock_ms=HOUR_MS)) as life:
            made.wait_acked(life.put_new(5, delay_ms=0))
            made.wait_until("a checkpoint", lambda: crash.checkpoints() > 1)
            life.kill()
        with crash.life(Case()) as life:
            made.wait_acked(life.put_new(20, delay_ms=2500))
            life.kill()


class Crash:
    """A life of hourglass_crash that ends at a point."""

    def __init__(self, options, made):
        self.options = options
        self.trial = made
        self.report = os.path.join(made.directory, "reached")

    def environment(self, case, point=None):
        found = {"HOURGLASS_CRASH_CLOCK_MS": str(case.clock_ms)}
        if point:
            at = point if ":" in point else "%s:%d" % (point, case.nth)
            found.update(HOURGLASS_CRASH_AT=at,
                         HOURGLASS_CRASH_REPORT=self.report)
        return found

    def life(self, case, point=None):
        return self.trial.life(case.flags, self.environment(case, point),
                               self.options.crash_program)

    def checkpoints(self):
        """How many the log knows."""
        self.trial.harvest()
        return sum(1 for record in self.trial.log.by_offset.values()
                   if record["kind"] == "checkpoint")

    def run(self, case, point):
        """Runs until it is killed at the point; a Failure if it is not."""
        if case.repair:
            code, said = self.run_repair(case, point)
        else:
            code, said = self.run_pipe(case, point)
        self.demand_reached(point, code, said)

    def run_pipe(self, case, point):
        with self.life(case, point) as life:
            life.feed_for(REACH_SECONDS, case.profile)
            if os.path.exists(self.report):
                life.wait()
            return life.process.poll(), life.said()

    def run_repair(self, case, point):
        done = self.trial.command(
            "recover", "repair", self.trial.store, *REPAIR,
            program=self.options.crash_program,
            environment=self.environment(case, point))
        return done.returncode, done.stderr

    def demand_reached(self, point, code, said):
        if not os.path.exists(self.report):
            raise trial.Failure("%s was not reached; ended with %s: %s" %
                                (point, code, said))
        with open(self.report) as file:
            reached = file.read().split()
        os.remove(self.report)
        if reached != [point.split(":")[0]] or code != -signal.SIGKILL:
            raise trial.Failure("%s: reached %s, ended with %s: %s" %
                                (point, reached, code, said))


class PointTest:
    """One case, from the store's making to its last check."""

    def __init__(self, options, workshop, point, case, number):
        self.options = options
        self.point = point
        self.case = case
        self.name = "%s-%d" % (point, number)
        self.workshop = workshop

    def run(self):
        self.trial = self.workshop.make(self.case.prepare, self.name)
        if self.trial.exists():
            self.trial.harvest()
        Crash(self.options, self.trial).run(self.case, self.point)
        if self.case.repair:
            self.go_on_repairing()
        self.finish()
        self.demand_no_errors()
        shutil.rmtree(self.trial.directory)

    def go_on_repairing(self):
        """What docs/recovery.md says about an interrupted repair."""
        store = self.trial.store
        self.trial.log = trial.LogRecords()  # a new log has new offsets
        if self.point == "repair.new_renamed":
            return
        if self.point == "repair.old_renamed":
            return os.rename(store + ".repaired", store)
        if os.path.exists(os.path.join(store + ".repaired", "HOURGLASS")):
            shutil.rmtree(store + ".repaired")
        done = self.trial.command("recover", "repair", store, *REPAIR)
        if done.returncode != 0:
            raise trial.Failure("repair, again: %s%s" %
                                (done.stdout, done.stderr))

    def finish(self):
        # With the product where the clock allows it.
        program = self.options.crash_program if self.case.clock_ms else None
        crash = Crash(self.options, self.trial)
        if self.trial.exists():
            self.trial.harvest()
        self.trial.run_to_the_end(self.case.flags,
                                  crash.environment(self.case), program,
                                  messages=20)

    def demand_no_errors(self):
        errors = self.trial.errors(log_is_whole=not self.case.retention)
        if not self.trial.acks():
            errors.append("nothing was acknowledged: this tests nothing")
        if self.case.repair:
            # A group of the new log has no time at which it was delivered.
            errors = [e for e in errors if not e.startswith("early: ")]
        errors += self.trial.unsound()
        if self.case.repair:
            # A group of the new log has no time at which it was delivered.
            errors = [e for e in errors if not e.startswith("early: ")]
        errors += self.trial.unsound()
        verified = self.trial.command("recover", "verify", self.trial.store)
        if verified.returncode != 0:
            errors.append("recover verify: " + verified.stdout +
                          verified.stderr)
        if errors:
            raise trial.Failure("\n".join(errors[:5]))


def points_in_code(source):
    """Every CrashPoint("...") of the product's sources."""
    found = set()
    for folder in ("storage", "wheel", "recovery", "broker"):
        for root, _, files in os.walk(os.path.join(source, folder)):
            for name in files:
                if name.endswith(".cc"):
                    with open(os.path.join(root, name)) as file:
                        found |= set(re.findall(r'CrashPoint\("([^"]+)"',
                                                file.read()))
    return found


def demand_same_names(options, points):
    listed, in_code = set(points), points_in_code(options.source)
    if listed != in_code:
        sys.exit("crash_points.cc and the code differ: %s" %
                 sorted(listed ^ in_code))


def run_all(options, points, directory):
    workshop = Workshop(options, directory)
    tests = [PointTest(options, workshop, point, case, number)
             for point in points
             for number, case in enumerate(cases_of(point), 1)]
    failures = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = {pool.submit(test.run): test for test in tests}
        for done in concurrent.futures.as_completed(running):
            error = done.exception()
            if error is not None:
                failures.append((running[done], error))
            if options.verbose:
                print(running[done].name, error or "ok", flush=True)
    return len(tests), failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    trial.add_common_flags(parser)
    parser.add_argument("--crash-program", required=True)
    parser.add_argument("--source", default=os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    parser.add_argument("--point", help="only this one")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    points = trial.list_points(options.crash_program)
    demand_same_names(options, points)
    directory = trial.new_directory(options)
    count, failures = run_all(
        options, [options.point] if options.point else points, directory)
    print("%d crash points in %d cases, %d failed" %
          (len(points), count, len(failures)))
    for test, error in failures:
        print("FAILED %s with --seed %d; the store is in %s\n%s" %
              (test.name, options.seed,
               os.path.join(directory, test.name), error))
    if failures:
        sys.exit(1)
    shutil.rmtree(directory)


if __name__ == "__main__":
    main()
