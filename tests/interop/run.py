#!/usr/bin/env python3
"""The official clients, unmodified, against `hourglass serve`.

    tests/interop/run.py --program build/hourglass [--client python ...]

Each client is a small program in a folder beside this file, with its client
library pinned and taken from its registry. The server runs on a free port
with an empty directory. Exit codes: 0 all is well; 1 a scenario failed; 77
nothing could be run (a tool chain or the network is missing).
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
SCENARIOS = ("normal", "delay", "recall_before", "recall_after", "past",
             "over_limit", "nack", "tag", "sql", "fifo", "push", "transaction",
             "orphan")
TLS_SCENARIOS = ("normal", "delay", "recall_before")
# Against a server that knows its users: as one of them; as another, who has
# no right to these topics; as one with a wrong secret; as nobody.
ACCESS_SCENARIOS = ("normal", "recall_before", "push", "transaction")
USERS = """
[users.tester]
secret = "secret of tester"
publish = ["*"]
subscribe = ["*"]
groups = ["group-*"]

[users.stranger]
secret = "secret of stranger"
publish = ["other-*"]
subscribe = ["other-*"]
groups = ["*"]
"""
REFUSALS = {
    "forbidden": ("stranger", "secret of stranger",
                  "user \"stranger\" may not"),
    "wrong_secret": ("tester", "secret of somebody",
                     "access key \"tester\": it is not known here, or"),
    "no_secret": (None, None, "this server expects credentials"),
}
CLIENT_SECONDS_MAX = 180
# Soon enough to be seen by a test, longer than a commit takes.
TRANSACTION_CHECK_MS = "3000"


class Skip(Exception):
    """A client cannot be built here; the text says why."""


def run(command, **options):
    """Runs a step of a build; Skip with its last words if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False,
                          **options)
    if done.returncode != 0:
        last = done.stdout.strip().splitlines()[-1:] or ["(no output)"]
        raise Skip(f"{' '.join(map(str, command[:3]))}: {last[0]}")


def need(tool):
    path = shutil.which(tool)
    if path is None:
        raise Skip(f"{tool} is not installed")
    return path


def copy_sources(name, work):
    """Builds leave files behind; the sources stay clean."""
    target = work / name
    shutil.copytree(HERE / name, target, dirs_exist_ok=True)
    return target


def prepare_python(work):
    venv = work / "python-venv"
    python = venv / "bin" / "python"
    stamp = venv / "requirements.txt"
    wanted = (HERE / "python" / "requirements.txt").read_text()
    if not stamp.exists() or stamp.read_text() != wanted:
        run([sys.executable, "-m", "venv", venv])
        run([python, "-m", "pip", "install", "-q", "-r",
             HERE / "python" / "requirements.txt"])
        stamp.write_text(wanted)
    return [python, HERE / "python" / "client.py"]


def prepare_node(work):
    need("node")
    folder = copy_sources("node", work)
    if not (folder / "node_modules").exists():
        run([need("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
            cwd=folder)
    return ["node", folder / "client.js"]


def prepare_go(work):
    folder = copy_sources("go", work)
    run([need("go"), "build", "-o", work / "go-client", "."], cwd=folder)
    return [work / "go-client"]


def prepare_java(work):
    folder = copy_sources("java", work)
    need("java")
    jar = folder / "target" / "client.jar"
    source = folder / "src" / "main" / "java" / "Client.java"
    if not jar.exists() or jar.stat().st_mtime < source.stat().st_mtime:
        run([need("mvn"), "-q", "-B", "package"], cwd=folder)
    return ["java", "-Xmx256m", "-cp", f"{jar}:{folder / 'target' / 'lib'}/*",
            "Client"]


PREPARE = {"python": prepare_python, "node": prepare_node, "go": prepare_go,
           "java": prepare_java}


class Server:
    """`hourglass serve` on a free port."""

    def __init__(self, program, data, log, *flags, environment=None):
        self.data = data
        self.log = open(log, "wb")
        self.process = subprocess.Popen(
            [program, "serve", "--data", data, "--listen", "127.0.0.1:0",
             "--admin", "127.0.0.1:0", *flags,
             "--transaction-check-ms", TRANSACTION_CHECK_MS],
            stdout=subprocess.PIPE, stderr=self.log, text=True,
            env={**os.environ, **(environment or {})})
        self.port = self.wait_for_port()
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def wait_for_port(self):
        for line in self.process.stdout:
            if "listening on" in line:
                return int(line.split("listening on ")[1].split()[0]
                           .rsplit(":", 1)[1])
        raise RuntimeError("the server did not start; see its log")

    def stop(self):
        """True if it ended well, and soon."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(15) == 0
        except subprocess.TimeoutExpired:
            self.process.kill()
            return False


def run_client(command, server, mode, names, log, key=None, secret=None,
               home=None):
    """Rows of (scenario, result, ms, note); what is missing has failed."""
    environment = dict(os.environ)
    if home is not None:
        environment["HOME"] = str(home)
    if key is not None:
        environment["HOURGLASS_KEY"] = key
        environment["HOURGLASS_SECRET"] = secret
    certificate = str(server.data / "tls" / "server.pem")
    if mode == "tls":
        # For the two clients that check certificates.
        environment["GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"] = certificate
        environment["NODE_EXTRA_CA_CERTS"] = certificate
    # TLS needs a name that the certificate has; clients check addresses, too.
    endpoint = f"127.0.0.1:{server.port}"
    with open(log, "ab") as err:
        try:
            done = subprocess.run(
                [*command, endpoint, mode, ",".join(names)], stderr=err,
                stdout=subprocess.PIPE, text=True, env=environment,
                timeout=CLIENT_SECONDS_MAX, check=False)
            out, end = done.stdout, f"exit code {done.returncode}"
        except subprocess.TimeoutExpired as late:
            out = (late.stdout or b"").decode()
            end = f"nothing in {CLIENT_SECONDS_MAX} s"
    rows = {}
    for line in out.splitlines():
        if line.startswith("RESULT "):
            _, name, result, ms, *note = line.split(" ", 4)
            rows[name] = (name, result, ms, note[0] if note else "")
    return [rows.get(name, (name, "fail", "-", end)) for name in names]


def run_refused(command, server, log):
    """A client that must not come in, and must be told why."""
    for name, (key, secret, sentence) in REFUSALS.items():
        log.unlink(missing_ok=True)
        began = time.time()
        with tempfile.TemporaryDirectory(dir=log.parent) as home:
            row = run_client(command, server, "plaintext", ["normal"], log,
                             key, secret, home)[0]
            # Python's error has no reason; its own log has.
            logs = [log, *pathlib.Path(home).rglob("*.log")]
            said = "".join(one.read_text(errors="replace") for one in logs)
        told = sentence in (row[3] + said).replace("\\", "")
        well = row[1] == "fail" and told
        note = "told why" if told else f"not told why: {row[3]}"
        yield (name, "ok" if well else "fail",
               int(1000 * (time.time() - began)), note)


def run_access(client, command, server, work, only):
    """One client against the server that knows its users."""
    names = [name for name in ACCESS_SCENARIOS
             if not only or f"access_{name}" in only]
    rows = run_client(command, server, "plaintext", names,
                      work / f"{client}.log", "tester", "secret of tester"
                      ) if names else []
    if not only or "refused" in only:
        rows += run_refused(command, server, work / f"{client}-refused.log")
    table = [(client, "access", *row) for row in rows]
    print("\n".join("%-7s %-9s %-14s %-5s %6s ms  %s" % row for row in table),
          flush=True)
    return table


def run_modes(client, command, server, work, only):
    """Both modes of one client, one after the other; prints as it goes."""
    table = []
    for mode, names in (("plaintext", SCENARIOS), ("tls", TLS_SCENARIOS)):
        names = [name for name in names if not only or name in only]
        if not names:
            continue
        rows = run_client(command, server, mode, names, work / f"{client}.log")
        table += [(client, mode, *row) for row in rows]
    print("\n".join("%-7s %-9s %-14s %-5s %6s ms  %s" % row for row in table),
          flush=True)
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--client", action="append", choices=sorted(PREPARE))
    parser.add_argument("--work", help="where clients are built and kept")
    parser.add_argument("--scenario", action="append")
    arguments = parser.parse_args()
    work = pathlib.Path(arguments.work or "build/interop").resolve()
    work.mkdir(parents=True, exist_ok=True)
    data = pathlib.Path(tempfile.mkdtemp(prefix="data-", dir=work))

    commands, skipped = {}, {}
    for name in arguments.client or sorted(PREPARE):
        try:
            commands[name] = PREPARE[name](work)
        except Skip as why:
            skipped[name] = str(why)
    table, stopped_well = [], True
    if commands:
        users = data / "access.toml"
        users.write_text(USERS)
        users.chmod(0o600)
        server = Server(arguments.program, data / "open", work / "server.log")
        guarded = Server(arguments.program, data / "guarded",
                         work / "guarded.log", "--access-file", users)
        try:
            # All clients at once: each mostly waits for what is due.
            with concurrent.futures.ThreadPoolExecutor() as threads:
                runs = [threads.submit(run_modes, name, command, server, work,
                                       arguments.scenario)
                        for name, command in commands.items()]
                runs += [threads.submit(run_access, name, command, guarded,
                                        work, arguments.scenario)
                         for name, command in commands.items()]
                for one in concurrent.futures.as_completed(runs):
                    table += one.result()
        finally:
            stopped_well = server.stop() and guarded.stop()
    for name, why in skipped.items():
        print(f"{name}: skipped: {why}")
    if not stopped_well:
        print(f"the server did not stop well; see {work / 'server.log'}")
    shutil.rmtree(data, ignore_errors=True)
    failed = [row for row in table if row[3] != "ok"]
    print(f"{len(table) - len(failed)} of {len(table)} scenarios are well")
    if failed or not stopped_well:
        return 1
    return 0 if table else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
