// send, receive and recall against a broker of strings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/fake_broker.h"
#include "tests/support/string_console.h"

namespace hourglass {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct World {
  StringConsole console;
  FakeBroker broker;

  World() { console.connect = broker.Connector(); }
  int Run(const std::vector<std::string>& arguments) {
    return console.Run(arguments);
  }
  std::string out() const { return console.out.text(); }
  std::string err() const { return console.err.text(); }
};

Refusal Throttled() { return {42900, "full (unsynced_bytes_max)"}; }
Refusal Empty() { return {41302, "body: empty"}; }

IncomingMessage Incoming(const std::string& id, const std::string& body) {
  IncomingMessage incoming;
  incoming.message.id = id;
  incoming.message.topic = "t";
  incoming.message.body = body;
  incoming.message.due_ms = StringConsole::kStartMs - 5;
  incoming.receipt = "r-" + id;
  return incoming;
}

TEST(SendCommand, OneMessageFromFlags) {
  World world;
  EXPECT_EQ(world.Run({"send", "t", "call", "back", "--in", "1h", "--id", "A",
                       "--tag", "g", "--key", "k1", "--key", "k2", "--property",
                       "p=a=b", "--group", "m"}),
            0);
  ASSERT_EQ(world.broker.stored.size(), 1u);
  const OutgoingMessage& sent = world.broker.stored[0];
  EXPECT_EQ(sent.message.topic, "t");
  EXPECT_EQ(sent.message.body, "call back");
  EXPECT_EQ(sent.message.tag, "g");
  EXPECT_EQ(sent.message.keys, (std::vector<std::string>{"k1", "k2"}));
  EXPECT_EQ(sent.message.properties[0].second, "a=b");
  EXPECT_EQ(sent.message.due_ms, StringConsole::kStartMs + 3'600'000);
  EXPECT_EQ(sent.message_group, "m");
  EXPECT_EQ(world.out(), "A hg1-A\n");
  EXPECT_EQ(world.broker.options.endpoint, "127.0.0.1:8081");
}

TEST(SendCommand, WithoutADueTimeThereIsNoHandle) {
  World world;
  EXPECT_EQ(world.Run({"send", "t", "x", "--id", "A", "--json"}), 0);
  EXPECT_EQ(world.out(), "{\"id\":\"A\",\"handle\":null}\n");
  EXPECT_EQ(world.Run({"send", "t", "x", "--id", "B", "--at",
                       "2026-11-21T05:00:00+01:00"}),
            0);
  EXPECT_EQ(world.broker.stored[1].message.due_ms,
            StringConsole::kStartMs + 3'600'000);
}

TEST(SendCommand, WrongFlagsAreNamed) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"send", "t", "x", "--in=-5s"}, "--in: \"-5s\" is negative"},
      {{"send", "t", "x", "--at", "soon"}, "--at: "},
      {{"send", "t", "x", "--property", "p"}, "NAME=VALUE"},
      {{"send", "t", "--in", "5s"}, "without its body"},
      {{"send", "t", "x", "--endpoint", "8081"}, "expected HOST:PORT"},
      {{"send", "t", "x", "--access-key", "k"}, "expected both or none"},
      {{"send", "t", "x", "--timeout", "0s"}, "--timeout: "},
      {{"send", "t", "x", "--tls-ca", "/none"}, "/none"},
      {{"send"}, "topic"},
  };
  for (const auto& [arguments, said] : cases) {
    World world;
    EXPECT_NE(world.Run(arguments), 0) << said;
    EXPECT_THAT(world.err(), HasSubstr(said));
    EXPECT_THAT(world.broker.calls, IsEmpty());
  }
}

TEST(SendCommand, LinesGoInOrderAndWrongOnesAreNamed) {
  World world;
  world.console.Input(
      "{\"id\":\"1\",\"body\":\"a\"}\n\n{\"id\":\"2\",\"delay\":\"x\"}\n"
      "{\"id\":\"3\",\"topic\":\"other\"}\n{\"id\":\"4\",\"delay\":\"1s\"}\n");
  EXPECT_EQ(world.Run({"send", "t"}), 1);
  EXPECT_THAT(world.err(), HasSubstr("line 3: delay: "));
  std::vector<std::string> stored;
  for (const auto& one : world.broker.stored) {
    stored.push_back(one.message.topic + one.message.id);
  }
  EXPECT_THAT(stored, ElementsAre("t1", "other3", "t4"));
  EXPECT_EQ(world.out(), "1 -\n3 -\n4 hg1-4\n");
}

TEST(SendCommand, OneThatIsRefusedDoesNotTakeTheOthersWithIt) {
  World world;
  std::string lines;
  for (int i = 1; i <= 50; ++i) {
    lines += "{\"id\":\"" + std::to_string(i) + "\",\"body\":\"" +
             (i == 20 ? "" : "x") + "\"}\n";
  }
  world.broker.verdict = [](const OutgoingMessage& message) {
    return message.message.body.empty() ? Empty() : Refusal();
  };
  world.console.Input(lines);
  EXPECT_EQ(world.Run({"send", "t"}), 1);
  EXPECT_THAT(world.err(), HasSubstr("line 20: refused: body: empty"));
  ASSERT_EQ(world.broker.stored.size(), 49u);
  for (size_t i = 0; i < 49; ++i) {
    EXPECT_EQ(world.broker.stored[i].message.id,
              std::to_string(i < 19 ? i + 1 : i + 2));
  }
}

TEST(SendCommand, ABrokerAtALimitIsTriedAgain) {
  World world;
  int tries = 0;
  world.broker.verdict = [&](const OutgoingMessage&) {
    return ++tries < 3 ? Throttled() : Refusal();
  };
  EXPECT_EQ(world.Run({"send", "t", "x", "--id", "A"}), 0);
  EXPECT_EQ(world.broker.calls.size(), 3u);
  EXPECT_EQ(world.broker.stored.size(), 1u);
  EXPECT_THAT(world.err(), HasSubstr("unsynced_bytes_max"));
}

TEST(SendCommand, ABrokerThatGoesAwayEndsItAndWhatWasNotSentIsSaid) {
  World world;
  world.broker.send_status = [] {
    return absl::UnavailableError("no broker answers at nowhere");
  };
  world.console.Input("{\"body\":\"a\"}\n{\"body\":\"b\"}\n");
  EXPECT_EQ(world.Run({"send", "t"}), 2);
  EXPECT_THAT(world.err(), HasSubstr("no broker answers"));
  EXPECT_THAT(world.err(), HasSubstr("was not stored"));
  EXPECT_EQ(world.out(), "");
}

TEST(SendCommand, NoAnswerIsNotTakenForARefusal) {
  World world;
  world.broker.send_status = [] {
    return absl::DeadlineExceededError("no answer in 10s");
  };
  EXPECT_EQ(world.Run({"send", "t", "x"}), 2);
  EXPECT_THAT(world.err(), HasSubstr("may not have been stored"));
}

TEST(ReceiveCommand, PrintsThenAcknowledges) {
  World world;
  world.broker.ready = {Incoming("A", "one"), Incoming("B", "two\nlines")};
  world.console.out.on_write = [&](std::string_view) {
    EXPECT_THAT(world.broker.acked, IsEmpty());
    return absl::OkStatus();
  };
  EXPECT_EQ(world.Run({"receive", "t", "--group", "g"}), 0);
  EXPECT_THAT(world.out(), HasSubstr("2026-11-21T02:59:59.995Z"));
  EXPECT_THAT(world.out(), HasSubstr("+5ms"));
  EXPECT_THAT(world.out(), HasSubstr("two.lines"));
  EXPECT_THAT(world.broker.acked, ElementsAre("A", "B"));
  // Waits for the first message only.
  ASSERT_EQ(world.broker.queries.size(), 2u);
  EXPECT_EQ(world.broker.queries[0].wait_ms, 20'000);
  EXPECT_EQ(world.broker.queries[1].wait_ms, 0);
}

TEST(ReceiveCommand, JsonHasAllOfIt) {
  World world;
  IncomingMessage incoming = Incoming("A", "\xFF");
  incoming.attempt = 3;
  incoming.message_group = "m";
  incoming.message.tag = "g";
  incoming.message.properties = {{"p", "v"}};
  world.broker.ready = {incoming};
  EXPECT_EQ(world.Run({"receive", "t", "--group", "g", "--json"}), 0);
  const json line = json::parse(world.out());
  EXPECT_EQ(line["body_base64"], "/w==");
  EXPECT_EQ(line["lateness_ms"], 5);
  EXPECT_EQ(line["attempt"], 3);
  EXPECT_EQ(line["group"], "m");
  EXPECT_EQ(line["properties"]["p"], "v");
}

TEST(ReceiveCommand, TakesNoMoreThanItMayPrint) {
  World world;
  world.broker.ready = {Incoming("A", "1"), Incoming("B", "2"),
                        Incoming("C", "3")};
  EXPECT_EQ(world.Run({"receive", "t", "--group", "g", "--max", "2", "--tag",
                       "a", "--tag", "b"}),
            0);
  EXPECT_EQ(world.broker.queries[0].count_max, 2);
  EXPECT_EQ(world.broker.queries[0].filter, "a || b");
  EXPECT_EQ(world.broker.ready.size(), 1u);
}

TEST(ReceiveCommand, NothingCameIsSaidByTheExitCode) {
  World world;
  EXPECT_EQ(world.Run({"receive", "t", "--group", "g", "--wait", "1s"}), 1);
  EXPECT_EQ(world.broker.queries[0].wait_ms, 1000);
  EXPECT_EQ(world.broker.queries[0].filter, "*");
}

TEST(ReceiveCommand, ALongWaitIsOfSeveralCalls) {
  World world;
  EXPECT_EQ(world.Run({"receive", "t", "--group", "g", "--wait", "50s"}), 1);
  ASSERT_EQ(world.broker.queries.size(), 3u);
  EXPECT_EQ(world.broker.queries[0].wait_ms, 20'000);
  EXPECT_EQ(world.broker.queries[2].wait_ms, 10'000);
}

TEST(ReceiveCommand, WhatCouldNotBeWrittenIsNotAcknowledged) {
  World world;
  world.broker.ready = {Incoming("A", "1")};
  world.console.out.on_write = [](std::string_view) {
    return absl::AbortedError("stdout: gone");
  };
  EXPECT_EQ(world.Run({"receive", "t", "--group", "g"}), 2);
  EXPECT_THAT(world.broker.acked, IsEmpty());
}

TEST(ReceiveCommand, NoAckAcknowledgesNothing) {
  World world;
  world.broker.ready = {Incoming("A", "1")};
  EXPECT_EQ(world.Run({"receive", "t", "--group", "g", "--no-ack",
                       "--invisible", "5s"}),
            0);
  EXPECT_THAT(world.broker.acked, IsEmpty());
  EXPECT_EQ(world.broker.queries[0].invisible_ms, 5000);
}

TEST(ReceiveCommand, AnAckThatIsRefusedIsSaid) {
  World world;
  world.broker.ready = {Incoming("A", "1")};
  world.broker.ack_refusal = {40013, "the lease ran out"};
  EXPECT_EQ(world.Run({"receive", "t", "--group", "g"}), 1);
  EXPECT_THAT(world.err(), HasSubstr("message A comes again"));
}

TEST(ReceiveCommand, FollowsThroughARestartOfTheBroker) {
  World world;
  int calls = 0;
  world.broker.receive_status = [&] {
    ++calls;
    if (calls == 2) return absl::UnavailableError("no broker answers");
    if (calls == 3) world.broker.ready = {Incoming("A", "1")};
    if (calls == 4) world.console.stop.Request();
    return absl::OkStatus();
  };
  EXPECT_EQ(world.Run({"receive", "t", "--group", "g", "--follow"}), 0);
  EXPECT_THAT(world.broker.acked, ElementsAre("A"));
  EXPECT_THAT(world.err(), HasSubstr("trying again"));
}

TEST(ReceiveCommand, ABrokerThatWasNeverThereIsNotWaitedFor) {
  World world;
  world.broker.receive_status = [] {
    return absl::UnavailableError("no broker answers at nowhere");
  };
  EXPECT_EQ(world.Run({"receive", "t", "--group", "g", "--follow"}), 2);
  EXPECT_EQ(world.broker.queries.size(), 1u);
}

TEST(ReceiveCommand, ARefusalEndsIt) {
  World world;
  world.broker.receive_refusal = {40010, "expected tags"};
  EXPECT_EQ(world.Run({"receive", "t", "--group", "g", "--follow"}), 2);
  EXPECT_THAT(world.err(), HasSubstr("expected tags"));
}

TEST(RecallCommand, TellsTheTruth) {
  World world;
  world.broker.recalls = {{"a", {}},
                          {"b", {40401, "too late: it was delivered"}},
                          {"c", {40000, "no handle"}}};
  EXPECT_EQ(world.Run({"recall", "t", "a"}), 0);
  EXPECT_EQ(world.out(), "a recalled\n");
  EXPECT_EQ(world.Run({"recall", "t", "a", "b", "c"}), 1);
  EXPECT_EQ(world.out(),
            "a recalled\nb not recalled: too late: it was delivered\n"
            "c refused: no handle\n");
  EXPECT_EQ(world.Run({"recall", "t", "b", "--json"}), 1);
  EXPECT_EQ(json::parse(world.out())["answer"], "not recalled");
}

TEST(RecallCommand, ABrokerThatGoesAwayIsNoAnswer) {
  World world;
  world.broker.recalls = {{"a", {}}};
  EXPECT_EQ(world.Run({"recall", "t", "a", "gone", "a"}), 2);
  EXPECT_EQ(world.out(), "a recalled\n");
  EXPECT_THAT(world.err(), HasSubstr("1 of 3 handles were answered"));
}

}  // namespace
}  // namespace hourglass
