#!/usr/bin/env python3
"""What operators are given agrees with the program.

    tests/operations/operations_test.py --program build/hourglass

- every metric of the dashboard and of the alarms is one that is exported,
- every alarm has a section in docs/operations.md, and the other way round,
- the table of options there is what --help says,
- the settings file of the package is one that the program takes.
"""

import argparse
import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
METRIC = re.compile(r"\bhourglass_[a-z_]+")
START_SECONDS = 30


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """The program, as the package's settings start it, elsewhere."""

    def __init__(self, program):
        self.dir = tempfile.TemporaryDirectory(prefix="hourglass-operations-")
        self.admin = "127.0.0.1:%d" % free_port()
        settings = os.path.join(self.dir.name, "hourglass.toml")
        text = read("packaging", "hourglass.toml")
        text = text.replace("/var/lib/hourglass", self.dir.name + "/store")
        text = text.replace("127.0.0.1:8081", "127.0.0.1:0")
        text = text.replace("127.0.0.1:8082", self.admin)
        with open(settings, "w", encoding="utf-8") as file:
            file.write(text)
        self.process = subprocess.Popen(
            [program, "serve", "--config", settings],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def get(self, path):
        with urllib.request.urlopen("http://" + self.admin + path,
                                    timeout=5) as answer:
            return answer.read().decode()

    def post(self, path, body):
        request = urllib.request.Request(
            "http://" + self.admin + path, data=body.encode(), method="POST")
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.read().decode()

    def wait_ready(self):
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                return self.get("/readyz")
            except OSError as error:
                if self.process.poll() is not None:
                    raise RuntimeError(self.process.stderr.read()) from error
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def stop(self):
        self.process.terminate()
        said = self.process.communicate(timeout=START_SECONDS)[1]
        self.dir.cleanup()
        return self.process.returncode, said


def exported(program):
    """The names of all metrics: a message has been through, for each kind."""
    server = Server(program)
    try:
        server.wait_ready()
        server.post("/v1/messages", '{"topic":"orders","body":"x"}')
        found = set(METRIC.findall(server.get("/metrics")))
    finally:
        code, said = server.stop()
    if code != 0:
        raise RuntimeError("ended with %d: %s" % (code, said))
    return found


def metric_errors(program):
    known = exported(program)
    # Groups have theirs once there is one.
    known |= {"hourglass_group_lag_messages", "hourglass_group_leased_messages"}
    panels = json.loads(read("packaging", "grafana.json"))["panels"]
    asked = [("the panel " + panel["title"], target["expr"])
             for panel in panels for target in panel["targets"]]
    for rule in rules():
        asked.append(("the alarm " + rule[0], rule[1]))
    for place, expression in asked:
        names = set(METRIC.findall(expression))
        if not names and place != "the alarm HourglassDown":
            yield "%s asks for no metric: %s" % (place, expression)
        for name in sorted(names - known):
            yield "%s asks for %s, which is not exported" % (place, name)


def rules():
    """(name, all of its text) of each alarm."""
    parts = re.split(r"\n\s+- alert: ", read("packaging", "alerts.yml"))[1:]
    return [(part.split("\n", 1)[0], part) for part in parts]


def alarm_errors():
    page = read("docs", "operations.md").split("\n## Alarms\n")[1]
    described = set(name for line in re.findall(r"\n### (.*)", page)
                    for name in line.split(", "))
    alarms = set(name for name, _ in rules())
    for name in sorted(alarms - described):
        yield "docs/operations.md does not say what to do on " + name
    for name in sorted(described - alarms):
        yield "docs/operations.md has %s, which alerts.yml has not" % name


def option_errors(program):
    path = os.path.join(ROOT, "tools", "options_table.py")
    spec = importlib.util.spec_from_file_location("options_table", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    page = read("docs", "operations.md")
    if tool.page_with(tool.table(program), page) != page:
        yield ("the options in docs/operations.md are not those of --help; "
               "run tools/options_table.py build/hourglass --update")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    program = os.path.abspath(parser.parse_args().program)
    errors = [*metric_errors(program), *alarm_errors(),
              *option_errors(program)]
    for error in errors:
        print("FAILED   " + error)
    if not errors:
        print("ok       dashboard, alarms, options and settings agree")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
