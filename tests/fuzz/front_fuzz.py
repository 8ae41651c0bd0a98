#!/usr/bin/env python3
"""Throws malformed calls at a real `hourglass serve`, and watches it.

    tests/fuzz/front_fuzz.py --program build/hourglass --seconds 60 --seed 1

Needs Python's official client, whose protobuf classes say what a call looks
like: with --work DIR it is installed there, as tests/interop/run.py does; exit
code 77 without it.

Each round takes one kind of attack from the list at the end. After every
round an honest producer and consumer must get their message through. At the
end: the same process, exit code 0, files and memory back to what they were,
a sound store. A failure prints the seed that replays it.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import socket
import ssl
import subprocess
import sys
import tempfile
import time

SKIPPED = 77


def with_client(work):
    """Starts this script again with the Python that has the client."""
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "interop"))
    import run as interop  # pylint: disable=import-outside-toplevel
    python = str(interop.prepare_python(pathlib.Path(work))[0])
    os.execv(python, [python, *sys.argv])


try:
    import grpc
    from google.protobuf.message import DecodeError
    from rocketmq.grpc_protocol import service_pb2
except ImportError as missing:
    try:
        if "--work" in sys.argv and "python-venv" not in sys.executable:
            with_client(sys.argv[sys.argv.index("--work") + 1])
    except Exception as error:  # pylint: disable=broad-except
        missing = error
    print("SKIPPED: %s" % missing)
    sys.exit(SKIPPED)

SERVICE = "/apache.rocketmq.v2.MessagingService/"
REQUEST_BYTES_MAX = 1 << 20
ROUND_SECONDS_MAX = 20
# Python's channels and what the server's allocator keeps.
GROWTH_BYTES_MAX = 256 << 20
GROWTH_FILES_MAX = 20
STRINGS = ["", "a", "orders", "%DLQ%g", "../../etc/passwd", "a" * 300,
           "\x00", "topic with spaces", "ü" * 100, "x" * 70_000, "TAGS in ("]
NUMBERS = [0, 1, -1, 2, 7, 1023, 1 << 31, (1 << 31) - 1, -(1 << 31),
           (1 << 63) - 1, -(1 << 63), 253402300800, 1795000000]
UNARY = ["QueryRoute", "Heartbeat", "SendMessage", "QueryAssignment",
         "AckMessage", "ForwardMessageToDeadLetterQueue", "EndTransaction",
         "NotifyClientTermination", "ChangeInvisibleDuration", "RecallMessage"]
REQUEST_OF = {name: getattr(service_pb2, name + "Request") for name in UNARY}
REQUEST_OF["ReceiveMessage"] = service_pb2.ReceiveMessageRequest
REQUEST_OF["Telemetry"] = service_pb2.TelemetryCommand


class Failure(Exception):
    """The server did what it must not do."""


class Server:
    def __init__(self, program, directory):
        self.data = os.path.join(directory, "store")
        self.program = program
        self.log = open(os.path.join(directory, "log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [program, "serve", "--data", self.data, "--listen", "127.0.0.1:0",
             "--admin", "none", "--handshake-ms", "500",
             "--request-bytes-max", str(REQUEST_BYTES_MAX),
             "--long-poll-ms-max", "2000",
             "--body-bytes-max", str(REQUEST_BYTES_MAX // 2),
             "--connections-max", "300"],
            stdout=subprocess.PIPE, stderr=self.log, text=True)
        for line in self.process.stdout:
            if "listening on" in line:
                self.port = int(line.split("listening on ")[1].split()[0]
                                .rsplit(":", 1)[1])
                break
        else:
            raise Failure("it did not start: " + self.said())
        self.target = "127.0.0.1:%d" % self.port

    def said(self):
        self.log.seek(0)
        return self.log.read()[-2000:]

    def alive(self):
        return self.process.poll() is None

    def memory_bytes(self):
        with open("/proc/%d/statm" % self.process.pid, encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def files(self):
        return len(os.listdir("/proc/%d/fd" % self.process.pid))

    def stop(self):
        self.process.terminate()
        try:
            code = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failure("it did not stop within 30 s") from None
        if code != 0:
            raise Failure("it ended with %d: %s" % (code, self.said()))
        done = subprocess.run([self.program, "recover", "verify", self.data],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failure("the store is not sound: " + done.stdout)


# --- messages -----------------------------------------------------------------


def random_value(rng, field, depth):
    kind = field.cpp_type
    if kind == field.CPPTYPE_MESSAGE:
        message = field.message_type._concrete_class()
        fill(rng, message, depth + 1)
        return message
    if kind == field.CPPTYPE_STRING:
        text = rng.choice(STRINGS)
        return text.encode() if field.type == field.TYPE_BYTES else text
    if kind == field.CPPTYPE_BOOL:
        return rng.random() < 0.5
    if kind == field.CPPTYPE_ENUM:
        return rng.choice([v.number for v in field.enum_type.values] + [99])
    if kind in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return rng.choice([0.0, -1.0, float("nan"), float("inf"), 1e300])
    bits = 32 if kind in (field.CPPTYPE_INT32, field.CPPTYPE_UINT32) else 64
    unsigned = kind in (field.CPPTYPE_UINT32, field.CPPTYPE_UINT64)
    number = rng.choice(NUMBERS) & ((1 << bits) - 1)
    return number if unsigned or number < 1 << bits - 1 else number - (1 << bits)


def fill(rng, message, depth=0):
    """Absurd values in a random part of the fields."""
    for field in message.DESCRIPTOR.fields:
        if depth > 6 or rng.random() < 0.35:
            continue
        if field.message_type and field.message_type.GetOptions().map_entry:
            key, value = field.message_type.fields
            for _ in range(rng.choice([1, 3, 200])):
                made = random_value(rng, value, depth)
                where = getattr(message, field.name)
                name = random_value(rng, key, depth) or str(rng.random())
                if field.message_type.fields[1].message_type:
                    where[name].CopyFrom(made)
                else:
                    where[name] = made
        elif field.is_repeated:
            for _ in range(rng.choice([0, 1, 1, 2, 40])):
                made = random_value(rng, field, depth)
                where = getattr(message, field.name)
                where.add().CopyFrom(made) if field.message_type else \
                    where.append(made)
        elif field.message_type:
            getattr(message, field.name).CopyFrom(
                random_value(rng, field, depth))
        else:
            setattr(message, field.name, random_value(rng, field, depth))
    return message


def honest_send(topic, message_id, body=b"honest"):
    request = service_pb2.SendMessageRequest()
    message = request.messages.add()
    message.topic.name = topic
    message.system_properties.message_id = message_id
    message.body = body
    return request


def mutated(rng, data):
    data = bytearray(data or b"\x00")
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(data) or 1)
        how = rng.randrange(4)
        if how == 0 and data:
            data[at % len(data)] ^= 1 << rng.randrange(8)
        elif how == 1:
            data[at:at] = rng.randbytes(rng.choice([1, 4, 100]))
        elif how == 2:
            del data[at:at + rng.choice([1, 5, 50])]
        else:
            data[at:at] = b"\xff" * 9 + b"\x01"  # the longest varint
    return bytes(data)


def random_request(rng, name):
    request = fill(rng, REQUEST_OF[name]())
    data = request.SerializeToString()
    how = rng.randrange(4)
    if how == 0:
        return rng.randbytes(rng.choice([0, 1, 10, 1000, 100_000]))
    if how == 1:
        return mutated(rng, data)
    return data


METADATA = ["x-mq-client-id", "x-mq-language", "x-mq-client-version",
            "x-mq-protocol", "x-mq-date-time", "authorization",
            "x-mq-namespace", "x-mq-request-id"]


def random_metadata(rng):
    return [(name, rng.choice(["", "1", "fuzz", "x" * 2000, "JAVA",
                               "MQv2-HMAC-SHA1 Credential=, Signature=zz"]))
            for name in METADATA if rng.random() < 0.6]


# --- attacks ------------------------------------------------------------------


def calls(rng, server, said):
    """Random requests for random calls."""
    with grpc.insecure_channel(server.target) as channel:
        for _ in range(60):
            name = rng.choice(UNARY)
            stub = channel.unary_unary(SERVICE + name)
            try:
                answer = stub(random_request(rng, name), timeout=5,
                              metadata=random_metadata(rng))
                said["answered"] += 1
                check_answer(name, answer)
            except grpc.RpcError as error:
                said[error.code().name] += 1


def check_answer(name, data):
    try:
        getattr(service_pb2, name + "Response").FromString(data)
    except DecodeError as error:
        raise Failure("the answer to %s is malformed" % name) from error


def streams(rng, server, said):
    """Streams that say nonsense, wait, are cancelled, or left half open."""
    channel = grpc.insecure_channel(server.target)
    opened = []
    for _ in range(20):
        if rng.random() < 0.5:
            stub = channel.unary_stream(SERVICE + "ReceiveMessage")
            opened.append(stub(random_request(rng, "ReceiveMessage"),
                               timeout=rng.choice([0.05, 1, 3]),
                               metadata=random_metadata(rng)))
        else:
            stub = channel.stream_stream(SERVICE + "Telemetry")
            said_first = [random_request(rng, "Telemetry")
                          for _ in range(rng.choice([0, 1, 5]))]
            opened.append(stub(iter(said_first), timeout=rng.choice([0.2, 2]),
                               metadata=random_metadata(rng)))
    for call in opened:
        if rng.random() < 0.5:
            call.cancel()
            said["cancelled"] += 1
            continue
        try:
            said["streamed"] += sum(1 for _ in call)
        except grpc.RpcError as error:
            said[error.code().name] += 1
    channel.close()


def unknown_calls(rng, server, said):
    with grpc.insecure_channel(server.target) as channel:
        for path in ("/", "//", SERVICE + "PullMessage", "/a/b",
                     SERVICE + "x" * 5000):
            try:
                channel.unary_unary(path)(rng.randbytes(10), timeout=5)
                raise Failure("%r was answered" % path[:40])
            except grpc.RpcError as error:
                said[error.code().name] += 1


def too_large(rng, server, said):
    """Over the limit of one call: refused, without being read."""
    options = [("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(server.target, options) as channel:
        for size in (REQUEST_BYTES_MAX + 1, 4 * REQUEST_BYTES_MAX):
            body = rng.randbytes(1000) * (size // 1000 + 1)
            request = honest_send("fuzz", "large", body)
            try:
                channel.unary_unary(SERVICE + "SendMessage")(
                    request.SerializeToString(), timeout=10)
                raise Failure("%d bytes were taken" % size)
            except grpc.RpcError as error:
                said[error.code().name] += 1


def connect(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=5)


def garbage(rng, server, said):
    """Bytes that are no protocol, or the beginning of one."""
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    frame = lambda kind, flags, stream, data: (
        len(data).to_bytes(3, "big") + bytes([kind, flags]) +
        stream.to_bytes(4, "big") + data)
    begins = [b"", b"\x16\x03\x01", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
              b"GET / HTTP/1.1\r\n\r\n", preface[:5], preface,
              preface + frame(4, 0, 0, b"")]
    for _ in range(20):
        with connect(server) as peer:
            data = rng.choice(begins)
            for _ in range(rng.choice([0, 1, 5, 50])):
                data += frame(rng.randrange(12), rng.randrange(256),
                              rng.choice([0, 1, 3, 2, (1 << 31) - 1]),
                              rng.randbytes(rng.choice([0, 1, 9, 200])))
            if rng.random() < 0.5:
                data = data[:rng.randrange(len(data) + 1)]
            try:
                peer.sendall(data)
                if rng.random() < 0.5:
                    peer.shutdown(socket.SHUT_WR)
                    peer.recv(1000)
            except OSError:
                said["connection refused or reset"] += 1
    said["garbage"] += 20


def silent(rng, server, said):
    """Connections that say nothing: closed by the server, soon."""
    peers = [connect(server) for _ in range(50)]
    # A TLS handshake that is never finished, too.
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for peer in peers[:25]:
        wrapped = context.wrap_bio(ssl.MemoryBIO(), out := ssl.MemoryBIO())
        try:
            wrapped.do_handshake()
        except ssl.SSLWantReadError:
            hello = out.read()
        peer.sendall(hello[:rng.randrange(1, len(hello))])
    deadline = time.monotonic() + ROUND_SECONDS_MAX
    for peer in peers[25:]:
        peer.settimeout(max(0.1, deadline - time.monotonic()))
        try:
            peer.recv(1)
            said["closed"] += 1
        except TimeoutError:
            raise Failure("a silent connection was not closed") from None
        except OSError:
            said["closed"] += 1
    for peer in peers:
        peer.close()


def crowd(rng, server, said):
    """More connections than there may be."""
    peers = []
    for _ in range(400):
        try:
            peers.append(connect(server))
        except OSError:
            said["not accepted"] += 1
    rng.shuffle(peers)
    for peer in peers:
        peer.close()
    said["crowded"] += len(peers)


ATTACKS = (calls, calls, calls, streams, streams, unknown_calls, too_large,
           garbage, silent, crowd)


# --- the honest ones ----------------------------------------------------------


def honest(server, number):
    """A send, a receive and an ack still work."""
    topic, message_id = "honest", "honest-%d" % number
    metadata = [("x-mq-client-id", "honest"), ("x-mq-language", "PYTHON")]
    with grpc.insecure_channel(server.target) as channel:
        def unary(name, request):
            data = channel.unary_unary(SERVICE + name)(
                request.SerializeToString(), timeout=10, metadata=metadata,
                wait_for_ready=True)
            return getattr(service_pb2, name + "Response").FromString(data)
        sent = unary("SendMessage", honest_send(topic, message_id))
        if sent.status.code != 20000:
            raise Failure("an honest send was answered %s" % sent.status)
        request = service_pb2.ReceiveMessageRequest()
        request.group.name = "honest-group"
        request.message_queue.topic.name = topic
        request.batch_size = 10
        request.filter_expression.expression = "*"
        request.invisible_duration.seconds = 30
        request.long_polling_timeout.seconds = 2
        stream = channel.unary_stream(SERVICE + "ReceiveMessage")(
            request.SerializeToString(), timeout=10, metadata=metadata)
        for data in stream:
            found = service_pb2.ReceiveMessageResponse.FromString(data)
            if not found.HasField("message"):
                continue
            ack = service_pb2.AckMessageRequest()
            ack.group.name, ack.topic.name = "honest-group", topic
            entry = ack.entries.add()
            entry.message_id = found.message.system_properties.message_id
            entry.receipt_handle = \
                found.message.system_properties.receipt_handle
            acked = unary("AckMessage", ack)
            if acked.status.code != 20000:
                raise Failure("an honest ack was answered %s" % acked.status)
            if entry.message_id == message_id:
                return
    raise Failure("an honest message did not come")


def one_round(server, seed, number, said):
    rng = random.Random("%d-%d" % (seed, number))
    attack = rng.choice(ATTACKS)
    attack(rng, server, said)
    said[attack.__name__ + "()"] += 1
    if not server.alive():
        raise Failure("it died in %s: %s" % (attack.__name__, server.said()))
    for attempt in range(3):
        try:
            return honest(server, number)
        except grpc.RpcError as error:
            # A crowd may not have left yet.
            if attempt == 2 or not server.alive():
                raise Failure("after %s: %s %s" % (
                    attack.__name__, error, server.said())) from error
            time.sleep(1)
    return None


def run(options, directory):
    server = Server(os.path.abspath(options.program), directory)
    said = collections.Counter()
    number = options.first_round
    try:
        for warm in range(3):
            honest(server, -1 - warm)
        files, memory = server.files(), server.memory_bytes()
        end = time.monotonic() + options.seconds
        while time.monotonic() < end:
            one_round(server, options.seed, number, said)
            number += 1
        # Connections that were left alone go after their handshake time.
        for _ in range(50):
            if server.files() <= files + GROWTH_FILES_MAX:
                break
            time.sleep(0.2)
        if server.files() > files + GROWTH_FILES_MAX:
            raise Failure("%d files open, %d before" % (server.files(), files))
        grown = server.memory_bytes() - memory
        if grown > GROWTH_BYTES_MAX and not options.any_memory:
            raise Failure("%d MiB of memory more than before" % (grown >> 20))
        server.stop()
    except Failure as failure:
        server.process.kill()
        print("FAILED   --seed %d --first-round %d: %s" % (
            options.seed, number, failure))
        return 1
    print("ok       %d rounds in %d s (--seed %d), %+d MiB; %s" % (
        number - options.first_round, options.seconds, options.seed,
        grown >> 20, json.dumps(dict(sorted(said.items())))))
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first-round", type=int, default=0)
    parser.add_argument("--work", help="where the client is installed")
    parser.add_argument("--any-memory", action="store_true",
                        help="of a program built with a sanitizer")
    with tempfile.TemporaryDirectory(prefix="hourglass-front-fuzz-") as place:
        sys.exit(run(parser.parse_args(), place))


if __name__ == "__main__":
    main()
