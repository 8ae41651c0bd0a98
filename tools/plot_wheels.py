#!/usr/bin/env python3
"""Tables and figures of docs/wheels.md from what tools/bench_wheels.sh measured.

  tools/plot_wheels.py RESULTS [FIGURES]

Prints Markdown tables of RESULTS/*.json and *.jsonl. With FIGURES, writes one
SVG a figure into that folder. Needs nothing but Python.
"""
import glob
import html
import json
import math
import os
import sys

COUNTS = (1_000, 100_000, 10_000_000)
ORDER = (
    "BoundedWheel", "OverflowListWheel", "HashedWheel", "RoundWheel",
    "ClockWheel", "OverflowWheels", "std_priority_queue", "std_multimap",
    "boost_asio", "libevent", "kafka", "netty",
)
LABELS = {
    "std_priority_queue": "std::priority_queue",
    "std_multimap": "std::multimap",
    "boost_asio": "Boost.Asio",
    "kafka": "Kafka (JVM)",
    "netty": "Netty (JVM)",
}
OURS = ORDER[:6]


def load(folder):
    """Name of the benchmark -> its counters."""
    rows = {}
    for path in glob.glob(os.path.join(folder, "*.json")):
        with open(path, encoding="utf-8") as file:
            for row in json.load(file)["benchmarks"]:
                if row.get("error_occurred"):
                    sys.exit(f"{row['name']}: {row['error_message']}")
                name = row["name"].split("/iterations")[0]
                rows.setdefault(name, row)
    for path in glob.glob(os.path.join(folder, "*.jsonl")):
        with open(path, encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                if row["name"].startswith("netty"):
                    # Its worker's processor time, over all it did: no figure
                    # to set beside the others'.
                    row["expire_ns"] = None
                if row["bytes"] <= 0:
                    row["bytes"] = None  # a collection came between
                rows[row["name"]] = row
    return rows


def check(rows):
    """The same trace must have the same checksum wherever order is exact."""
    sums = {}
    for name, row in rows.items():
        parts = name.split("/")
        if len(parts) != 3 or "checksum" not in row or parts[0] == "netty":
            continue
        sums.setdefault((parts[1], parts[2]), {})[parts[0]] = row["checksum"]
    for trace, by_name in sorted(sums.items()):
        if len(set(by_name.values())) != 1:
            sys.exit(f"checksums differ at {'/'.join(trace)}: {by_name}")


def number(value):
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def table(rows, shape, count):
    lines = ["| | schedule | cancel | fire | fill | bytes |",
             "|---|---|---|---|---|---|"]
    for name in ORDER:
        row = rows.get(f"{name}/{shape}/{count}")
        if row is None:
            continue
        cells = [number(row[key]) for key in
                 ("schedule_ns", "cancel_ns", "expire_ns", "fill_ns", "bytes")]
        lines.append(f"| {LABELS.get(name, name)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def plot(rows, key, shape, title):
    """One line a contender, one dot a number of timers, logarithmic."""
    left, width, top, step = 160, 480, 56, 26
    names = [n for n in ORDER
             if any(f"{n}/{shape}/{c}" in rows for c in COUNTS)]
    height = top + step * len(names) + 40
    values = [rows[f"{n}/{shape}/{c}"][key] or 0 for n in names for c in COUNTS
              if f"{n}/{shape}/{c}" in rows]
    low, high = 1.0, 10.0
    while high < max(values):
        high *= 10

    def x_of(value):
        value = max(value, low)
        return left + width * math.log10(value / low) / math.log10(high / low)

    colours = dict(zip(COUNTS, ("#7fb3d5", "#2471a3", "#12344d")))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 40}"'
           f' height="{height}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="10" y="20" font-size="14">{html.escape(title)}</text>']
    for i, count in enumerate(COUNTS):
        out.append(f'<circle cx="{left + i * 120}" cy="38" r="5" '
                   f'fill="{colours[count]}"/>')
        out.append(f'<text x="{left + i * 120 + 10}" y="42">{count:,} live</text>')
    tick = low
    while tick <= high:
        x = x_of(tick)
        out.append(f'<line x1="{x:.0f}" y1="{top}" x2="{x:.0f}" '
                   f'y2="{height - 30}" stroke="#ddd"/>')
        out.append(f'<text x="{x:.0f}" y="{height - 14}" '
                   f'text-anchor="middle">{tick:,.0f} ns</text>')
        tick *= 10
    for i, name in enumerate(names):
        y = top + step * i + step // 2
        weight = ' font-weight="bold"' if name in OURS else ""
        out.append(f'<text x="{left - 10}" y="{y + 4}" text-anchor="end"{weight}>'
                   f'{html.escape(LABELS.get(name, name))}</text>')
        out.append(f'<line x1="{left}" y1="{y}" x2="{left + width}" y2="{y}" '
                   'stroke="#eee"/>')
        for count in COUNTS:
            row = rows.get(f"{name}/{shape}/{count}")
            if row is not None and row[key] is not None:
                out.append(f'<circle cx="{x_of(row[key]):.1f}" cy="{y}" r="5" '
                           f'fill="{colours[count]}"/>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    rows = load(sys.argv[1])
    check(rows)
    for shape in ("uniform", "clustered"):
        for count in COUNTS:
            print(f"\n{shape}, {count:,} live:\n\n{table(rows, shape, count)}")
    print(f"\nfar, 100,000 live:\n\n{table(rows, 'far', 100_000)}")
    print("\n| | an empty hour, tick by tick | in one jump |\n|---|---|---|")
    for name in OURS:
        each = rows.get(f"empty_hour/{name}/each_tick")
        jump = rows.get(f"empty_hour/{name}/one_jump")
        if each and jump:
            print(f"| {name} | {each['hour_us'] / 1000:.1f} ms "
                  f"| {jump['hour_us']:.1f} us |")
    print("\n| | 1 | 2 | 4 producers |\n|---|---|---|---|")
    for name in ("TimerDriver_HashedWheel", "TimerDriver_OverflowWheels",
                 "mutex_multimap"):
        cells = [rows.get(f"producers/{name}/{n}") for n in (1, 2, 4)]
        if all(cells):
            print(f"| {name} | " + " | ".join(
                f"{row['pairs_per_s'] / 1e6:.2f} M/s" for row in cells) + " |")
    if len(sys.argv) == 3:
        os.makedirs(sys.argv[2], exist_ok=True)
        for key, title in (("schedule_ns", "schedule, ns"),
                           ("cancel_ns", "cancel, ns"),
                           ("expire_ns", "fire, ns")):
            path = os.path.join(sys.argv[2], f"wheels_{key[:-3]}.svg")
            with open(path, "w", encoding="utf-8") as file:
                file.write(plot(rows, key, "uniform", title + " (uniform)"))


if __name__ == "__main__":
    main()
