#include "broker/log/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

namespace hourglass {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EventLogTest : public ::testing::Test {
 protected:
  void Open(const EventLogOptions& options = {}) {
    log_ = std::make_unique<EventLog>(&clock_, options,
                                      [this](std::string_view line) {
                                        std::lock_guard lock(mu_);
                                        lines_.emplace_back(line);
                                      });
  }
  std::vector<std::string> Lines() {
    log_->Flush();
    std::lock_guard lock(mu_);
    return std::exchange(lines_, {});
  }

  VirtualClock clock_{1'795'230'000'000};
  std::mutex mu_;
  std::vector<std::string> lines_;
  std::unique_ptr<EventLog> log_;
};

TEST_F(EventLogTest, OneLineAnEvent) {
  Open();
  log_->Info("listening", {{"endpoint", "127.0.0.1:8081"},
                           {"tls", true},
                           {"pending", uint64_t{7}},
                           {"late_ms", -5},
                           {"why", "a \"b\"\nc"},
                           {"empty", ""}});
  EXPECT_THAT(Lines(),
              ElementsAre("2026-11-21T03:00:00.000Z info    listening "
                          "endpoint=127.0.0.1:8081 tls=true pending=7 "
                          "late_ms=-5 why=\"a \\\"b\\\"\\nc\" empty=\"\""));
}

TEST_F(EventLogTest, JsonIsReadBack) {
  Open({.format = LogFormat::kJson});
  log_->Error("messages_lost",
              {{"count", uint64_t{3}}, {"what", "\xFF\n"}, {"all", false}});
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 1u);
  const json line = json::parse(lines[0]);
  EXPECT_EQ(line["time"], "2026-11-21T03:00:00.000Z");
  EXPECT_EQ(line["level"], "error");
  EXPECT_EQ(line["event"], "messages_lost");
  EXPECT_EQ(line["count"], 3);
  EXPECT_EQ(line["all"], false);
}

TEST_F(EventLogTest, LowerLevelsAreNotShown) {
  Open({.level = LogLevel::kWarning});
  log_->Info("listening");
  log_->Limited(LogLevel::kDebug, "client_gone", "", {});
  EXPECT_THAT(Lines(), IsEmpty());
  log_->Warning("checkpoint_slow");
  EXPECT_EQ(Lines().size(), 1u);
}

TEST_F(EventLogTest, AKindIsLimitedAndTheRestIsCounted) {
  Open({.events_per_kind_max = 2, .window_ms = 1000});
  for (int i = 0; i < 7; ++i) {
    log_->Limited(LogLevel::kWarning, "call_refused", "a", {});
  }
  // Another kind has room of its own.
  log_->Limited(LogLevel::kWarning, "call_refused", "b", {});
  EXPECT_EQ(Lines().size(), 3u);
  log_->Tick();
  EXPECT_THAT(Lines(), IsEmpty());
  clock_.AdvanceMs(1000);
  log_->Limited(LogLevel::kWarning, "call_refused", "a", {});
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("left_out=5"));
}

TEST_F(EventLogTest, WhatWasLeftOutIsSaidWhenTheWindowIsOver) {
  Open({.events_per_kind_max = 1, .window_ms = 1000});
  for (int i = 0; i < 4; ++i) {
    log_->Limited(LogLevel::kWarning, "call_refused", "a", {});
  }
  EXPECT_EQ(Lines().size(), 1u);
  clock_.AdvanceMs(1000);
  log_->Tick();
  log_->Tick();
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0],
              HasSubstr("events_left_out kind=call_refused:a count=3"));
}

TEST_F(EventLogTest, KindsAreBounded) {
  Open({.events_per_kind_max = 1, .kinds_max = 2});
  for (int i = 0; i < 100; ++i) {
    log_->Limited(LogLevel::kWarning, "e", std::to_string(i), {});
  }
  // Two kinds, and all the others as one.
  EXPECT_EQ(Lines().size(), 3u);
}

TEST_F(EventLogTest, AReaderThatDoesNotReadHoldsNobodyUp) {
  std::latch reads(1);
  std::vector<std::string> lines;
  {
    EventLog log(&clock_, {.events_per_kind_max = 1000, .queued_lines_max = 5},
                 [&](std::string_view line) {
                   reads.wait();
                   lines.emplace_back(line);
                 });
    for (int i = 0; i < 100; ++i) log.Info("e");
    reads.count_down();
    log.Flush();
    log.Info("last");
  }
  ASSERT_LE(lines.size(), 12u);
  EXPECT_THAT(lines[lines.size() - 2], HasSubstr("lines_dropped count="));
  EXPECT_THAT(lines.back(), HasSubstr("last"));
}

TEST_F(EventLogTest, FromManyThreadsNothingIsMixedOrLost) {
  Open({.events_per_kind_max = 1'000'000, .queued_lines_max = 1'000'000});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 500; ++i) {
        log_->Info("e", {{"i", i}});
        log_->Tick();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto lines = Lines();
  EXPECT_EQ(lines.size(), 2000u);
  for (const std::string& line : lines) {
    EXPECT_THAT(line, HasSubstr("info    e i="));
  }
}

TEST(EventLogNames, AreReadStrictly) {
  EXPECT_EQ(*ParseLogLevel("warning"), LogLevel::kWarning);
  EXPECT_THAT(std::string(ParseLogLevel("warn").status().message()),
              HasSubstr("debug, info, warning or error"));
  EXPECT_EQ(*ParseLogFormat("json"), LogFormat::kJson);
  EXPECT_FALSE(ParseLogFormat("xml").ok());
}

}  // namespace
}  // namespace hourglass
