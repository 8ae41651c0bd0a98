"""A store on trial: what was put into it, what it answered, what it must hold.

    trial = Trial(directory, "build/hourglass", random.Random(1))
    with trial.life() as life:          # `hourglass pipe`
        life.feed_for(0.3)
        life.kill()
    trial.run_to_the_end()
    errors = trial.errors()

The program may be killed, stopped or refused as often as a test likes. In the
end the commit log must hold every acknowledged message that was not cancelled
exactly once as ready or delivered, no message twice, none that was cancelled,
none before its due time by the clock of the group it was written in; and
stdout must have shown each at least once with the body that was put.
"""

import collections
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time

PATIENCE_SECONDS = 120

# Files so small that they roll all the time.
SMALL_FILES = ["--log-segment-bytes", "256KiB", "--body-bytes-max", "64KiB",
               "--properties-bytes-max", "4KiB", "--batch-bytes-max", "64KiB",
               "--checkpoint-interval-ms", "50"]


class Failure(Exception):
    """The store did something that it must not do."""


class Profile:
    """What kind of messages are put, and how many at once."""

    def __init__(self, burst_max=40, pause_max=0.005, delay_ms_max=400,
                 topics=4, sizes=(10, 100, 1000), topic_prefix="t"):
        self.burst_max = burst_max
        self.pause_max = pause_max
        self.delay_ms_max = delay_ms_max
        self.topics = topics
        self.sizes = sizes
        self.topic_prefix = topic_prefix

    def line(self, name, rng):
        delay_ms = rng.choice((0, 1, rng.randint(1, 50),
                               rng.randint(1, self.delay_ms_max)))
        return json.dumps({
            "id": name,
            "topic": self.topic_prefix + str(rng.randrange(self.topics)),
            "body": body_of(name, rng.choice(self.sizes)),
            "delay_ms": delay_ms})


def body_of(name, size):
    """A body that says whose it is, from its first byte to its last."""
    return (name + " ") * (size // (len(name) + 1) + 1)


def read_lines(path):
    """Whole JSON lines; a kill may tear the last of each life."""
    found = []
    if not os.path.exists(path):
        return found
    with open(path, "rb") as file:
        for line in file.read().split(b"\n"):
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
    return found


class Life:
    """One run of `hourglass pipe`, from its start to its end or kill."""

    def __init__(self, trial, program, flags, environment, wrapper):
        self.trial = trial
        command = wrapper + [program, "pipe", "--data", trial.store,
                             "--acks", trial.acks_path] + flags
        self.out = open(trial.out_path, "ab")
        self.err_path = os.path.join(trial.directory, "stderr")
        self.err = open(self.err_path, "wb")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=self.out, stderr=self.err,
            env=dict(os.environ, **environment))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
        self._close()

    def put(self, lines):
        """False once nobody reads any more."""
        try:
            self.process.stdin.write(("\n".join(lines) + "\n").encode())
            self.process.stdin.flush()
            return True
        except (BrokenPipeError, ValueError, OSError):
            return False

    def put_new(self, count, **fields):
        """`count` messages with exactly these fields; returns their ids."""
        ids = list(itertools.islice(self.trial.names, count))
        self.put([json.dumps(dict({"id": i, "body": body_of(i, 100)},
                                  **fields)) for i in ids])
        return ids

    def feed_for(self, seconds, profile=None):
        """Puts messages until then, or until the program has ended."""
        rng, names = self.trial.rng, self.trial.names
        profile = profile or Profile()
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.process.poll() is None:
            count = rng.randint(1, profile.burst_max)
            if not self.put([profile.line(next(names), rng)
                             for _ in range(count)]):
                return
            time.sleep(rng.uniform(0, profile.pause_max))

    def kill_in(self, seconds, profile=None):
        """Feeds, and sends SIGKILL after `seconds`, wherever that is."""
        timer = threading.Timer(seconds, self.process.kill)
        timer.start()
        self.feed_for(seconds + 1, profile)
        timer.join()
        self.process.wait()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end_input(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass

    def stop(self):
        """SIGTERM; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self, seconds=PATIENCE_SECONDS):
        """Until it ends by itself; returns the exit code."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failure("still running after %d s" % seconds)

    def said(self):
        with open(self.err_path) as file:
            return file.read()

    def _close(self):
        self.end_input()
        self.out.close()
        self.err.close()
        # A torn last line must not swallow the first line of the next life.
        for path in (self.trial.out_path, self.trial.acks_path):
            if os.path.exists(path):
                with open(path, "ab") as file:
                    file.write(b"\n")


class LogRecords:
    """All records of the commit log that were ever seen, by offset."""

    def __init__(self):
        self.by_offset = {}

    def add(self, records):
        for record in records:
            self.by_offset[record["offset"]] = record

    def ready(self):
        """How often each id became ready."""
        return collections.Counter(
            record["id"] for record in self.by_offset.values()
            if record["kind"] in ("ready", "delivered"))

    def cancelled(self):
        """Ids that a Cancel record names."""
        places = {(r["hour"], r["number"]): r["id"]
                  for r in self.by_offset.values() if r["kind"] == "delayed"}
        return set(places.get((r["hour"], r["target"]))
                   for r in self.by_offset.values() if r["kind"] == "cancel")

    def early(self):
        return [r for r in self.by_offset.values()
                if r["kind"] == "delivered" and r["written_ms"] < r["due_ms"]]


class Trial:
    """A store's directory, and beside it all that was said about it."""

    def __init__(self, directory, program, rng, store_root=None, prefix="m"):
        self.directory = directory
        self.program = program
        self.rng = rng
        self.store = os.path.join(store_root or directory, "store")
        self.out_path = os.path.join(directory, "out.jsonl")
        self.acks_path = os.path.join(directory, "acks.jsonl")
        self.names = ("%s%07d" % (prefix, n) for n in itertools.count(1))
        self.log = LogRecords()
        self.cancel_answers = {}  # handle -> answer

    def copy_to(self, directory, rng, prefix):
        """The same store and history in another place; names go on anew."""
        shutil.copytree(self.directory, directory)
        other = Trial(directory, self.program, rng, prefix=prefix)
        other.cancel_answers = dict(self.cancel_answers)
        return other

    def life(self, flags=(), environment=None, program=None, wrapper=()):
        return Life(self, program or self.program, list(flags),
                    environment or {}, list(wrapper))

    def command(self, *arguments, program=None, environment=None, wrapper=()):
        """Another command of the program, from start to end."""
        return subprocess.run(
            list(wrapper) + [program or self.program] + list(arguments),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            stdin=subprocess.DEVNULL, timeout=PATIENCE_SECONDS,
            env=dict(os.environ, **(environment or {})))

    def exists(self):
        return os.path.exists(os.path.join(self.store, "HOURGLASS"))

    def acks(self):
        return read_lines(self.acks_path)

    def shown(self):
        return read_lines(self.out_path)

    def wait_until(self, what, condition, seconds=20):
        """Looks until `condition()` is true; a Failure if it never is."""
        until = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > until:
                raise Failure("not within %d s: %s" % (seconds, what))
            time.sleep(0.01)

    def wait_acked(self, ids, seconds=20):
        wanted = set(ids)
        self.wait_until("all acknowledged", lambda: wanted <= set(
            ack["id"] for ack in self.acks()), seconds)

    def wait_shown(self, ids, seconds=20):
        wanted = set(ids)
        self.wait_until("all shown", lambda: wanted <= set(
            message["id"] for message in self.shown()), seconds)

    def cancel_some(self, count, seconds):
        """`hourglass cancel` of some handles, killed after `seconds`."""
        handles = [ack["handle"] for ack in self.acks()[-200:]
                   if ack["handle"]]
        if not handles:
            return
        chosen = self.rng.sample(handles, min(count, len(handles)))
        process = subprocess.Popen(
            [self.program, "cancel", "--data", self.store] + chosen,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        out, _ = process.communicate()
        timer.cancel()
        for line in out.splitlines():
            handle, _, answer = line.partition(" ")
            if handle in chosen and answer == "cancelled":
                self.cancel_answers[handle] = answer

    def harvest(self):
        """Reads the commit log, before retention may take some of it."""
        done = self.command("log", self.store, "--json")
        if done.returncode != 0:
            raise Failure("hourglass log: " + done.stderr)
        self.log.add(json.loads(line) for line in done.stdout.splitlines())

    def run_to_the_end(self, flags=(), environment=None, program=None,
                       wrapper=(), messages=0):
        """Takes some more, until nothing is pending and all is shown."""
        with self.life(["--until-empty"] + list(flags), environment, program,
                       wrapper) as life:
            life.put_new(messages, delay_ms=20)
            life.end_input()
            exit_code = life.wait()
            if exit_code != 0 or life.said():
                raise Failure("the last run ended with %s: %s" %
                              (exit_code, life.said()))

    def errors(self, log_is_whole=True):
        """What the store lost, doubled, or gave out early; [] if nothing.

        Where retention took some of the log, what was shown was in it.
        """
        self.harvest()
        acks = self.acks()
        acked = set(ack["id"] for ack in acks)
        ready = self.log.ready()
        cancelled = self.log.cancelled()
        kept = acked - cancelled
        answered = set(ack["id"] for ack in acks
                       if ack["handle"] in self.cancel_answers)
        errors = ["early: %s" % record for record in self.log.early()]
        errors += self._errors_of_shown(kept)
        if log_is_whole:
            errors += ["lost: %s" % i for i in sorted(kept) if not ready[i]]
        errors += ["twice: %s" % i for i, n in sorted(ready.items()) if n > 1]
        errors += ["delivered, though cancelled: %s" % i
                   for i in sorted(cancelled | answered) if i and ready[i]]
        errors += ["a cancel was lost: %s" % i
                   for i in sorted(answered - cancelled)]
        return errors

    def unsound(self):
        """What `hourglass recover verify` finds; [] if nothing."""
        done = self.command("recover", "verify", self.store)
        if done.returncode == 0:
            return []
        return ["recover verify: " + done.stdout + done.stderr]

    def _errors_of_shown(self, kept):
        errors, seen = [], set()
        for message in self.shown():
            seen.add(message["id"])
            if not message["body"].startswith(message["id"] + " "):
                errors.append("wrong body: %s" % message["id"])
            if message["delivered_ms"] < message["due_ms"]:
                errors.append("shown early: %s" % message["id"])
        return errors + ["not shown: %s" % i for i in sorted(kept - seen)]


def list_points(program):
    """Names of the crash points that hourglass_crash knows."""
    done = subprocess.run([program, "--crash-points"], check=True,
                          stdout=subprocess.PIPE, text=True)
    return [line.split()[0] for line in done.stdout.splitlines()]


def new_directory(options):
    """For a trial; --directory says on which disk."""
    return tempfile.mkdtemp(prefix="hourglass-crash-", dir=options.directory)


def add_common_flags(parser):
    parser.add_argument("--program", required=True,
                        help="the product, build/hourglass")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--directory", help="where stores are made")


def rng_of(*parts):
    """The same parts, the same numbers."""
    return random.Random(" ".join(str(part) for part in parts))
