"""Servers for a load: Hourglass, and Apache RocketMQ 5 from its own jars.

    with Hourglass("build/hourglass", directory, "sync") as server:
        server.endpoint                  # for clients
        server.cpu_seconds(), server.rss_mib()
        server.kill(); server.start()    # again, on the same directory

CPU and memory are those of the server's processes, by /proc.
"""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time
import urllib.request

START_SECONDS_MAX = 120
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def cpu_of(pid):
    """Seconds of CPU that a process has used."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def cpu_of_all():
    """Seconds of CPU that the machine has been busy."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, softirq, steal = (
            int(field) for field in file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICKS


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port, process, log):
    end = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"nothing listens on port {port}; see {log}")


class Server:
    """What both have in common. `processes` are all that serve."""

    slow_start = 1  # how much longer than others it warms up

    def __init__(self, directory):
        self.directory = pathlib.Path(directory).resolve()
        self.directory.mkdir(parents=True, exist_ok=True)
        self.processes = []
        self.port = free_port()

    @property
    def endpoint(self):
        return f"127.0.0.1:{self.port}"

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def cpu_seconds(self):
        return sum(cpu_of(process.pid) for process in self.processes)

    def rss_mib(self):
        total = 0
        for process in self.processes:
            with open(f"/proc/{process.pid}/statm", encoding="ascii") as file:
                total += int(file.read().split()[1]) * PAGE
        return total / 2**20

    def open_files(self):
        return sum(len(os.listdir(f"/proc/{process.pid}/fd"))
                   for process in self.processes)

    def run(self, command, name, **options):
        log = open(self.directory / f"{name}.log", "ab")
        with log:
            process = subprocess.Popen([str(part) for part in command],
                                       stdout=log, stderr=log, **options)
        self.processes.append(process)
        return process

    def stop(self):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in reversed(self.processes):
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes = []


class Hourglass(Server):
    """`hourglass serve`."""

    def __init__(self, program, directory, sync="sync", flags=()):
        super().__init__(directory)
        self.program, self.sync, self.flags = program, sync, list(flags)
        self.admin_port = free_port()
        self.data = self.directory / "data"

    def start(self, wait=True):
        process = self.run(
            [self.program, "serve", "--data", self.data, "--sync", self.sync,
             "--listen", self.endpoint,
             "--admin", f"127.0.0.1:{self.admin_port}", *self.flags],
            "hourglass")
        if wait:
            wait_for_port(self.port, process, self.directory)

    def kill(self):
        for process in self.processes:
            process.kill()
            process.wait()
        self.processes = []

    def add_topic(self, topic, delayed=True):
        """Topics are there when they are used."""

    def metrics(self):
        url = f"http://127.0.0.1:{self.admin_port}/metrics"
        with urllib.request.urlopen(url, timeout=10) as answer:
            page = answer.read().decode()
        return {name: float(value) for name, value in
                re.findall(r"^(\w+(?:\{[^}]*\})?) (\S+)$", page, re.M)}

    def log_lateness(self, before, after):
        """(p50, p99, max) as texts "≤ 5 ms" from the histogram's buckets."""
        key = "hourglass_lateness_seconds_bucket"
        buckets = []
        for name, value in after.items():
            if name.startswith(key):
                limit = re.search(r'le="([^"]+)"', name).group(1)
                buckets.append((float(limit), value - before.get(name, 0)))
        buckets.sort()
        count = buckets[-1][1] if buckets else 0
        if count == 0:
            return None
        def of(share):
            for limit, below in buckets:
                if below >= share * count:
                    return limit * 1000
            return float("inf")
        return {"p50_ms_max": of(0.5), "p99_ms_max": of(0.99),
                "max_ms_max": of(1.0)}


# The JVM of RocketMQ 5 needs these since Java 9, as its own scripts say.
JAVA_OPENS = ["--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
              "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
              "--add-opens=java.base/java.nio=ALL-UNNAMED",
              "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED"]


class RocketMq(Server):
    """A name server, and a broker with the proxy in one process.

    That is the proxy's LOCAL mode: no call goes between proxy and broker over
    the network, which is the cheapest of RocketMQ's ways to be deployed.
    """

    slow_start = 10

    def __init__(self, jars, directory, flush="SYNC_FLUSH", precision_ms=1000,
                 heap="4g"):
        super().__init__(directory)
        self.jars, self.flush, self.heap = jars, flush, heap
        self.precision_ms = precision_ms
        self.name_port, self.broker_port = free_port(), free_port()
        self.remoting_port = free_port()
        self.name_server = None

    def java(self, main, arguments, *flags):
        return ["java", *JAVA_OPENS, *flags, f"-Duser.home={self.directory}",
                "-cp", f"{self.jars}/*", main, *arguments]

    def environment(self):
        return dict(os.environ, ROCKETMQ_HOME=str(self.directory),
                    NAMESRV_ADDR=f"127.0.0.1:{self.name_port}")

    def write_files(self):
        conf = self.directory / "conf"
        conf.mkdir(exist_ok=True)
        (conf / "namesrv.conf").write_text(f"listenPort={self.name_port}\n")
        (conf / "broker.conf").write_text(
            "brokerClusterName=DefaultCluster\nbrokerName=broker-a\n"
            "brokerId=0\nbrokerIP1=127.0.0.1\n"
            f"listenPort={self.broker_port}\n"
            f"namesrvAddr=127.0.0.1:{self.name_port}\n"
            f"storePathRootDir={self.directory}/store\n"
            f"flushDiskType={self.flush}\n"
            "timerWheelEnable=true\n"
            f"timerPrecisionMs={self.precision_ms}\n")
        (conf / "rmq-proxy.json").write_text(json.dumps({
            "rocketMQClusterName": "DefaultCluster", "proxyMode": "LOCAL",
            "namesrvAddr": f"127.0.0.1:{self.name_port}",
            "grpcServerPort": self.port,
            "remotingListenPort": self.remoting_port}))
        return conf

    def start(self, wait=True):
        conf = self.write_files()
        if self.name_server is None or self.name_server.poll() is not None:
            self.name_server = self.run(
                self.java("org.apache.rocketmq.namesrv.NamesrvStartup",
                          ["-c", str(conf / "namesrv.conf")],
                          "-Xms256m", "-Xmx256m"),
                "namesrv", env=self.environment())
            wait_for_port(self.name_port, self.name_server, self.directory)
        process = self.run(
            self.java("org.apache.rocketmq.proxy.ProxyStartup",
                      ["-pm", "local", "-bc", str(conf / "broker.conf"),
                       "-pc", str(conf / "rmq-proxy.json")],
                      f"-Xms{self.heap}", f"-Xmx{self.heap}", "-XX:+UseG1GC",
                      "-XX:MaxDirectMemorySize=4g"),
            "broker", env=self.environment())
        if wait:
            wait_for_port(self.port, process, self.directory)

    def kill(self):
        """The broker with its proxy; the name server lives on."""
        broker = self.processes.pop()
        broker.kill()
        broker.wait()

    def add_topic(self, topic, delayed=True):
        """A topic takes messages with a due time, or those without."""
        kind = "DELAY" if delayed else "NORMAL"
        end = time.monotonic() + START_SECONDS_MAX
        while True:
            done = subprocess.run(
                self.java("org.apache.rocketmq.tools.command.MQAdminStartup",
                          ["updateTopic", "-n", f"127.0.0.1:{self.name_port}",
                           "-c", "DefaultCluster", "-t", topic,
                           "-r", "8", "-w", "8", "-a", f"+message.type={kind}"],
                          "-Xmx256m"),
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                env=self.environment(), check=False)
            if "success" in done.stdout:
                time.sleep(2)  # until the proxy's route cache knows it
                return
            if time.monotonic() > end:
                raise RuntimeError(f"topic {topic}: {done.stdout[-500:]}")
            time.sleep(1)
