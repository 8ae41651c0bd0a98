#!/usr/bin/env python3
"""Delays of days and years through the official Python client.

    tests/interop/far_delay_test.py --program build/hourglass \\
        --crash-program build/tests/hourglass_crash --work build/interop

The server is the crash program, which is `hourglass` with a clock that may be
set (HOURGLASS_CRASH_CLOCK_MS). It is killed, and started again an hour before
each due time, a minute after it, and some seconds before the next one. The
client has the machine's clock all the time: it never looks at it here, since
simple consumers leave due times and leases to the server. Exit code 77 without
the client.
"""
import argparse
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import run as interop

DAY_S = 24 * 3600
TOPIC, GROUP = "far", "far-group"
# Of whole seconds, as this client sends them.
FAR_S = {"2 days": 2 * DAY_S, "40 days": 40 * DAY_S, "9 years": 9 * 365 * DAY_S}
# Due so much later than their neighbours: these become due before the server's
# eyes, the others while it is down.
LATER_S = 2 * 3600
TEN_YEARS_S = 3660 * DAY_S
# Of starting, of the client, and of being in time on a busy machine.
BEFORE_S = 8
LATE_S_MAX = 15


class Failure(Exception):
    """What must not be."""


def demand(condition, what):
    if not condition:
        raise Failure(what)


class World:
    """One directory, through many lives of its server."""

    def __init__(self, options, place):
        self.options = options
        self.place = place
        self.ahead_s = 0.0
        self.lives = 0
        self.due_s = {}  # by body
        self.receipts = {}
        self.came = []  # bodies, in their order

    def now_s(self):
        """By the server's clock."""
        return time.time() + self.ahead_s

    @contextlib.contextmanager
    def life(self, now_s=None):
        """A server whose clock says so; killed at the end."""
        if now_s is not None:
            self.ahead_s = now_s - time.time()
        self.lives += 1
        server = interop.Server(
            self.options.crash_program, self.place / "store",
            self.place / f"log-{self.lives}",
            environment={"HOURGLASS_CRASH_CLOCK_MS":
                         str(round(self.ahead_s * 1000))})
        try:
            yield ClientConfiguration(f"127.0.0.1:{server.port}", Credentials())
        finally:
            server.process.kill()
            server.process.wait()

    def send(self, producer, body, due_s):
        made = Message()
        made.topic, made.body = TOPIC, body.encode()
        made.delivery_timestamp = due_s
        self.receipts[body] = producer.send(made)
        self.due_s[body] = due_s

    def recall(self, producer, body):
        receipt = self.receipts[body]
        recalled = producer.recall_message(TOPIC, receipt.recall_handle)
        demand(recalled == receipt.message_id, f"{body}: recalled {recalled}")

    def take(self, config, wanted=()):
        """What comes until nothing does: those, each once, none too early."""
        consumer = SimpleConsumer(config, GROUP, {TOPIC: FilterExpression("*")},
                                  await_duration=2)
        consumer.startup()
        missing = set(wanted)
        end_s = max([self.now_s(), *(self.due_s[b] for b in wanted)])
        while missing or self.now_s() < end_s:
            demand(self.now_s() < end_s + LATE_S_MAX,
                   f"not there at its time: {sorted(missing)}")
            self.receive(consumer, missing)
        self.receive(consumer, missing)  # and nothing more
        consumer.shutdown()

    def receive(self, consumer, missing):
        for one in consumer.receive(16, 30) or []:
            body = one.body.decode()
            early_s = self.due_s[body] - self.now_s()
            demand(early_s <= 0, f"{body}: {early_s:.3f} s early")
            demand(body in missing, f"{body}: recalled, or here before")
            demand(one.message_id == self.receipts[body].message_id,
                   f"{body}: it has another id")
            consumer.ack(one)
            missing.discard(body)
            self.came.append(body)


def send_all(world):
    """The life in which all is put, by the machine's clock."""
    with world.life() as config:
        with producing(config) as producer:
            now_s = int(time.time())
            for name, delay_s in FAR_S.items():
                for body, more_s in (("", 0), (" recalled", 0),
                                     (" later", LATER_S),
                                     (" recalled late", LATER_S)):
                    world.send(producer, name + body, now_s + delay_s + more_s)
                world.recall(producer, f"{name} recalled")
            refused(world, producer, now_s)
            world.send(producer, "1 s", int(time.time()) + 2)
        world.take(config, ["1 s"])


@contextlib.contextmanager
def producing(config):
    producer = Producer(config, (TOPIC,))
    producer.startup()
    yield producer
    producer.shutdown()


def refused(world, producer, now_s):
    try:
        world.send(producer, "too far", now_s + TEN_YEARS_S + DAY_S)
    except Exception as error:  # pylint: disable=broad-except
        demand("max is" in str(error), f"refused, but: {error!r}")
        return
    raise Failure("more than ten years were taken")


def around(world, name):
    """An hour before it, after it, and over the next one's due time."""
    due_s, later = world.due_s[name], f"{name} later"
    with world.life(due_s - 3600) as config:
        world.take(config)
        # With the handle that another life gave, years ago.
        with producing(config) as producer:
            world.recall(producer, f"{name} recalled late")
    with world.life(due_s + 60) as config:
        world.take(config, [name])
    with world.life(world.due_s[later] - BEFORE_S) as config:
        world.take(config, [later])


def check(options, place):
    world = World(options, place)
    send_all(world)
    for name in FAR_S:
        around(world, name)
    with world.life(max(world.due_s.values()) + DAY_S) as config:
        world.take(config)  # nothing a second time
    done = subprocess.run(
        [options.program, "recover", "verify", place / "store"],
        capture_output=True, text=True, check=False)
    demand(done.returncode == 0, f"the store is not sound: {done.stdout}")
    year = time.strftime("%Y", time.gmtime(world.now_s()))
    print(f"ok: {len(world.came)} of {len(world.due_s)} came, each once and in "
          f"time, the others were recalled; {world.lives} lives, to {year}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--crash-program", required=True)
    parser.add_argument("--work", required=True)
    options = parser.parse_args()
    place = pathlib.Path(tempfile.mkdtemp(prefix="far-", dir=options.work))
    try:
        check(options, place)
    except Failure as failure:
        print(f"FAILED: {failure}; the store and its logs: {place}")
        return 1
    shutil.rmtree(place)
    return 0


def with_client():
    """Starts this script again with the Python that has the client."""
    work = pathlib.Path(sys.argv[sys.argv.index("--work") + 1]).resolve()
    work.mkdir(parents=True, exist_ok=True)
    try:
        python = str(interop.prepare_python(work)[0])
    except interop.Skip as why:
        print(f"SKIPPED: {why}")
        sys.exit(interop.SKIPPED)
    os.execv(python, [python, *sys.argv])


try:
    from rocketmq import (ClientConfiguration, Credentials, FilterExpression,
                          Message, Producer, SimpleConsumer)
except ImportError:
    if "--work" not in sys.argv or "python-venv" in sys.executable:
        print("SKIPPED: Python's client is not there, and no --work for it")
        sys.exit(interop.SKIPPED)
    with_client()

if __name__ == "__main__":
    sys.exit(main())
