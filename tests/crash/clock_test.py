#!/usr/bin/env python3
"""A wall clock that is set while the product runs.

    tests/crash/clock_test.py --program build/hourglass \\
        --crash-program build/tests/hourglass_crash

Debian's libfaketime moves the wall clock of the unchanged program; its
monotonic clock goes on as it is, which is also what a machine sees that slept:
CLOCK_MONOTONIC stands still while it sleeps, CLOCK_REALTIME does not.
"""

import glob
import os
import signal
import time

import parts
import trial

HOUR = 3600
FLAGS = trial.SMALL_FILES
# The hand looks at the wall clock every second (docs/architecture.md).
NOTICED_SECONDS = 5
LIBRARY = "/usr/lib/*/faketime/libfaketimeMT.so.1"


class Clock:
    """The wall clock of one trial's lives."""

    def __init__(self, part, made):
        found = glob.glob(LIBRARY)
        if not found:
            raise parts.Skipped("there is no libfaketime")
        self.path = os.path.join(made.directory, "clock")
        self.offset = 0
        self.set(0)
        self.environment = {
            "LD_PRELOAD": found[0], "FAKETIME_TIMESTAMP_FILE": self.path,
            "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}

    def set(self, offset):
        """So many seconds ahead of the machine's clock."""
        with open(self.path + ".new", "w") as file:
            file.write("%+d\n" % offset)
        os.rename(self.path + ".new", self.path)
        self.offset = offset

    def now_ms(self):
        return (time.time() + self.offset) * 1000


def shown_among(made, ids):
    wanted = set(ids)
    return [m for m in made.shown() if m["id"] in wanted]


def demand_not_early(part, made, clock, ids):
    for message in shown_among(made, ids):
        part.demand(clock.now_ms() >= message["due_ms"],
                    "shown before its time: %s" % message)


def finish(part, made, clock, offset, early_may_show=False):
    """Drains at that offset, and counts."""
    clock.set(offset)
    made.run_to_the_end(FLAGS, clock.environment)
    errors = made.errors() + made.unsound()
    if early_may_show:
        # Taken at its time, and stamped after the clock went back.
        errors = [e for e in errors if "early" not in e]
    part.demand(not errors, "\n".join(errors[:5]))


def a_step_forward_delivers_what_is_due(part):
    made = part.trial()
    clock = Clock(part, made)
    with made.life(FLAGS, clock.environment) as life:
        due = life.put_new(300, delay_ms=HOUR * 1000)
        later = life.put_new(50, delay_ms=2 * HOUR * 1000)
        made.wait_acked(due + later)
        time.sleep(0.5)
        part.demand(not shown_among(made, due), "shown before its hour")
        clock.set(HOUR + 1)
        begin = time.monotonic()
        made.wait_shown(due, NOTICED_SECONDS)
        took = time.monotonic() - begin
        part.demand(not shown_among(made, later), "shown an hour early")
        made.wait_shown(life.put_new(5, delay_ms=30), NOTICED_SECONDS)
        life.kill()
    finish(part, made, clock, 2 * HOUR + 2)
    return "noticed after %.2f s" % took


def a_step_back_delivers_nothing_early(part):
    """Waits for its time by the clock; new messages do not wait for old."""
    made = part.trial()
    clock = Clock(part, made)
    with made.life(FLAGS, clock.environment) as life:
        made.wait_shown(life.put_new(20, delay_ms=10))
        pending = life.put_new(200, delay_ms=1500)
        made.wait_acked(pending)
        clock.set(-2 * HOUR)
        # Due by the machine's clock, and by far not by the program's.
        time.sleep(2.5)
        part.demand(not shown_among(made, pending), "shown early")
        # For a second that the hand has passed long ago.
        behind = life.put_new(100, delay_ms=400)
        made.wait_shown(behind, NOTICED_SECONDS)
        demand_not_early(part, made, clock, behind)
        life.kill()
    # Opened while the clock is behind the cursor.
    with made.life(FLAGS, clock.environment) as life:
        behind = life.put_new(100, delay_ms=300)
        made.wait_shown(behind, NOTICED_SECONDS)
        part.demand(not shown_among(made, pending), "shown early")
        clock.set(0)
        made.wait_shown(pending, NOTICED_SECONDS)
        life.kill()
    finish(part, made, clock, 0)


def asleep_for_hours(part):
    """The process stands still, and the clock is hours on when it wakes."""
    made = part.trial()
    clock = Clock(part, made)
    with made.life(FLAGS, clock.environment) as life:
        slept_over = []
        for hour in range(6):
            slept_over += life.put_new(
                100, delay_ms=int((hour + 0.5) * HOUR * 1000))
        later = life.put_new(50, delay_ms=10 * HOUR * 1000)
        made.wait_acked(slept_over + later)
        life.process.send_signal(signal.SIGSTOP)
        clock.set(7 * HOUR)
        time.sleep(0.3)
        life.process.send_signal(signal.SIGCONT)
        begin = time.monotonic()
        made.wait_shown(slept_over, NOTICED_SECONDS)
        took = time.monotonic() - begin
        order = [m["due_ms"] for m in shown_among(made, slept_over)]
        part.demand(order == sorted(order), "not in due order")
        part.demand(not shown_among(made, later), "shown early")
        made.wait_shown(life.put_new(5, delay_ms=30), NOTICED_SECONDS)
        life.kill()
    finish(part, made, clock, 11 * HOUR)
    return "six hours' messages %.2f s after waking" % took


def a_clock_that_jumps(part):
    """Forward and back by up to hours, under load, killed in between."""
    made = part.trial()
    clock = Clock(part, made)
    for _ in range(part.options.jump_lives):
        with made.life(FLAGS, clock.environment) as life:
            until = time.monotonic() + 1
            while time.monotonic() < until:
                clock.set(part.rng.choice((
                    0, part.rng.randint(-10, 10),
                    part.rng.randint(-2 * HOUR, 2 * HOUR))))
                life.feed_for(0.05)
            life.kill()
    finish(part, made, clock, 3 * HOUR, early_may_show=True)
    return "%d messages" % len(made.acks())


def add_flags(parser):
    parser.add_argument("--jump-lives", type=int, default=3)


PARTS = [a_step_forward_delivers_what_is_due,
         a_step_back_delivers_nothing_early, asleep_for_hours,
         a_clock_that_jumps]

if __name__ == "__main__":
    parts.main(__doc__, PARTS, add_flags)
