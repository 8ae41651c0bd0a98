#!/usr/bin/env python3
"""Runs the pieces of code in docs/clients.md as they stand there.

    tests/interop/docs_examples.py --program build/hourglass --work build/interop

Only the address is another. Each must print the message that it sent. Uses
what tests/interop/run.py has built; exit code 77 if nothing could be run.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import run as interop

PAGE = interop.HERE.parent.parent / "docs" / "clients.md"
SECONDS_MAX = 120

GO = """package main

import (
	"context"
	"fmt"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
	"github.com/apache/rocketmq-clients/golang/v5/credentials"
)

func main() {
%s	_, _ = receipts, err
}
"""
JAVA = """import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import org.apache.rocketmq.client.apis.*;
import org.apache.rocketmq.client.apis.consumer.*;
import org.apache.rocketmq.client.apis.message.*;
import org.apache.rocketmq.client.apis.producer.*;

public class Example {
  public static void main(String[] arguments) throws Exception {
%s    System.exit(0);
  }
}
"""


def example(language, port):
    """The code of that language, for a server at this port."""
    text = PAGE.read_text(encoding="utf-8")
    code = re.search("```%s\n(.*?)```" % language, text, re.S).group(1)
    return code.replace("127.0.0.1:8081", "127.0.0.1:%d" % port)


def run_python(work, port):
    python = interop.prepare_python(work)[0]
    path = work / "example.py"
    path.write_text(example("python", port))
    return [python, path]


def run_node(work, port):
    interop.prepare_node(work)
    path = work / "node" / "example.js"
    path.write_text(example("js", port))
    return ["node", path]


def run_go(work, port):
    interop.prepare_go(work)
    folder = work / "go" / "example"
    folder.mkdir(exist_ok=True)
    (folder / "main.go").write_text(GO % example("go", port))
    interop.run(["go", "build", "-o", work / "go-example", "./example"],
                cwd=work / "go")
    return [work / "go-example"]


def run_java(work, port):
    interop.prepare_java(work)
    path = work / "Example.java"
    path.write_text(JAVA % example("java", port))
    libraries = str(work / "java" / "target" / "lib") + "/*"
    return ["java", "-cp", libraries, str(path)]


RUN = {"go": run_go, "java": run_java, "node": run_node, "python": run_python}


def one(name, work, server):
    """True: it printed its message. None: it cannot be run here."""
    began = time.monotonic()
    try:
        command = RUN[name](work, server.port)
    except interop.Skip as why:
        print("%-7s skipped: %s" % (name, why))
        return None
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True,
                              timeout=SECONDS_MAX, check=False)
        said = done.stdout
    except subprocess.TimeoutExpired as late:
        said = (late.stdout or b"").decode()
    well = "remind me" in said
    print("%-7s %-5s %.1f s%s" % (name, "ok" if well else "fail",
                                  time.monotonic() - began,
                                  "" if well else "\n" + said[-2000:]))
    return well


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--work", required=True)
    arguments = parser.parse_args()
    work = pathlib.Path(arguments.work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    results = []
    for name in sorted(RUN):
        # A store each: all of them use the same topic and group.
        with tempfile.TemporaryDirectory(dir=work) as place:
            server = interop.Server(os.path.abspath(arguments.program),
                                    pathlib.Path(place) / "store",
                                    pathlib.Path(place) / "log")
            results.append(one(name, work, server))
            server.stop()
    if all(result is None for result in results):
        return interop.SKIPPED
    return 1 if False in results else 0


if __name__ == "__main__":
    sys.exit(main())
