#!/usr/bin/env python3
"""Many connections and consumers that do harm, beside an innocent topic.

    tests/load/many_connections.py --program build/hourglass

One server, with a backlog of a million pending messages. Beside each thing
that may do harm, a topic with a few messages a second is received by the
official client, and its lateness measured:

    nothing         what it is at rest
    connections     10 000 idle long polls, 1 000 that send each second
    gone            after they have left: memory and open files
    slow            a consumer that takes a second for each of 20 000 messages
    silent          a consumer that never acknowledges
    poison          messages that fail until their attempts are used up
    topics          10 000 topics with a message each

Prints a Markdown table. Exit codes: 0 all is well; 1 something was harmed; 77
the client cannot be built here.
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

from kill_clients_test import build_client
from servers import Hourglass

SKIPPED = 77
# Beside the connections, for the server itself and the client.
FILES_BESIDE = 3000
ATTEMPTS_MAX = 3
POISON = 20
# Files that a server may have opened meanwhile for itself: hours, queues.
OWN_FILES_MAX = 300
# With cores to spare it is some tens of milliseconds.
BOUND_MS = 1000


class Trial:
    def __init__(self, arguments, client, directory):
        self.arguments = arguments
        self.client = client
        self.directory = directory
        self.rows, self.errors = [], []
        self.server = None

    def start(self, word, *flags):
        with open(self.directory / "load.log", "ab") as err:
            return subprocess.Popen(
                [self.client, word, "-endpoint", self.server.endpoint,
                 *map(str, flags)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err,
                text=True)

    def innocent(self, name):
        process = self.start(
            "lateness", "-topic", f"innocent-{name}", "-group",
            f"innocent-{name}", "-rate", 100, "-seconds",
            self.arguments.seconds, "-lead-ms", 8000, "-producers", 1,
            "-in-flight", 4, "-consumers", 1, "-loops", 4, "-ackers", 8)
        process.stdin.close()
        lines = process.stdout.read().splitlines()
        process.wait()
        return json.loads(lines[-1])

    def measure(self, name, note=""):
        result = self.innocent(name)
        if result["received"] != result["count"] or result["early"]:
            self.errors.append(f"{name}: {json.dumps(result)}")
        if result["p99_ms"] > BOUND_MS:
            self.errors.append(f"{name}: p99 {result['p99_ms']:.0f} ms")
        self.rows.append((name, result["p50_ms"], result["p99_ms"],
                          result["max_ms"], self.server.rss_mib(),
                          self.server.open_files(), note))
        print("%-12s %s" % (name, self.rows[-1][1:]), file=sys.stderr)
        return self.rows[-1]

    def beside(self, name, word, *flags, again=False):
        """Measures while the program `word` does its harm."""
        process = self.start(word, *flags)
        said = process.stdout.readline()
        if "ready" not in said:
            raise RuntimeError(f"{word} did not start: {said}")
        self.measure(name)
        if again:
            time.sleep(self.arguments.seconds)
            self.measure(name + "-later")
        process.stdin.close()
        rest = process.stdout.read().splitlines()
        process.wait()
        summary = json.loads(rest[-1])
        self.rows[-1] = (*self.rows[-1][:-1], json.dumps(summary))
        return summary

    def run(self):
        arguments = self.arguments
        data = self.directory / "server" / "data"
        data.parent.mkdir()
        if arguments.pending:
            subprocess.run(
                [arguments.program, "bench", "backlog", "--messages",
                 str(arguments.pending), "--data", data, "--keep"],
                check=True, stdout=subprocess.DEVNULL)
        self.server = Hourglass(
            arguments.program, self.directory / "server", "sync",
            ["--attempts-max", str(ATTEMPTS_MAX)])
        with self.server:
            self.measure("nothing")
            before = self.rows[-1]
            crowd = self.beside("connections", "crowd", "-idle",
                                arguments.idle, "-active", arguments.active,
                                again=True)
            if crowd["failures"]:
                self.errors.append(f"connections: {json.dumps(crowd)}")
            time.sleep(3)
            gone = self.measure("gone")
            if gone[5] > before[5] + OWN_FILES_MAX:
                self.errors.append(f"{gone[5]} open files, {before[5]} before")
            self.beside("slow", "bad", "-mode", "slow")
            self.beside("silent", "bad", "-mode", "silent")
            poison = self.beside("poison", "bad", "-mode", "poison",
                                 "-count", POISON)
            if poison["dead_letters"] != POISON:
                self.errors.append(f"poison: {json.dumps(poison)}")
            many = self.beside("topics", "bad", "-mode", "topics", "-count",
                               arguments.topics)
            if many["put_failures"]:
                self.errors.append(f"topics: {json.dumps(many)}")

    def table(self):
        lines = ["| beside | p50 | p99 | max | memory (RSS) | open files |",
                 "|---|---|---|---|---|---|"]
        for name, p50, p99, most, rss, files, _ in self.rows:
            lines.append(f"| {name} | {p50:.1f} ms | {p99:.1f} ms | "
                         f"{most:.0f} ms | {rss:.0f} MiB | {files} |")
        return "\n".join(lines)


def raise_limit(files):
    """True if so many files may be open, here and in what is started."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= files:
        return True
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, max(hard, files)))
        return True
    except (ValueError, OSError):
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--idle", type=int, default=10_000)
    parser.add_argument("--active", type=int, default=1000)
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--pending", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--work", default=tempfile.gettempdir())
    arguments = parser.parse_args()
    arguments.program = os.path.abspath(arguments.program)
    files = arguments.idle + arguments.active + FILES_BESIDE
    if not raise_limit(files):
        print(f"{files} open files are not permitted here")
        return SKIPPED
    work = pathlib.Path(arguments.work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    client = build_client(work)
    if client is None:
        return SKIPPED
    directory = pathlib.Path(tempfile.mkdtemp(prefix="many-", dir=work))
    trial = Trial(arguments, client, directory)
    try:
        trial.run()
    finally:
        print(trial.table())
        for row in trial.rows:
            if row[-1]:
                print(f"{row[0]}: {row[-1]}")
    for error in trial.errors:
        print("WRONG:", error)
    if trial.errors:
        return 1
    shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
