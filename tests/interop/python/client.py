"""The official Python client against a server: one line a scenario.

    client.py ENDPOINT tls|plaintext NAME[,NAME...]

Prints "RESULT scenario ok|fail milliseconds note" for each.
"""
import os
import sys
import threading
import time
import traceback
import uuid

from rocketmq import (ClientConfiguration, ConsumeResult, Credentials,
                      FilterExpression, Message, MessageListener, Producer,
                      PushConsumer, SimpleConsumer, TransactionChecker,
                      TransactionResolution)
from rocketmq.grpc_protocol import FilterType

ENDPOINT, MODE, NAMES = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
TLS = MODE == "tls"
RUN = uuid.uuid4().hex[:8]
# Both empty where the server lets everybody in.
CONFIG = ClientConfiguration(ENDPOINT, Credentials(
    os.environ.get("HOURGLASS_KEY", ""), os.environ.get("HOURGLASS_SECRET", "")))
OVER_LIMIT = 40012
NOT_FOUND = 40401


def now_ms():
    return int(time.time() * 1000)


def topic_of(name):
    return f"python-{MODE}-{name}-{RUN}"


def message(name, body="hello", **fields):
    made = Message()
    made.topic = topic_of(name)
    made.body = body.encode()
    for field, value in fields.items():
        setattr(made, field, value)
    return made


class Simple:
    """A simple consumer with a group of its own."""

    def __init__(self, name, tags="*", await_s=5, kind=FilterType.TAG):
        self.consumer = SimpleConsumer(
            CONFIG, f"group-{topic_of(name)}",
            {topic_of(name): FilterExpression(tags, kind)},
            await_duration=await_s, tls_enable=TLS)
        self.consumer.startup()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.consumer.shutdown()

    def take(self, count=1, seconds=8, batch=16, ack=True):
        """`count` messages, or fewer when the time is over."""
        got, end = [], time.time() + seconds
        while len(got) < count and time.time() < end:
            for one in self.consumer.receive(batch, 30) or []:
                one.arrived_ms = now_ms()
                got.append(one)
                if ack:
                    self.consumer.ack(one)
        return got


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


class Failing(MessageListener):
    """Fails one message once."""

    def __init__(self):
        self.lock = threading.Lock()
        self.failed = False
        self.good = {}
        self.attempts = []

    def consume(self, got):
        with self.lock:
            body = got.body.decode()
            if body == "0" and not self.failed:
                self.failed = True
                return ConsumeResult.FAILURE
            self.good[body] = got.delivery_attempt
            return ConsumeResult.SUCCESS


class Checker(TransactionChecker):
    def check(self, got):
        return (TransactionResolution.COMMIT if got.body == b"orphan"
                else TransactionResolution.ROLLBACK)


class Scenarios:
    def __init__(self, producer):
        self.producer = producer

    def normal(self):
        with Simple("normal") as consumer:
            sent = message("normal", tag="a", keys="k1")
            sent.add_property("colour", "red")
            receipt = self.producer.send(sent)
            expect(not receipt.recall_handle, "a recall handle for nothing")
            got = consumer.take()
            expect(len(got) == 1, f"{len(got)} messages")
            one = got[0]
            expect(one.body == b"hello" and not one.corrupted, "body")
            expect(one.message_id == receipt.message_id, "id")
            expect(one.tag == "a" and "k1" in one.keys, "tag and keys")
            expect(one.properties.get("colour") == "red", "property")
            expect(one.delivery_attempt == 1, f"{one.delivery_attempt}")
            expect(not consumer.take(seconds=1), "acknowledged, and again")

    def delay(self):
        with Simple("delay") as consumer:
            due_s = int(time.time()) + 3  # this client sends whole seconds
            receipt = self.producer.send(
                message("delay", delivery_timestamp=due_s))
            expect(receipt.recall_handle, "no recall handle")
            got = consumer.take()
            expect(len(got) == 1, f"{len(got)} messages")
            late_ms = got[0].arrived_ms - due_s * 1000
            expect(late_ms >= 0, f"{-late_ms} ms early")
            expect(late_ms < 1000, f"{late_ms} ms late")
            return f"{late_ms} ms late"

    def recall_before(self):
        with Simple("recall_before", await_s=3) as consumer:
            receipt = self.producer.send(message(
                "recall_before", delivery_timestamp=int(time.time()) + 2))
            recalled = self.producer.recall_message(
                topic_of("recall_before"), receipt.recall_handle)
            expect(recalled == receipt.message_id, f"recalled {recalled}")
            expect(not consumer.take(seconds=3), "recalled, and delivered")

    def recall_after(self):
        with Simple("recall_after") as consumer:
            receipt = self.producer.send(message(
                "recall_after", delivery_timestamp=int(time.time()) + 1))
            expect(len(consumer.take()) == 1, "not delivered")
            try:
                self.producer.recall_message(topic_of("recall_after"),
                                             receipt.recall_handle)
            except Exception as error:  # pylint: disable=broad-except
                expect(str(NOT_FOUND) in str(error) or
                       "NotFound" in type(error).__name__, repr(error))
                return type(error).__name__
            raise AssertionError("recalled what was delivered")

    def past(self):
        with Simple("past") as consumer:
            receipt = self.producer.send(message(
                "past", delivery_timestamp=int(time.time()) - 3600))
            expect(not receipt.recall_handle, "a recall handle")
            began = time.time()
            expect(len(consumer.take()) == 1, "not delivered")
            return f"{int(1000 * (time.time() - began))} ms"

    def over_limit(self):
        try:
            self.producer.send(message(
                "over_limit",
                delivery_timestamp=int(time.time()) + 20 * 366 * 86400))
        except Exception as error:  # pylint: disable=broad-except
            expect("max is" in str(error), repr(error))
            return type(error).__name__
        raise AssertionError("accepted")

    def nack(self):
        with Simple("nack") as consumer:
            self.producer.send(message("nack"))
            first = consumer.take(ack=False)[0]
            began = time.time()
            consumer.consumer.change_invisible_duration(first, 1)
            second = consumer.take()
            expect(len(second) == 1, "not delivered again")
            expect(second[0].delivery_attempt == 2,
                   f"attempt {second[0].delivery_attempt}")
            return f"again after {int(1000 * (time.time() - began))} ms"

    def tag(self):
        with Simple("tag", "a || c", await_s=2) as consumer:
            for tag in "abc":
                self.producer.send(message("tag", body=tag, tag=tag))
            got = consumer.take(3, seconds=3)
            tags = sorted(one.tag for one in got)
            expect(tags == ["a", "c"], f"{tags}")

    def sql(self):
        with Simple("sql", "price BETWEEN 10 AND 99 AND TAGS <> 'b'",
                    await_s=2, kind=FilterType.SQL) as consumer:
            for tag, price in (("a", "5"), ("b", "20"), ("c", "30"),
                               ("d", None)):
                sent = message("sql", body=tag, tag=tag)
                if price:
                    sent.add_property("price", price)
                self.producer.send(sent)
            tags = [one.tag for one in consumer.take(2, seconds=3)]
            expect(tags == ["c"], f"{tags}")

    def fifo(self):
        with Simple("fifo", await_s=1) as consumer:
            for i in range(4):
                self.producer.send(
                    message("fifo", body=str(i), message_group="g"))
            order = []
            while len(order) < 4:
                got = consumer.take(batch=1, ack=False)
                expect(got, f"nothing after {order}")
                more = consumer.take(seconds=0.2, batch=1, ack=False)
                expect(not more, "two batches of a group at once")
                order.append(got[0].body.decode())
                consumer.consumer.ack(got[0])
            expect(order == list("0123"), f"{order}")

    def push(self):
        listener = Failing()
        consumer = PushConsumer(
            CONFIG, f"group-{topic_of('push')}", listener,
            {topic_of("push"): FilterExpression()}, tls_enable=TLS)
        consumer.startup()
        try:
            began = time.time()
            for i in range(10):
                self.producer.send(message("push", body=str(i)))
            while len(listener.good) < 10 and time.time() < began + 20:
                time.sleep(0.05)
            expect(len(listener.good) == 10, f"{sorted(listener.good)}")
            expect(listener.good["0"] == 2, f"attempt {listener.good['0']}")
            return f"all after {int(1000 * (time.time() - began))} ms"
        finally:
            consumer.shutdown()

    def transaction(self):
        with Simple("transaction", await_s=2) as consumer:
            for body, commit in (("yes", True), ("no", False)):
                transaction = self.producer.begin_transaction()
                self.producer.send(message("transaction", body=body),
                                   transaction)
                if commit:
                    expect(not consumer.take(seconds=1), "a half message")
                    transaction.commit()
                else:
                    transaction.rollback()
            bodies = [one.body for one in consumer.take(2, seconds=3)]
            expect(bodies == [b"yes"], f"{bodies}")

    def orphan(self):
        """The server asks how a forgotten transaction ended."""
        with Simple("orphan", await_s=2) as consumer:
            transaction = self.producer.begin_transaction()
            self.producer.send(message("orphan", body="orphan"), transaction)
            got = consumer.take(seconds=12)
            expect(len(got) == 1, "never asked, or not committed")


def main():
    producer = Producer(CONFIG, tuple(topic_of(name) for name in NAMES),
                        checker=Checker(), tls_enable=TLS)
    producer.startup()
    scenarios = Scenarios(producer)
    for name in NAMES:
        began = now_ms()
        try:
            note, result = getattr(scenarios, name)() or "", "ok"
        except Exception as error:  # pylint: disable=broad-except
            traceback.print_exc()
            note, result = f"{type(error).__name__}: {error}", "fail"
        print("RESULT", name, result, now_ms() - began,
              note.replace("\n", " "), flush=True)
    producer.shutdown()


main()
