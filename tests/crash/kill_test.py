#!/usr/bin/env python3
"""Kills `hourglass pipe` with SIGKILL at random moments and counts afterwards.

    tests/crash/kill_test.py --program build/hourglass --cycles 50 --seed 1

Each cycle feeds messages with random delays and kills the program somewhere
in between. Then the program runs once more until nothing is pending, and the
commit log (`hourglass log`) must hold

  * every message that was acknowledged (--acks), exactly once as ready or
    delivered: nothing lost, nothing twice;
  * no message twice, acknowledged or not;
  * nothing delivered before its due time, by the clock of the group it was
    written in;
and stdout must have shown every acknowledged message at least once, with the
body that was put. A failure prints the seed and keeps the store.
"""

import argparse
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time


def body_of(name, size):
    return (name + " ") * (size // (len(name) + 1) + 1)


class Life:
    """One run of the program, from start to kill."""

    def __init__(self, options, directory):
        self.out_path = os.path.join(directory, "out.jsonl")
        self.acks_path = os.path.join(directory, "acks.jsonl")
        command = [options.program, "pipe", "--data",
                   os.path.join(directory, "store"), "--acks", self.acks_path]
        self.out = open(self.out_path, "ab")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE,
                                        stdout=self.out,
                                        stderr=subprocess.PIPE)

    def feed(self, rng, names, until):
        """Writes messages until `until`; the pipe may break under us."""
        try:
            while time.monotonic() < until:
                lines = []
                for _ in range(rng.randint(1, 200)):
                    name = next(names)
                    size = rng.choice((10, 100, 1000))
                    delay_ms = rng.choice((0, 1, rng.randint(1, 300),
                                           rng.randint(1, 3000)))
                    lines.append(json.dumps({
                        "id": name, "topic": "t%d" % rng.randint(0, 3),
                        "body": body_of(name, size), "delay_ms": delay_ms}))
                self.process.stdin.write(("\n".join(lines) + "\n").encode())
                self.process.stdin.flush()
                time.sleep(rng.uniform(0, 0.01))
        except (BrokenPipeError, ValueError, OSError):
            pass

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.out.close()
        return self.process.stderr.read().decode()


def read_lines(path):
    """Whole JSON lines; a kill may tear the last of each life."""
    found, torn = [], 0
    with open(path, "rb") as file:
        for line in file.read().split(b"\n"):
            if not line:
                continue
            try:
                found.append(json.loads(line))
            except ValueError:
                torn += 1
    return found, torn


def names():
    count = 0
    while True:
        count += 1
        yield "m%08d" % count


def run_cycles(options, directory, rng):
    all_names = names()
    for cycle in range(options.cycles):
        life = Life(options, directory)
        # Some are killed while they still open the store.
        seconds = rng.choice((rng.uniform(0, 0.05), rng.uniform(0.05, 0.6)))
        feeder = threading.Thread(target=life.feed, args=(
            random.Random(rng.random()), all_names,
            time.monotonic() + seconds + 1))
        feeder.start()
        time.sleep(seconds)
        said = life.kill()
        feeder.join()
        if said.strip():
            raise SystemExit("cycle %d: stderr: %s" % (cycle, said))
        # A torn last line must not swallow the first line of the next life.
        for path in (life.out_path, life.acks_path):
            with open(path, "ab") as file:
                file.write(b"\n")
        if sys.stderr.isatty() or cycle % 10 == 9:
            print("%d of %d killed" % (cycle + 1, options.cycles),
                  file=sys.stderr)


def run_to_the_end(options, directory):
    with open(os.path.join(directory, "out.jsonl"), "ab") as out:
        subprocess.run([options.program, "pipe", "--data",
                        os.path.join(directory, "store"), "--until-empty"],
                       stdin=subprocess.DEVNULL, stdout=out, check=True,
                       timeout=120)


def read_log(options, directory):
    done = subprocess.run([options.program, "log",
                           os.path.join(directory, "store"), "--json"],
                          stdout=subprocess.PIPE, check=True, timeout=120)
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(options, directory):
    records = read_log(options, directory)
    ready = collections.Counter()
    errors = []
    for record in records:
        if record["kind"] not in ("ready", "delivered"):
            continue
        ready[record["id"]] += 1
        if record["kind"] == "delivered" and \
                record["written_ms"] < record["due_ms"]:
            errors.append("early: %s" % record)
    acks, _ = read_lines(os.path.join(directory, "acks.jsonl"))
    acked = set(ack["id"] for ack in acks)
    shown, torn = read_lines(os.path.join(directory, "out.jsonl"))
    seen = set()
    for message in shown:
        seen.add(message["id"])
        if not message["body"].startswith(message["id"] + " "):
            errors.append("wrong body: %s" % message["id"])
        if message["delivered_ms"] < message["due_ms"]:
            errors.append("shown early: %s" % message["id"])
    errors += ["lost: %s" % i for i in sorted(acked) if ready[i] == 0]
    errors += ["twice: %s" % i for i, n in sorted(ready.items()) if n > 1]
    errors += ["not shown: %s" % i for i in sorted(acked - seen)]
    if len(acked) < options.cycles:
        errors.append("only %d acknowledged: the test tests nothing" %
                      len(acked))
    print("%d cycles: %d acknowledged, %d in the ready log, %d shown, "
          "%d torn lines, %d log records" %
          (options.cycles, len(acked), sum(ready.values()), len(shown), torn,
           len(records)))
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--cycles", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="hourglass-kill-")
    rng = random.Random(options.seed)
    run_cycles(options, directory, rng)
    run_to_the_end(options, directory)
    errors = check(options, directory)
    if errors:
        print("FAILED with --seed %d; the store is in %s" %
              (options.seed, directory))
        print("\n".join(errors[:20]))
        sys.exit(1)
    shutil.rmtree(directory)


if __name__ == "__main__":
    main()
