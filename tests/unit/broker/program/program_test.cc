// The command line as a whole: help, wrong calls, environment, configuration.
#include "broker/program/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "broker/program/command.h"
#include "broker/text/text.h"
#include "tests/support/string_console.h"

namespace hourglass {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A variable of the environment while it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_); }

 private:
  const char* const name_;
};

// CLI11 reads configuration from the real disk.
class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text)
      : path_(Concat(
            ::testing::TempDir(), "hourglass_program_test_",
            ::testing::UnitTest::GetInstance()->random_seed(), "_",
            ::testing::UnitTest::GetInstance()->current_test_info()->name(),
            ".toml")) {
    std::ofstream(path_) << text;
  }
  ~ConfigFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

TEST(ProgramTest, HelpOfEveryCommandHasExamplesAndExitCodes) {
  StringConsole console;
  EXPECT_EQ(console.Run({"--help"}), 0);
  const std::string help = console.out.text();
  EXPECT_THAT(help, HasSubstr("Exit codes: 0"));
  for (const auto& command : MakeCommands()) {
    const std::string name(command->name());
    EXPECT_THAT(help, HasSubstr(Concat("  ", name, " ")));
    EXPECT_EQ(console.Run({name, "--help"}), 0);
    EXPECT_THAT(console.out.text(), HasSubstr(Concat("hourglass ", name)));
    EXPECT_THAT(console.out.text(), HasSubstr("Exit codes: 0"));
    EXPECT_THAT(console.err.text(), IsEmpty());
  }
}

TEST(ProgramTest, Version) {
  StringConsole console;
  EXPECT_EQ(console.Run({"--version"}), 0);
  EXPECT_EQ(console.out.text(), "hourglass 0.1.0\n");
}

#ifdef HOURGLASS_FRONT
#define SERVE "serve, "
#else
#define SERVE ""
#endif

TEST(ProgramTest, WrongCallsAreOneLine) {
  const struct {
    std::vector<std::string> arguments;
    const char* said;
  } kCases[] = {
      {{}, "hourglass: A subcommand is required; see hourglass --help\n"},
      {{"pipe"}, "hourglass: --data is required; see hourglass pipe --help\n"},
      {{"pipe", "--data", "/d", "--sync", "never"},
       "hourglass: --sync: never not in {sync,interval,os}; see hourglass pipe "
       "--help\n"},
      {{"stat", "--data", "/d", "--nonsense"},
       "hourglass: The following argument was not expected: --nonsense; see "
       "hourglass stat --help\n"},
      {{"nonsense"},
       "hourglass: \"nonsense\" is not a command; expected one of " SERVE
       "send, receive, recall, topics, groups, top, pipe, put, cancel, list, "
       "forecast, stat, log, recover, tasks, bench\n"},
      {{"pipe", "--data", "/d", "--config", "/no/such.toml"},
       "hourglass: /no/such.toml was not readable (missing?); see hourglass "
       "pipe --help\n"},
  };
  for (const auto& [arguments, said] : kCases) {
    StringConsole console;
    EXPECT_EQ(console.Run(arguments), 2);
    EXPECT_EQ(console.err.text(), said);
    EXPECT_THAT(console.out.text(), IsEmpty());
    EXPECT_EQ(console.state->opened, 0);
  }
}

TEST(ProgramTest, AStoreThatDoesNotOpenIsOneLine) {
  StringConsole console;
  console.state->open_error =
      absl::FailedPreconditionError("another process has it open");
  for (const char* command : {"pipe", "put", "list", "forecast", "stat"}) {
    EXPECT_EQ(console.Run({command, "--data", "/d"}), 2) << command;
    EXPECT_EQ(console.err.text(),
              "hourglass: /d: another process has it open\n");
  }
  // A message that names the directory does not get it again.
  console.state->open_error = absl::FailedPreconditionError("/d/LOCK: taken");
  EXPECT_EQ(console.Run({"stat", "--data", "/d"}), 2);
  EXPECT_EQ(console.err.text(), "hourglass: /d/LOCK: taken\n");
}

TEST(ProgramTest, OnlyPipeAndPutMakeAStore) {
  for (const char* command : {"pipe", "put", "list", "forecast", "stat"}) {
    StringConsole console;
    console.stop.Request();
    std::vector<std::string> arguments = {command, "--data", "/d"};
    if (std::string_view(command) == "pipe") {
      arguments.push_back("--until-empty");
    }
    EXPECT_EQ(console.Run(arguments), 0) << command;
    EXPECT_EQ(console.created, command[0] == 'p') << command;
  }
}

TEST(ProgramTest, FlagsReachTheStore) {
  StringConsole console;
  EXPECT_EQ(console.Run({"stat", "--data", "/d", "--sync", "interval",
                         "--preload-bytes-max", "1MiB", "--no-direct-io",
                         "--retention-ms", "5"}),
            0)
      << console.err.text();
  EXPECT_EQ(console.options.sync, SyncPolicy::kInterval);
  EXPECT_EQ(console.options.preload_bytes_max, 1u << 20);
  EXPECT_FALSE(console.options.direct_io);
  EXPECT_TRUE(console.options.retain_for_groups);
  EXPECT_EQ(console.options.retention_ms, 5);
  EXPECT_EQ(console.options.clock, &console.clock);
  EXPECT_EQ(console.options.file_system, &console.file_system);
}

TEST(ProgramTest, TheDefaultsAreTheLibrarys) {
  StringConsole console;
  EXPECT_EQ(console.Run({"stat", "--data", "/d"}), 0);
  const StoreOptions defaults;
  EXPECT_EQ(console.options.sync, defaults.sync);
  EXPECT_EQ(console.options.body_bytes_max, defaults.body_bytes_max);
  EXPECT_EQ(console.options.delay_ms_max, defaults.delay_ms_max);
  EXPECT_EQ(console.options.direct_io, defaults.direct_io);
  EXPECT_EQ(console.options.disk_reserve_bytes, defaults.disk_reserve_bytes);
}

TEST(ProgramTest, EnvironmentMirrorsFlags) {
  Variable data("HOURGLASS_DATA", "/from-env");
  Variable bytes("HOURGLASS_BATCH_BYTES_MAX", "1KiB");
  Variable direct("HOURGLASS_DIRECT_IO", "false");
  Variable json("HOURGLASS_STAT_JSON", "true");
  StringConsole console;
  EXPECT_EQ(console.Run({"stat"}), 0) << console.err.text();
  EXPECT_EQ(console.options.batch_bytes_max, 1024u);
  EXPECT_FALSE(console.options.direct_io);
  EXPECT_THAT(console.out.text(), ::testing::StartsWith("{"));
}

TEST(ProgramTest, ConfigurationMirrorsFlags) {
  ConfigFile file(
      "# every command\n"
      "data = \"/from-file\"\n"
      "batch-bytes-max = 2048\n"
      "[stat]\n"
      "json = true\n"
      "[list]\n"
      "limit = 5\n");
  StringConsole console;
  EXPECT_EQ(console.Run({"stat", "--config", file.path()}), 0)
      << console.err.text();
  EXPECT_EQ(console.options.batch_bytes_max, 2048u);
  EXPECT_THAT(console.out.text(), ::testing::StartsWith("{"));
  Variable config("HOURGLASS_CONFIG", file.path());
  EXPECT_EQ(console.Run({"forecast"}), 0) << console.err.text();
  EXPECT_EQ(console.options.batch_bytes_max, 2048u);
}

TEST(ProgramTest, FlagsBeatEnvironmentBeatsConfiguration) {
  ConfigFile file(
      "data = \"/d\"\nopen-topics-max = 1\nopen-segments-max = 1\n"
      "batch-messages-max = 1\n");
  Variable topics("HOURGLASS_OPEN_TOPICS_MAX", "2");
  Variable segments("HOURGLASS_OPEN_SEGMENTS_MAX", "2");
  StringConsole console;
  EXPECT_EQ(console.Run(
                {"stat", "--config", file.path(), "--open-segments-max", "3"}),
            0)
      << console.err.text();
  EXPECT_EQ(console.options.batch_messages_max, 1u);
  EXPECT_EQ(console.options.open_topics_max, 2u);
  EXPECT_EQ(console.options.open_segments_max, 3u);
}

TEST(ProgramTest, UnknownKeysInTheConfigurationAreRefused) {
  ConfigFile file("data = \"/d\"\ndirect-oi = true\n");
  StringConsole console;
  EXPECT_EQ(console.Run({"stat", "--config", file.path()}), 2);
  EXPECT_THAT(console.err.text(), HasSubstr("direct-oi"));
}

}  // namespace
}  // namespace hourglass
