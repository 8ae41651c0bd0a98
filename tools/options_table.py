#!/usr/bin/env python3
"""The options of `hourglass serve` as a table, out of its --help.

    tools/options_table.py build/hourglass            prints it
    tools/options_table.py build/hourglass --update   into docs/operations.md
"""

import os
import re
import subprocess
import sys

PAGE = os.path.join(os.path.dirname(__file__), "..", "docs", "operations.md")
BEGIN = "<!-- BEGIN options: tools/options_table.py writes them -->\n"
END = "<!-- END options -->\n"
UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
TIMES = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"))


def in_units(number, units):
    for size, unit in units:
        if number and number % size == 0:
            return "%d %s" % (number // size, unit)
    return None


def default_of(flag, declared):
    """As a person would say it."""
    if flag.startswith("--") and "{false}" in declared:
        return "on"
    if not declared.strip():
        return "off"
    found = re.search(r"=([^ ,]+)(?: |$)", declared)
    if not found:
        return "required" if "REQUIRED" in declared else ""
    value = found.group(1)
    if not value.lstrip("-").isdigit():
        return "`%s`" % value
    if "BYTES" in declared:
        return in_units(int(value), UNITS) or value
    if " MS" in declared:
        return in_units(int(value), TIMES) or value + " ms"
    return "{:,}".format(int(value))


def options(program):
    """(group, flag, default, meaning) of each."""
    said = subprocess.run([program, "serve", "--help"], text=True, check=True,
                          capture_output=True, env={}).stdout
    group, found = None, []
    lines = said.split("\n")
    for i, line in enumerate(lines):
        if re.match(r"^[A-Z].*:$", line):
            group = line[:-1]
        match = re.match(r"^  (--[a-z-]+)(.*)\(Env:[A-Z_]+\)(.*)$", line)
        if match and group:
            # A long declaration has its meaning on the next line.
            meaning = match.group(3).strip() or lines[i + 1].strip()
            declared = re.sub(r"\[b, .*?\]", "", match.group(2))
            found.append((group, match.group(1),
                          default_of(match.group(1), declared), meaning))
    return found


def table(program):
    out, before = [], None
    for group, flag, default, meaning in options(program):
        if group != before:
            out += ["", "**%s**" % group, "",
                    "| option | default | meaning |", "|---|---|---|"]
        before = group
        out.append("| `%s` | %s | %s |" %
                   (flag[2:], default, meaning.replace("|", "\\|")))
    return "\n".join(out[1:]) + "\n"


def page_with(text, page):
    head, rest = page.split(BEGIN)
    return head + BEGIN + "\n" + text + "\n" + END + rest.split(END)[1]


def main():
    text = table(sys.argv[1])
    if "--update" not in sys.argv:
        sys.stdout.write(text)
        return
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(page_with(text, page))


if __name__ == "__main__":
    main()
