#!/usr/bin/env python3
"""Makes the manual page hourglass(1) out of what --help says.

    tools/make_man.py build/hourglass 0.1.0 >hourglass.1

So the page cannot say anything that the program does not.
"""

import re
import subprocess
import sys


def help_of(program, *command):
    done = subprocess.run([program, *command, "--help"], text=True,
                          capture_output=True, check=True, env={})
    return done.stdout.rstrip("\n").split("\n")


def text(line):
    """As roff wants it: nothing in it is a request or an escape."""
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + line if line[:1] in (".", "'") else line


def verbatim(lines):
    return [".nf", *map(text, lines), ".fi"]


def commands(lines):
    """The names below "Subcommands:", in their order."""
    begin = next(i for i, line in enumerate(lines)
                 if line.lower().startswith("subcommands"))
    names = []
    for line in lines[begin + 1:]:
        found = re.match(r"  ([a-z][a-z-]*)\s", line + " ")
        if found:
            names.append(found.group(1))
        elif line and not line.startswith(" "):
            break
    return names


def without_blank_pairs(lines):
    kept = []
    for line in lines:
        if line.strip() or (kept and kept[-1].strip()):
            kept.append(line)
    return kept


def page(program, version):
    top = help_of(program)
    out = ['.TH HOURGLASS 1 "" "hourglass %s" "User Commands"' % version,
           ".SH NAME",
           "hourglass \\- messages that must be delivered later",
           ".SH SYNOPSIS",
           ".B hourglass", ".I command", "[options]",
           ".SH DESCRIPTION",
           *verbatim(without_blank_pairs(top))]
    for name in commands(top):
        out += [".SH " + name.upper(),
                *verbatim(without_blank_pairs(help_of(program, name)))]
    out += [".SH FILES",
            ".TP", ".I /etc/hourglass/hourglass.toml",
            "settings of the service",
            ".TP", ".I /var/lib/hourglass",
            "its store"]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: make_man.py PROGRAM VERSION")
    sys.stdout.write(page(*sys.argv[1:]))
