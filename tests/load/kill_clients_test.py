#!/usr/bin/env python3
"""Official clients send and receive while the server is killed, again and again.

    tests/load/kill_clients_test.py --program build/hourglass --cycles 100

The clients are RocketMQ's own, for Go, unmodified (tests/load/go). They run
through all of it; `hourglass serve` gets SIGKILL at random moments, also while
it recovers. In the end:

- each message whose send was answered was received at least once;
- the ready log has it exactly once, and never before its due time;
- what was acknowledged never came again;
- `hourglass recover verify` calls the store sound.

A send whose answer was lost may be in the log or not. Exit codes: 0 all is
well; 1 it is not; 77 the client cannot be built here.
"""
import argparse
import collections
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from servers import Hourglass

SKIPPED = 77
TOPIC = "kill-clients"
GROUP = "kill-clients-group"
# So that files roll and checkpoints come many times in a test.
FLAGS = ["--log-segment-bytes", "4MiB", "--body-bytes-max", "64KiB",
         "--properties-bytes-max", "4KiB", "--batch-bytes-max", "64KiB",
         "--checkpoint-interval-ms", "200", "--no-tls"]
# Clients wait a second and more before they connect again.
LIFE_SECONDS = (1.2, 3.0)
SHORT_LIFE_SECONDS = (0.01, 0.3)
SHORT_LIVES = 0.2


def build_client(work):
    """The client program, or None where it cannot be built."""
    source = pathlib.Path(__file__).resolve().parent / "go"
    program = work / "load"
    if shutil.which("go") is None:
        print("go is not installed")
        return None
    done = subprocess.run(["go", "build", "-o", program, "."], cwd=source,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    if done.returncode != 0:
        print(done.stdout.strip().splitlines()[-1])
        return None
    return program


def start_clients(client, server, directory, seed):
    log = open(directory / "clients.log", "wb")
    with log:
        process = subprocess.Popen(
            [client, "traffic", "-endpoint", server.endpoint, "-topic", TOPIC,
             "-group", GROUP, "-journal", directory / "journal",
             "-producers", "4", "-in-flight", "4", "-consumers", "2",
             "-loops", "2", "-ackers", "8", "-invisible", "10s",
             "-seed", str(seed)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            text=True)
    if "started" not in process.stdout.readline():
        raise RuntimeError(f"the clients did not start; see {log.name}")
    return process


def kill_cycles(server, cycles, rng):
    for cycle in range(cycles):
        short = rng.random() < SHORT_LIVES
        time.sleep(rng.uniform(*(SHORT_LIFE_SECONDS if short
                                 else LIFE_SECONDS)))
        if server.processes[0].poll() is not None:
            raise RuntimeError(f"the server ended by itself in cycle {cycle}")
        server.kill()
        time.sleep(rng.choice((0, rng.uniform(0, 0.3))))
        server.start(wait=False)


def read_journal(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def read_log(program, data):
    done = subprocess.run([program, "log", "--json", data], check=True,
                          stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


class Findings:
    """What clients saw and what the log has, compared."""

    def __init__(self, events, records):
        self.errors = []
        self.counts = collections.Counter(e["what"] for e in events)
        self.sent = {e["id"]: e["name"] for e in events if e["what"] == "sent"}
        self.lost = {e["name"] for e in events if e["what"] == "lost"}
        self.check_receives(events)
        self.check_log(records)

    def fail(self, what, items):
        items = sorted(items)
        if items:
            self.errors.append(f"{len(items)} {what}: {', '.join(items[:5])}")

    def check_receives(self, events):
        received, acked, again = collections.Counter(), set(), set()
        early = set()
        for event in events:
            place = (event.get("id"), event.get("index", 0))
            if event["what"] == "acked":
                acked.add(place)
            elif event["what"] == "received":
                received[place] += 1
                if place in acked:
                    again.add(event["id"])
                if "early_ms" in event:
                    early.add(f"{event['id']} by {event['early_ms']} ms")
        ids = {place[0] for place in received}
        self.fail("answered, never received", set(self.sent) - ids)
        self.fail("acknowledged, and received again", again)
        self.fail("received early", early)
        self.redelivered = sum(count - 1 for count in received.values())
        self.lost_received = len(
            {e["name"] for e in events if e["what"] == "received"} & self.lost)

    def check_log(self, records):
        ready = collections.Counter(
            r["id"] for r in records
            if r["kind"] in ("ready", "delivered") and r["topic"] == TOPIC)
        self.ready = sum(ready.values())
        self.fail("answered, not in the ready log",
                  set(self.sent) - set(ready))
        twice = {i for i, count in ready.items() if count > 1}
        # A send that was tried again after a kill must be known by its id.
        self.fail("twice in the ready log", twice)
        puts = collections.Counter(
            r["id"] for r in records
            if r["kind"] in ("ready", "delayed") and r["topic"] == TOPIC)
        self.fail("put, and not in the ready log",
                  {i for i in puts if ready[i] < puts[i]})
        self.unanswered = len(set(ready) - set(self.sent))
        self.fail("delivered early", {
            r["id"] for r in records
            if r["kind"] == "delivered" and r["written_ms"] < r["due_ms"]})


def run(arguments, client, directory):
    rng = random.Random(arguments.seed)
    server = Hourglass(arguments.program, directory, "sync", FLAGS)
    server.start()
    clients = start_clients(client, server, directory, arguments.seed)
    watch = threading.Timer(arguments.cycles * 10 + 300, clients.kill)
    watch.daemon = True
    watch.start()
    try:
        began = time.monotonic()
        kill_cycles(server, arguments.cycles, rng)
        seconds = time.monotonic() - began
        clients.stdin.close()
        said = clients.stdout.read()
        if clients.wait() != 0:
            return None, [f"the clients ended with {clients.returncode}"]
    finally:
        watch.cancel()
        clients.kill()
        server.stop()
    summary = json.loads(said.strip().splitlines()[-1])
    found = Findings(read_journal(directory / "journal"),
                     read_log(arguments.program, server.data))
    errors = found.errors
    if summary["owed"]:
        errors.append(f"{summary['owed']} owed when the patience ended")
    verify = subprocess.run(
        [arguments.program, "recover", "verify", server.data], check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if verify.returncode != 0:
        errors.append("recover verify: " + verify.stdout[-1000:])
    said = (f"{arguments.cycles} kills in {seconds:.0f} s: "
            f"{len(found.sent)} sends answered, {len(found.lost)} failed "
            f"({found.lost_received} of them came all the same), "
            f"{found.ready} messages in the ready log "
            "(none twice), "
            f"{found.counts['received']} received "
            f"({found.redelivered} again, before they were acknowledged), "
            f"{found.counts['acked']} acknowledged, "
            f"{found.counts['refused']} acknowledgements failed")
    return said, errors


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--cycles", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", default=tempfile.gettempdir())
    arguments = parser.parse_args()
    work = pathlib.Path(arguments.work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    client = build_client(work)
    if client is None:
        return SKIPPED
    directory = pathlib.Path(tempfile.mkdtemp(prefix="kill-clients-",
                                              dir=work))
    said, errors = run(arguments, client, directory)
    print(said)
    for error in errors:
        print("WRONG:", error)
    if errors:
        print(f"seed {arguments.seed}; everything is kept in {directory}")
        return 1
    shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
