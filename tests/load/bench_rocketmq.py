#!/usr/bin/env python3
"""Hourglass beside Apache RocketMQ 5, under the same client.

    tests/load/bench_rocketmq.py --program build/hourglass --jars DIR \\
        --load PROGRAM [--short] [--only NAME] [--out RESULTS.json]

One server at a time, each on an empty directory; the client is RocketMQ's
own, for Go, unmodified (tests/load/go). Prints a Markdown table.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from servers import Hourglass, RocketMq, cpu_of, cpu_of_all

NAMES = {"hourglass-sync": "Hourglass, sync",
         "rocketmq-sync": "RocketMQ, SYNC_FLUSH",
         "hourglass-os": "Hourglass, os",
         "rocketmq-async": "RocketMQ, ASYNC_FLUSH"}


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.rates = arguments.rates
        self.results = {}

    def make(self, name, directory):
        if name == "hourglass-sync":
            return Hourglass(self.arguments.program, directory, "sync")
        if name == "hourglass-os":
            return Hourglass(self.arguments.program, directory, "os")
        flush = "SYNC_FLUSH" if name == "rocketmq-sync" else "ASYNC_FLUSH"
        return RocketMq(self.arguments.jars, directory, flush,
                        self.arguments.precision_ms)

    def load(self, server, word, **flags):
        """(its last line, the server's CPU seconds after the first line)."""
        command = [self.arguments.load, word, "-endpoint", server.endpoint]
        for flag, value in flags.items():
            command += [f"-{flag.replace('_', '-')}", str(value)]
        environment = dict(os.environ)
        environment["rocketmq.client.logRoot"] = str(server.directory)
        with open(server.directory / "load.log", "ab") as err:
            process = subprocess.Popen(command, stdout=subprocess.PIPE,
                                       stderr=err, text=True, env=environment)
            last, marks = {}, []
            for line in process.stdout:
                last = json.loads(line)
                marks.append((server.cpu_seconds(), cpu_of(process.pid),
                              cpu_of_all(), time.monotonic()))
            if process.wait() != 0:
                raise RuntimeError(f"load {word} failed; see {err.name}")
        cpu, client, all_cpu, seconds = (
            end - begin for begin, end in zip(marks[0], marks[-1]))
        # What else ran on the machine meanwhile, in cores.
        last["others_cores"] = (all_cpu - cpu - client) / max(seconds, 0.01)
        return last, cpu

    def sends(self, server):
        rows = {}
        # A JVM compiles for tens of seconds until it is what it can be.
        server.add_topic("warm-up")
        self.load(server, "send", topic="warm-up", seconds=1,
                  warm_up_seconds=self.arguments.warm_up * server.slow_start)
        for kind, label, delay, producers, in_flight in (
                ("normal", "many", 0, 4, 64),
                ("delayed", "one", 3_600_000, 1, 1),
                ("delayed", "many", 3_600_000, 4, 64)):
            server.add_topic(kind, kind == "delayed")
            result, cpu = self.load(
                server, "send", topic=kind, seconds=self.arguments.seconds,
                warm_up_seconds=self.arguments.warm_up,
                delay_ms=delay, producers=producers, in_flight=in_flight)
            result["server_cpu_s_per_million"] = (
                1e6 * cpu / max(1, result["sent"]))
            rows[f"{kind}-{label}"] = result
        return rows

    def lateness(self, server, rate, send_rate):
        seconds = self.arguments.due_seconds
        count = rate * seconds
        lead_ms = int(6000 + 1000 * 1.4 * count / max(500, send_rate))
        # A topic of its own for each rate: what one leaves behind must not be
        # in the next one's way.
        topic = f"due-{rate}"
        server.add_topic(topic)
        ours = isinstance(server, Hourglass)
        before = server.metrics() if ours else None
        result, cpu = self.load(
            server, "lateness", topic=topic, rate=rate, seconds=seconds,
            lead_ms=lead_ms, group=f"group-{rate}", patience="60s",
            ackers=64, producers=4, in_flight=64)
        result["server_cpu_s_per_million"] = 1e6 * cpu / count
        if before is not None:
            result["log"] = server.log_lateness(before, server.metrics())
        return result

    def restart(self, server, count):
        server.add_topic("pending")
        result, _ = self.load(server, "preload", topic="pending", count=count)
        rss = server.rss_mib()
        server.kill()
        began = time.time()
        server.start(wait=False)
        found, _ = self.load(server, "probe", topic="pending")
        return {"pending": result["sent"], "preload": result,
                "seconds": found["unix_ms"] / 1000 - began,
                "rss_mib_before": rss, "rss_mib_after": server.rss_mib()}

    def one(self, name):
        directory = pathlib.Path(tempfile.mkdtemp(prefix=name + "-",
                                                  dir=self.arguments.work))
        result = {}
        try:
            with self.make(name, directory) as server:
                time.sleep(3)
                result["rss_mib_idle"] = server.rss_mib()
                result["send"] = self.sends(server)
                say(f"{name}: {json.dumps(result['send'])}")
                rate = result["send"]["delayed-many"]["per_second"]
                result["lateness"] = {}
                for due in self.rates:
                    one = self.lateness(server, due, rate)
                    result["lateness"][str(due)] = one
                    say(f"{name}: {json.dumps(one)}")
                result["rss_mib_loaded"] = server.rss_mib()
                if self.arguments.pending > 0:
                    result["restart"] = self.restart(server,
                                                     self.arguments.pending)
                    say(f"{name}: {json.dumps(result['restart'])}")
        finally:
            if not self.arguments.keep:
                shutil.rmtree(directory, ignore_errors=True)
        return result

    def run(self):
        for name in self.arguments.only or NAMES:
            say(f"==> {NAMES[name]}")
            self.results[name] = self.one(name)
            if self.arguments.out:
                pathlib.Path(self.arguments.out).write_text(
                    json.dumps(self.results, indent=1))
        return self.results


def say(text):
    print(text, file=sys.stderr, flush=True)


def ms(value):
    return f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def lateness_cells(result, rate):
    one = result["lateness"].get(str(rate))
    if one is None:
        return "-", "-", "-"
    cell = f"{ms(one['p50_ms'])} / {ms(one['p99_ms'])} / {ms(one['max_ms'])}"
    notes = []
    if one["received"] < one["preload"]["sent"]:
        notes.append(f"{one['preload']['sent'] - one['received']} not received")
    if one["spare_ms"] < 0:
        notes.append("sent too late")
    if one["early"]:
        notes.append(f"{one['early']} early, by up to "
                     f"{ms(-one['earliest_ms'])}")
    if one["duplicates"]:
        notes.append(f"{one['duplicates']} twice")
    cpu = f"{one['server_cpu_s_per_million']:.0f} s"
    log = one.get("log")
    log = (f"≤ {log['p50_ms_max']:g} / {log['p99_ms_max']:g} / "
           f"{log['max_ms_max']:g} ms" if log else "not known")
    return cell + (f" ({'; '.join(notes)})" if notes else ""), cpu, log


def table(results):
    names = [name for name in NAMES if name in results]
    rows = [["", *(NAMES[name] for name in names)]]

    def row(label, of):
        cells = []
        for name in names:
            try:
                cells.append(of(results[name]))
            except KeyError:
                cells.append("-")
        rows.append([label, *cells])

    for key, label in (("delayed-many", "delayed, 256 in flight"),
                       ("delayed-one", "delayed, 1 in flight"),
                       ("normal-many", "due at once, 256 in flight")):
        row(f"sends a second, {label}",
            lambda r, k=key: f"{r['send'][k]['per_second']:,.0f}")
        row("... server CPU for a million",
            lambda r, k=key:
            f"{r['send'][k]['server_cpu_s_per_million']:.0f} s")
        row("... answered, p50 / p99",
            lambda r, k=key: f"{ms(r['send'][k]['p50_ms'])} / "
                             f"{ms(r['send'][k]['p99_ms'])}")
    rates = sorted({int(rate) for name in names
                    for rate in results[name]["lateness"]})
    for rate in rates:
        row(f"{rate:,} due a second: received late, p50 / p99 / max",
            lambda r, k=rate: lateness_cells(r, k)[0])
        row("... in the ready log",
            lambda r, k=rate: lateness_cells(r, k)[2])
        row("... server CPU for a million received and acknowledged",
            lambda r, k=rate: lateness_cells(r, k)[1])
    row("(other programs on the machine, cores)", lambda r: "{:.1f}".format(
        max(one["others_cores"] for one in (*r["send"].values(),
                                            *r["lateness"].values()))))
    row("memory (RSS) idle / after that", lambda r:
        f"{r['rss_mib_idle']:.0f} / {r['rss_mib_loaded']:.0f} MiB")
    row("start after kill -9 to the first send taken", lambda r:
        f"{r['restart']['seconds']:.2f} s "
        f"({r['restart']['pending']:,} pending)")
    lines = []
    for at, cells in enumerate(rows):
        lines.append("| " + " | ".join(cells) + " |")
        if at == 0:
            lines.append("|" + "---|" * len(cells))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--jars", required=True)
    parser.add_argument("--load", required=True)
    parser.add_argument("--work", default=tempfile.gettempdir())
    parser.add_argument("--only", action="append", choices=sorted(NAMES))
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--rates", type=int, nargs="+")
    parser.add_argument("--pending", type=int)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--warm-up", type=float, default=10,
                        help="seconds before each part, ten times that before "
                             "the first of RocketMQ's")
    parser.add_argument("--due-seconds", type=int, default=10)
    parser.add_argument("--precision-ms", type=int, default=1000,
                        help="RocketMQ's timerPrecisionMs")
    parser.add_argument("--out", help="keep the numbers here, as JSON")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--table", nargs="+", metavar="RESULTS.json",
                        help="only print the table of what was kept")
    arguments = parser.parse_args()
    if arguments.table:
        results = {}
        for path in arguments.table:
            results.update(json.loads(pathlib.Path(path).read_text()))
        print(table(results))
        return 0
    if arguments.rates is None:
        arguments.rates = ([1000, 10_000] if arguments.short
                           else [1000, 10_000, 50_000])
    if arguments.pending is None:
        arguments.pending = 100_000 if arguments.short else 1_000_000
    if arguments.short:
        arguments.seconds, arguments.warm_up = 6, 4
        arguments.due_seconds = 5
    print(table(Bench(arguments).run()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
