#!/usr/bin/env python3
"""Two processes on one directory, a stopped process, too few open files.

    tests/crash/process_test.py --program build/hourglass \\
        --crash-program build/tests/hourglass_crash [--stop-seconds 60]
"""

import os
import signal
import time

import parts
import trial

FLAGS = trial.SMALL_FILES
# From "not even the program starts" to "nearly enough".
OPEN_FILES = (6, 12, 16, 20, 24, 28, 32, 40, 48, 64, 96, 128)
HOURS = 30


def two_processes_on_one_directory(part):
    """The second is refused, whatever it wants; the first goes on."""
    made = part.trial()
    with made.life(FLAGS) as life:
        made.wait_acked(life.put_new(10, delay_ms=0))
        lines = os.path.join(made.directory, "lines")
        for command in (["pipe", "--data", made.store],
                        ["put", "--data", made.store, "--body", "x"],
                        ["list", "--data", made.store],
                        ["stat", "--data", made.store],
                        ["forecast", "--data", made.store],
                        ["recover", "verify", made.store],
                        ["recover", "list", made.store],
                        ["recover", "export", made.store],
                        ["recover", "import", "--data", made.store],
                        ["recover", "repair", made.store, "--in-place"],
                        ["recover", "repair", made.store, "--out", lines]):
            demand_refused(part, made, command)
        part.demand(not os.path.exists(lines), "repair made a directory")
        log = made.command("log", made.store)
        part.demand(log.returncode == 0, "log needs no lock: " + log.stderr)
        made.wait_shown(life.put_new(10, delay_ms=50))
        life.kill()
    # The lock went with the process.
    part.finish(made, flags=FLAGS)


def demand_refused(part, made, command):
    done = made.command(*command)
    part.demand(done.returncode == 2, "%s ended with %s" %
                (" ".join(command[:2]), done.returncode))
    part.demand_said(done.stderr, made.store, "another process")
    part.demand(done.stdout == "", "it printed " + done.stdout)


def stopped_for_a_while(part):
    """What fell due meanwhile comes soon after, in order and once."""
    seconds = part.options.stop_seconds
    made = part.trial()
    with made.life(FLAGS) as life:
        ids = [life.put_new(1, delay_ms=100 + 25 * i)[0]
               for i in range(int(seconds * 40))]
        made.wait_acked(ids)
        life.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds + 0.5)
        before = len(made.shown())
        life.process.send_signal(signal.SIGCONT)
        begin = time.monotonic()
        made.wait_shown(ids, 5)
        took = time.monotonic() - begin
        order = [m["id"] for m in made.shown() if m["id"] in set(ids)]
        part.demand(order == ids, "not in due order")
        made.wait_shown(life.put_new(5, delay_ms=20))
        part.demand(life.stop() == 0, "ended with " + life.said())
    part.finish(made, flags=FLAGS)
    return "%d of %d fell due in %g s; all shown %.2f s after" % (
        len(ids) - before, len(ids), seconds, took)


def too_few_open_files(part):
    """Refused or stopped by name, or it works; nothing is lost."""
    made = part.trial()
    with made.life(FLAGS) as life:
        made.wait_acked(put_over_hours(made, life))
        life.kill()
    results = []
    for limit in OPEN_FILES:
        results.append("%d: %s" % (limit, live_with(part, made, limit)))
    part.finish(made, hours_ahead=HOURS + 1, flags=FLAGS)
    return ", ".join(results)


def put_over_hours(made, life):
    ids = []
    for hour in range(HOURS):
        ids += life.put_new(3, delay_ms=hour * 3_600_000 + 1000)
    return ids


def live_with(part, made, limit):
    """One life with so many open files; how it went."""
    with made.life(FLAGS, wrapper=["prlimit", "--nofile=%d" % limit]) as life:
        put_over_hours(made, life)
        life.end_input()
        time.sleep(0.3)
        if life.process.poll() is None:
            life.stop()
        code, said = life.wait(), life.said()
        if code == 0 and not said:
            return "works"
        # Below some seven the program cannot even load its libraries.
        if code == 127 and "shared libraries" in said:
            return "does not start"
        part.demand("Too many open files" in said,
                    "with %d files ended with %s: %s" % (limit, code, said))
        part.demand(code != 0, "said %r and ended with 0" % said)
        return "says so"


def add_flags(parser):
    parser.add_argument("--stop-seconds", type=float, default=2,
                        help="how long the process is stopped")


PARTS = [two_processes_on_one_directory, stopped_for_a_while,
         too_few_open_files]

if __name__ == "__main__":
    parts.main(__doc__, PARTS, add_flags)
