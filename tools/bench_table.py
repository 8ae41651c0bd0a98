#!/usr/bin/env python3
"""Measured against target, as a Markdown table for docs/benchmarks.md.

  tools/bench_table.py results.jsonl

Reads what tools/bench_all.sh wrote: one JSON object of `hourglass bench` a
line. A job that stands there more than once counts with its last line. Exits
with 1 if a target is missed or a row was not measured.
"""

import json
import sys

MIB = 1 << 20


def count(value):
    return f"{value:,.0f}".replace(",", " ")


def is_lone_put(result):
    options = result["options"]
    return options["producers"] == 1 and options["in_flight"] == 1


def put(r):
    rate = r["messages_per_s"]
    return f"{count(rate)} msg/s", rate >= 1_000_000


def lone_put(r):
    text = (f"{100 * r['ratio']:.0f} % ({count(r['messages_per_s'])} of "
            f"{count(r['disk_fdatasync_per_s'])} a second)")
    return text, r["ratio"] >= 0.6


def burst(r):
    late_ms = r["last_durable_after_due_ms"]
    full = r["messages"] >= 1_000_000
    text = f"{count(late_ms)} ms ({count(r['messages'])} messages)"
    return text, full and late_ms <= 1000


def steady(r):
    late = r["lateness_ms"]
    text = (f"p99 {late['p99']:.1f} ms, p99.9 {late['p99_9']:.1f} ms at "
            f"{count(r['messages_per_s'])} + "
            f"{count(r['delivered_messages_per_s'])} msg/s")
    # A rate that was not kept is no measurement of the lateness at it.
    rate = r["options"]["rate"]
    kept = rate >= 50_000 and r["messages_per_s"] >= 0.99 * rate
    return text, kept and late["p99"] <= 5 and late["p99_9"] <= 20


def backlog(r):
    beyond = r["hour_bytes_per_message_beyond_body"]
    text = (f"RSS {r['rss_peak_bytes'] / MIB:.0f} MiB at its peak, body + "
            f"{beyond:.1f} B a message ({count(r['messages'])} messages)")
    full = r["messages"] >= 100_000_000
    return text, full and r["rss_peak_bytes"] <= 256 * MIB and beyond <= 96


def restart(r):
    accepting, delivering = r["accepting_ms"], r["delivering_ms"]
    text = (f"accepting {accepting['p50']:.0f} ms, delivering "
            f"{delivering['p50']:.0f} ms (max {delivering['max']:.0f} ms of "
            f"{r['rounds']}; {count(r['messages'])} messages)")
    small = r["compared_with"]
    if small is None:
        return text, False
    text += (f"; with {count(small['messages'])}: "
             f"{small['delivering_ms']['p50']:.0f} ms")
    full = r["messages"] >= 100_000_000
    worst_ms = max(accepting["max"], delivering["max"])
    # "No slower": two medians of a few rounds differ by noise alone.
    return text, full and worst_ms <= 1000 and r["ratio"] <= 1.2


def cancel(r):
    rate = r["cancels_per_s"]
    return f"{count(rate)} a second", rate >= 100_000


# Row: what, target, which results it is made of, how.
ROWS = [
    ("durable put, 256 B, group sync, spread over 24 h, 8 producers, "
     "asynchronous", "≥ 1 000 000 msg/s",
     lambda r: r["job"] == "put" and not is_lone_put(r), put),
    ("durable put, 1 producer waiting for each ack",
     "≥ 60 % of the disk's own fdatasync rate",
     lambda r: r["job"] == "put" and is_lone_put(r), lone_put),
    ("1 000 000 messages of 256 B due in the same second",
     "all durable in the ready log ≤ 1 s after due",
     lambda r: r["job"] == "burst", burst),
    ("steady 50 000 put/s + 50 000 delivered/s for 60 s",
     "lateness p99 ≤ 5 ms, p99.9 ≤ 20 ms",
     lambda r: r["job"] == "steady", steady),
    ("100 000 000 pending over 30 days",
     "RSS ≤ 256 MiB, hour segments ≤ body + 96 B a message",
     lambda r: r["job"] == "backlog", backlog),
    ("kill -9 with 100 M pending → accepting and delivering",
     "≤ 1 s, and no slower than with 1 M",
     lambda r: r["job"] == "restart", restart),
    ("cancel by handle", "≥ 100 000/s durable",
     lambda r: r["job"] == "cancel", cancel),
]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        results = [json.loads(line) for line in file if line.strip()]
    met_all = True
    print("| job | target | measured | met |")
    print("|---|---|---|---|")
    for what, target, belongs, show in ROWS:
        rows = [result for result in results if belongs(result)]
        text, met = show(rows[-1]) if rows else ("not measured", False)
        met_all = met_all and met
        print(f"| {what} | {target} | {text} | {'yes' if met else 'no'} |")
    sys.exit(0 if met_all else 1)


if __name__ == "__main__":
    main()
