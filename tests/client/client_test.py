"""The commands that speak to a server, against a real `hourglass serve`.

    python3 tests/client/client_test.py --program build/hourglass
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 30


def demand(condition, *what):
    if not condition:
        raise SystemExit("FAILED: " + " ".join(str(each) for each in what))


class Server:
    """`hourglass serve` on free ports, with its log as JSON in a file."""

    def __init__(self, program, directory):
        self.data = os.path.join(directory, "data")
        self.log_path = os.path.join(directory, "log")
        self.log = open(self.log_path, "wb")
        self.process = subprocess.Popen(
            [program, "serve", "--data", self.data,
             "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
             "--log-format", "json", "--log-level", "debug"],
            stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.endpoint = self.said(r"listening on (\S+)")
        self.admin = self.said(r"metrics at (\S+)")

    def said(self, pattern):
        for line in self.process.stdout:
            found = re.search(pattern, line)
            if found:
                return found.group(1)
        raise SystemExit("FAILED: serve ended: " + open(self.log_path).read())

    def stop(self):
        self.process.terminate()
        demand(self.process.wait(PATIENCE_S) == 0, "serve did not end well")

    def events(self):
        with open(self.log_path) as lines:
            return [json.loads(line) for line in lines]


class Client:
    """Runs commands, and says what they wrote."""

    def __init__(self, program, server):
        self.program = program
        self.environment = dict(os.environ, HOURGLASS_ENDPOINT=server.endpoint,
                                HOURGLASS_ADMIN=server.admin)

    def run(self, *arguments, code=0, stdin=""):
        done = subprocess.run([self.program, *arguments], input=stdin,
                              capture_output=True, text=True,
                              env=self.environment, timeout=PATIENCE_S)
        demand(done.returncode == code, arguments, "ended with",
               done.returncode, "instead of", code, done.stdout, done.stderr)
        self.err = done.stderr
        return done.stdout

    def lines(self, *arguments, **more):
        out = self.run(*arguments, "--json", **more)
        return [json.loads(line) for line in out.splitlines()]


def a_message_comes_at_its_time(client):
    begin_ms = time.time() * 1000
    sent, = client.lines("send", "tea", "tea is ready", "--in", "2s", "--id",
                         "T1", "--tag", "hot", "--property", "cup=2")
    demand(sent["id"] == "T1" and sent["handle"], sent)
    got, = client.lines("receive", "tea", "--group", "g", "--wait", "20s")
    demand(got["body"] == "tea is ready" and got["tag"] == "hot", got)
    demand(got["properties"] == {"cup": "2"} and got["attempt"] == 1, got)
    demand(begin_ms + 2000 <= got["due_ms"] + 1, got, begin_ms)
    demand(0 <= got["lateness_ms"] < 5000, got)
    # It was acknowledged, so nothing is left, and it is too late to recall.
    client.run("receive", "tea", "--group", "g", "--wait", "1ms", code=1)
    answer, = client.lines("recall", "tea", sent["handle"], code=1)
    demand(answer["answer"] == "not recalled" and "too late" in answer["why"],
           answer)


def a_recalled_message_never_comes(client):
    sent, = client.lines("send", "trial", "never", "--in", "1500ms")
    answer, = client.lines("recall", "trial", sent["handle"])
    demand(answer["answer"] == "recalled", answer)
    client.run("receive", "trial", "--group", "g", "--wait", "3s", code=1)


def lines_keep_their_order(client):
    lines = "".join('{"id":"n%d","body":"%d"}\n' % (i, i) for i in range(2000))
    sent = client.lines("send", "bulk", "--group", "one", code=1,
                        stdin=lines + '{"id":"odd","body":""}\n')
    demand([each["id"] for each in sent] == ["n%d" % i for i in range(2000)],
           "answers in order")
    demand("line 2001: refused" in client.err, client.err)
    got = []
    for count in (1, 7, 1992):
        got += client.lines("receive", "bulk", "--group", "g", "--max",
                            str(count))
    demand([each["body"] for each in got] == [str(i) for i in range(2000)],
           "messages in order", len(got))


def what_is_not_acknowledged_comes_again(client):
    client.run("send", "again", "x")
    for attempt in (1, 2):
        flags = ["--no-ack", "--invisible", "1s"] if attempt == 1 else []
        got, = client.lines("receive", "again", "--group", "g", *flags)
        demand(got["attempt"] == attempt, got)


def operators_see_it(client):
    client.run("send", "later", "x", "--in", "30s")
    topics = {each["topic"]: each for each in client.lines("topics")}
    demand(topics["bulk"]["next"] == 2000 and topics["bulk"]["lag"] == 0,
           topics)
    demand(topics["later"]["due_10m"] == 1, topics)
    groups = {each["topic"]: each for each in client.lines("groups")}
    demand(groups["bulk"]["next"] == 2000, groups)
    demand("bulk" in client.run("topics"), "topics as text")
    demand("LAG" in client.run("groups"), "groups as text")
    look, = client.lines("top", "--once", "--interval", "200ms")
    demand(look["up"] and look["pending"] == 1, look)
    demand(sum(look["due_seconds"]) == 1 and look["put_per_s"] == 0, look)
    demand("due in the next 60 seconds: 1" in
           client.run("top", "--once", "--interval", "200ms"), "top as text")


def tls_is_spoken_with_the_servers_certificate(client, server):
    pem = os.path.join(server.data, "tls", "server.pem")
    client.run("send", "sealed", "x", "--tls-ca", pem)
    got, = client.lines("receive", "sealed", "--group", "g", "--tls-ca", pem)
    demand(got["body"] == "x", got)


def a_follower_stops_when_told(client):
    follower = subprocess.Popen(
        [client.program, "receive", "stream", "--group", "g", "--follow",
         "--json"], stdout=subprocess.PIPE, text=True, env=client.environment)
    client.run("send", "stream", "x")
    demand(json.loads(follower.stdout.readline())["body"] == "x", "followed")
    follower.send_signal(signal.SIGINT)
    demand(follower.wait(PATIENCE_S) == 0, "ended well")
    client.run("receive", "stream", "--group", "g", "--wait", "1ms", code=1)


def nothing_waits_for_ever(client, server):
    server.process.send_signal(signal.SIGSTOP)
    try:
        begin = time.monotonic()
        client.run("send", "t", "x", "--timeout", "1s", code=2)
        demand("may not have been stored" in client.err, client.err)
        client.run("receive", "t", "--group", "g", "--wait", "1s",
                   "--timeout", "1s", code=2)
        client.run("topics", "--timeout", "1s", code=2)
        demand(time.monotonic() - begin < 15, "it took too long")
    finally:
        server.process.send_signal(signal.SIGCONT)


def a_server_that_is_gone_is_named(client, server):
    for command in (["send", "t", "x"], ["receive", "t", "--group", "g"],
                    ["recall", "t", "x"]):
        client.run(*command, code=2)
        demand(server.endpoint in client.err, client.err)
        demand("hourglass serve" in client.err, client.err)
    for command in ("topics", "groups", "top"):
        client.run(command, code=2)
        demand(server.admin.strip("/") in client.err, client.err)


def the_server_said_what_happened(server):
    events = server.events()
    names = [event["event"] for event in events]
    for name in ("started", "listening", "topic_new", "client_connected",
                 "client_gone", "call_refused", "stopping", "stopped"):
        demand(name in names, "no event", name, "in", set(names))
    demand(names[0] == "started" and names[-1] == "stopped", names)
    refused = [e for e in events if e["event"] == "call_refused"]
    demand(any(e["call"] == "SendMessage" and
               e["code"] == "MESSAGE_BODY_EMPTY" and
               e["client"].startswith("hourglass-") for e in refused), refused)
    demand(all(re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", e["time"])
               for e in events), "times")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True)
    program = os.path.abspath(parser.parse_args().program)
    directory = tempfile.mkdtemp(prefix="hourglass-client-")
    server = Server(program, directory)
    try:
        client = Client(program, server)
        a_message_comes_at_its_time(client)
        a_recalled_message_never_comes(client)
        lines_keep_their_order(client)
        what_is_not_acknowledged_comes_again(client)
        operators_see_it(client)
        tls_is_spoken_with_the_servers_certificate(client, server)
        a_follower_stops_when_told(client)
        nothing_waits_for_ever(client, server)
        server.stop()
        a_server_that_is_gone_is_named(client, server)
        the_server_said_what_happened(server)
    finally:
        if server.process.poll() is None:
            server.process.kill()
    shutil.rmtree(directory)
    print("ok")


if __name__ == "__main__":
    sys.exit(main())
