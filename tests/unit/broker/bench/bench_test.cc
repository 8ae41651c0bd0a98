// Every job of `hourglass bench`, tiny: that its report has every field, that
// the counts add up, and that it leaves nothing behind. What the numbers are
// is no test's business.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "broker/bench/bench_command.h"
#include "broker/bench/data_dir.h"
#include "broker/bench/report.h"

namespace hourglass {
namespace {

using ::testing::TempDir;

int RunLine(std::vector<std::string> arguments, const BenchConsole& console) {
  CLI::App app("test");
  BenchCommand bench;
  bench.Declare(app.add_subcommand("bench"));
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    console.err(error.what());
    return 2;
  }
  return bench.Run(console);
}

class BenchTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = TempDir() + "hourglass_bench_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    parent_ = name;
    data_ = (parent_ / "store").string();
    console_.out = [this](std::string_view text) {
      out_.append(text);
      return absl::OkStatus();
    };
    console_.err = [this](std::string_view text) { err_.append(text); };
  }
  void TearDown() override {
    EXPECT_TRUE(RemoveContent(RealFileSystem(), parent_).ok());
    EXPECT_TRUE(RealFileSystem()->RemoveDir(parent_).ok());
  }

  int Run(const std::string& job, std::vector<std::string> flags) {
    out_.clear();
    err_.clear();
    flags.insert(flags.begin(), {"bench", job, "--data", data_});
    return RunLine(flags, console_);
  }
  // With --json, and every field of every job looked for.
  Json RunJson(const std::string& job, std::vector<std::string> flags) {
    flags.push_back("--json");
    EXPECT_EQ(Run(job, flags), 0) << err_;
    const Json report = Json::parse(out_, nullptr, /*allow_exceptions=*/false);
    EXPECT_TRUE(report.is_object()) << out_;
    EXPECT_EQ(report.value("job", ""), job);
    EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 1);
    HasFields(report, {"options", "rss_bytes", "rss_peak_bytes", "cpu_seconds",
                       "disk_bytes_written"});
    HasFields(report["cpu_seconds"], {"user", "system"});
    HasFields(report["options"], {"size_bytes", "producers", "in_flight",
                                  "start_ms", "spread_ms", "sync", "data"});
    EXPECT_GT(report["rss_bytes"], 0);
    EXPECT_GE(report["rss_peak_bytes"], report["rss_bytes"]);
    return report;
  }

  static void HasFields(const Json& object,
                        const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      EXPECT_TRUE(object.contains(name)) << name << " in " << object;
    }
  }
  static void HasPercentiles(const Json& report, const std::string& name) {
    ASSERT_TRUE(report.contains(name)) << name;
    HasFields(report[name], {"p50", "p99", "p99_9", "max"});
    EXPECT_LE(report[name]["p50"], report[name]["p99"]);
    EXPECT_LE(report[name]["p99"], report[name]["p99_9"]);
    EXPECT_LE(report[name]["p99_9"], report[name]["max"]);
  }
  static void HasStoreFields(const Json& report, uint64_t body_bytes) {
    HasFields(report, {"write_amplification", "groups", "syncs"});
    EXPECT_GT(report["log_bytes_written"], body_bytes);
    EXPECT_GT(report["hour_bytes_written"], body_bytes);
    EXPECT_GT(report["write_amplification"], 2.0);
    EXPECT_GT(report["syncs"], 0);
  }
  bool DataIsThere() {
    return HasContent(RealFileSystem(), data_).value_or(false);
  }

  Path parent_;
  std::string data_;
  BenchConsole console_;
  std::string out_, err_;
};

TEST_F(BenchTest, Put) {
  const Json report =
      RunJson("put", {"--messages", "1k", "--size", "100", "--producers", "3"});
  EXPECT_EQ(report["messages"], 1000);
  EXPECT_GT(report["messages_per_s"], 0);
  EXPECT_GT(report["seconds"], 0);
  HasPercentiles(report, "ack_us");
  EXPECT_GT(report["ack_us"]["p50"], 0);
  HasStoreFields(report, 100'000);
  EXPECT_FALSE(report.contains("ratio"));
  EXPECT_EQ(report["options"]["size_bytes"], 100);
  EXPECT_EQ(report["options"]["spread_ms"], 86'400'000);
  EXPECT_FALSE(DataIsThere());
}

TEST_F(BenchTest, PutOneByOneIsComparedWithTheDisk) {
  const Json report =
      RunJson("put", {"--messages", "200", "--producers", "1", "--in-flight",
                      "1", "--disk-seconds", "0.2"});
  EXPECT_EQ(report["messages"], 200);
  EXPECT_GE(report["groups"], 200);  // one wait each
  EXPECT_GT(report["disk_fdatasync_per_s"], 0);
  EXPECT_GT(report["ratio"], 0.0);
  HasPercentiles(report, "disk_fdatasync_us");
}

TEST_F(BenchTest, Burst) {
  const Json report = RunJson("burst", {"--messages", "500", "--start", "1s"});
  EXPECT_EQ(report["messages"], 500);
  EXPECT_EQ(report["delivered_messages"], 500);
  EXPECT_EQ(report["put_messages"], 500);
  EXPECT_GE(report["last_durable_after_due_ms"], 0);
  EXPECT_GT(report["put_before_due_ms"], 0);
  EXPECT_GT(report["delivered_messages_per_s"], 0);
  HasPercentiles(report, "lateness_ms");
  // Nothing was durable later than the last thing was seen to be.
  EXPECT_LE(report["lateness_ms"]["max"], report["last_durable_after_due_ms"]);
  HasStoreFields(report, 500 * 256);
}

TEST_F(BenchTest, BurstThatCannotBePutInTimeIsRefused) {
  EXPECT_EQ(Run("burst", {"--messages", "500", "--start=-5s"}), 2);
  EXPECT_NE(err_.find("--start"), std::string::npos) << err_;
  EXPECT_EQ(out_, "");
  EXPECT_FALSE(DataIsThere());
}

TEST_F(BenchTest, Steady) {
  const Json report =
      RunJson("steady", {"--rate", "500", "--seconds", "1", "--start", "50ms",
                         "--spread", "1500ms"});
  // The window only, not the warm-up: 500 give or take a late wake-up.
  EXPECT_GT(report["messages"], 100);
  EXPECT_LT(report["messages"], report["put_messages_in_all"]);
  EXPECT_GT(report["delivered_messages"], 100);
  // As many as were put in it; those of the warm-up would be 80 % more.
  EXPECT_LT(report["delivered_messages"].get<double>(),
            1.5 * report["messages"].get<double>());
  EXPECT_GT(report["consumed_messages_per_s"], 0);
  EXPECT_GT(report["seconds"], 0.99);  // cut on the millisecond
  HasPercentiles(report, "lateness_ms");
  HasPercentiles(report, "consumed_lateness_ms");
  HasPercentiles(report, "ack_us");
  HasStoreFields(report, report["put_messages_in_all"].get<uint64_t>() * 256);
}

TEST_F(BenchTest, SteadyWithoutConsumer) {
  const Json report =
      RunJson("steady", {"--rate", "200", "--seconds", "1", "--start", "20ms",
                         "--spread", "50ms", "--no-consumer"});
  EXPECT_GT(report["delivered_messages"], 0);
  EXPECT_FALSE(report.contains("consumed_lateness_ms"));
}

// As on a machine so busy that every message is due before it is put.
TEST_F(BenchTest, SteadyOfMessagesThatAreDueAtOnce) {
  const Json report = RunJson("steady", {"--rate", "200", "--seconds", "1",
                                         "--start", "0s", "--spread", "0s"});
  EXPECT_GT(report["messages"], 0);
  EXPECT_EQ(report["delivered_messages"], 0);  // none was delayed
  EXPECT_GT(report["consumed_messages_per_s"], 0);
}

TEST_F(BenchTest, Backlog) {
  const Json report =
      RunJson("backlog", {"--messages", "2000", "--spread", "20h"});
  EXPECT_EQ(report["messages"], 2000);
  EXPECT_EQ(report["pending_messages"], 2000);
  EXPECT_GE(report["hour_files"], 20);
  EXPECT_LE(report["hour_files"], 21);
  // An index record and the frame at least, and the headers of the files.
  EXPECT_GT(report["hour_bytes_per_message_beyond_body"], 32.0);
  EXPECT_GT(report["hour_file_bytes"], 2000 * (256 + 32));
  HasStoreFields(report, 2000 * 256);
  EXPECT_FALSE(DataIsThere());
}

TEST_F(BenchTest, BacklogThatTheDiskHasNoRoomForIsRefused) {
  EXPECT_EQ(Run("backlog", {"--messages", "1000000M"}), 2);
  EXPECT_NE(err_.find("GiB are free"), std::string::npos) << err_;
}

TEST_F(BenchTest, Restart) {
  const Json report =
      RunJson("restart", {"--messages", "600", "--compare", "300", "--rounds",
                          "2", "--seconds", "0", "--spread", "2h"});
  EXPECT_EQ(report["rounds"], 2);
  HasPercentiles(report, "accepting_ms");
  HasPercentiles(report, "delivering_ms");
  EXPECT_GT(report["accepting_ms"]["p50"], 0.0);
  EXPECT_GT(report["delivering_ms"]["p50"], 0.0);
  // The processes that were killed have put some of their own.
  EXPECT_GE(report["messages"], 600);
  EXPECT_GT(report["restarted_rss_bytes"], 0);
  EXPECT_EQ(report["fill_messages"], 600);
  const Json& small = report["compared_with"];
  EXPECT_GE(small["messages"], 300);
  EXPECT_LT(small["messages"], report["messages"]);
  HasPercentiles(small, "accepting_ms");
  HasPercentiles(small, "delivering_ms");
  EXPECT_GT(report["ratio"], 0.0);
  EXPECT_FALSE(DataIsThere());
}

TEST_F(BenchTest, RestartOfABacklogThatWasKept) {
  RunJson("backlog", {"--messages", "400", "--spread", "2h", "--keep"});
  ASSERT_TRUE(DataIsThere());
  const Json report =
      RunJson("restart", {"--compare", "0", "--rounds", "1", "--seconds", "0"});
  EXPECT_GE(report["messages"], 400);
  EXPECT_TRUE(report["compared_with"].is_null());
  EXPECT_TRUE(report["ratio"].is_null());
  EXPECT_FALSE(report.contains("fill_messages"));
  EXPECT_TRUE(DataIsThere());  // it was there before
}

TEST_F(BenchTest, Cancel) {
  const Json report = RunJson("cancel", {"--messages", "500"});
  EXPECT_EQ(report["messages"], 500);
  EXPECT_EQ(report["cancels"], 500);
  EXPECT_EQ(report["answers"]["cancelled"], 500);
  EXPECT_EQ(report["answers"]["already_delivered"], 0);
  EXPECT_EQ(report["answers"]["never_existed"], 0);
  EXPECT_GT(report["cancels_per_s"], 0);
  HasPercentiles(report, "ack_us");
  HasStoreFields(report, 500 * 256);
}

TEST_F(BenchTest, CancelSome) {
  const Json report =
      RunJson("cancel", {"--messages", "503", "--cancels", "101"});
  EXPECT_EQ(report["put_messages"], 503);
  EXPECT_EQ(report["answers"]["cancelled"], 101);
}

TEST_F(BenchTest, TableSaysTheSame) {
  ASSERT_EQ(Run("put", {"--messages", "1500"}), 0) << err_;
  EXPECT_NE(out_.find("1,500\n"), std::string::npos) << out_;
  for (const char* name : {"messages_per_s", "ack_us", "write_amplification",
                           "rss_bytes", "cpu_seconds", "p99_9"}) {
    EXPECT_NE(out_.find(name), std::string::npos) << name << "\n" << out_;
  }
}

TEST_F(BenchTest, KeepsTheDirectoryIfAskedTo) {
  RunJson("put", {"--messages", "10", "--keep"});
  EXPECT_TRUE(DataIsThere());
  // And does not mix a second run into it.
  EXPECT_EQ(Run("put", {"--messages", "10"}), 2);
  EXPECT_NE(err_.find("not empty"), std::string::npos) << err_;
  EXPECT_TRUE(DataIsThere());
}

TEST_F(BenchTest, WithoutDataWorksInTheCurrentDirectory) {
  std::vector<char> before(4096);
  ASSERT_NE(getcwd(before.data(), before.size()), nullptr);
  ASSERT_EQ(chdir(parent_.c_str()), 0);
  const int code =
      RunLine({"bench", "put", "--messages", "10", "--json"}, console_);
  EXPECT_FALSE(*HasContent(RealFileSystem(), "."));
  ASSERT_EQ(chdir(before.data()), 0);
  EXPECT_EQ(code, 0) << err_;
  EXPECT_NE(out_.find("hourglass-bench-"), std::string::npos) << out_;
}

TEST_F(BenchTest, StopsWhenAskedTo) {
  console_.stopped = [] { return true; };
  for (const char* job :
       {"put", "burst", "steady", "backlog", "restart", "cancel"}) {
    SCOPED_TRACE(job);
    std::vector<std::string> flags = {"--spread", "1s"};
    if (std::string_view(job) != "steady") {
      flags.insert(flags.end(), {"--messages", "1M"});
    }
    EXPECT_EQ(Run(job, flags), 2);
    EXPECT_NE(err_.find("stopped"), std::string::npos) << err_;
    EXPECT_EQ(out_, "");
    EXPECT_FALSE(DataIsThere());
  }
}

TEST_F(BenchTest, RefusesWhatMakesNoSense) {
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{{"--messages", "many"},
                                             {"--spread", "1 fortnight"},
                                             {"--producers", "0"},
                                             {"--in-flight", "0"},
                                             {"--sync", "never"},
                                             {"--size", "5M"}}) {
    SCOPED_TRACE(flags[0]);
    EXPECT_EQ(Run("put", flags), 2);
    EXPECT_NE(err_.find(flags[0]), std::string::npos) << err_;
  }
}

}  // namespace
}  // namespace hourglass

// `bench restart` starts its own program again, and that is this one.
int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "bench") {
    hourglass::BenchConsole console;
    console.out = [](std::string_view text) {
      std::cout << text << std::flush;
      return absl::OkStatus();
    };
    console.err = [](std::string_view text) { std::cerr << text; };
    return hourglass::RunLine(std::vector<std::string>(argv + 1, argv + argc),
                              console);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
