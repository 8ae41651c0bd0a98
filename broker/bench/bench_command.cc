#include "broker/bench/bench_command.h"

#include <CLI/CLI.hpp>
#include <map>

#include "absl/strings/str_cat.h"
#include "broker/bench/jobs.h"

namespace hourglass {
namespace {

constexpr char kFooter[] =
    R"(Every job fills a directory of its own and removes it at the end, unless --keep.
Due times are now + --start + a random part of --spread.

Examples:
  hourglass bench put
  hourglass bench put --producers 1 --in-flight 1 --messages 20k
  hourglass bench backlog --messages 100M --data big --keep
  hourglass bench restart --data big
  hourglass bench steady --rate 50k --seconds 60 --json | jq .lateness_ms

Exit codes: 0 done; 1 the counts do not add up; 2 could not run.)";

const char* Description(BenchJob job) {
  switch (job) {
    case BenchJob::kPut:
      return "How many messages a second become durable; with --producers 1 "
             "--in-flight 1 against the disk's own rate";
    case BenchJob::kBurst:
      return "How long after their moment many messages are all ready";
    case BenchJob::kSteady:
      return "How late messages are while as many are put as delivered";
    case BenchJob::kBacklog:
      return "What many waiting messages cost in memory and on the disk";
    case BenchJob::kRestart:
      return "How long after kill -9 a store accepts and delivers";
    case BenchJob::kCancel:
      return "How many cancels by handle a second become durable";
  }
  return "";
}

// "5M" and "24h". CLI11 wants the units of one kind as a map.
template <typename T>
CLI::Option* AddCount(CLI::App* app, const std::string& flag, T* value,
                      const std::string& what) {
  static const std::map<std::string, T> kUnits = {{"k", 1000},
                                                  {"M", 1'000'000}};
  return app->add_option(flag, *value, what)
      ->transform(CLI::AsNumberWithUnit(
          kUnits, CLI::AsNumberWithUnit::CASE_INSENSITIVE, "N[k|M]"))
      ->type_name("N[k|M]")
      ->capture_default_str();
}

void AddDuration(CLI::App* app, const std::string& flag, int64_t* value_ms,
                 const std::string& what) {
  static const std::map<std::string, int64_t> kUnits = {{"ms", 1},
                                                        {"s", 1000},
                                                        {"m", 60'000},
                                                        {"h", 3'600'000},
                                                        {"d", 86'400'000}};
  app->add_option(flag, *value_ms, what)
      ->transform(CLI::AsNumberWithUnit(
          kUnits, CLI::AsNumberWithUnit::CASE_SENSITIVE, "DURATION"))
      ->type_name("DURATION[ms|s|m|h|d]")
      ->capture_default_str();
}

void DeclareLoad(CLI::App* app, BenchOptions* options) {
  if (options->job != BenchJob::kSteady) {
    AddCount(app, "--messages", &options->messages, "how many are put");
  }
  AddCount(app, "--size", &options->size, "bytes of body")
      ->check(CLI::Range(uint64_t{0}, uint64_t{4} << 20));
  app->add_option("--producers", options->producers, "threads that put")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  AddCount(app, "--in-flight", &options->in_flight,
           "not yet acknowledged, all producers together; fewer if they do "
           "not fit into the store's buffers")
      ->check(CLI::PositiveNumber);
  AddDuration(app, "--start", &options->start_ms,
              "how long after now the due times begin");
  AddDuration(app, "--spread", &options->spread_ms,
              "... and over how long a time they are spread");
}

void DeclareStore(CLI::App* app, BenchOptions* options) {
  app->add_option("--data", options->data,
                  "directory to work in; if not given, a fresh one in the "
                  "current directory")
      ->type_name("DIR");
  app->add_option("--sync", options->sync, "when a put is acknowledged")
      ->check(CLI::IsMember({"sync", "interval", "os"}))
      ->type_name("POLICY")
      ->capture_default_str();
  app->add_option("--retention-bytes", options->retention_bytes,
                  "how much commit log is kept; 0: all")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("BYTES")
      ->capture_default_str();
  app->add_flag("--keep", options->keep, "leave the directory behind");
  app->add_flag("--json", options->json, "print one JSON object");
}

void DeclareSteady(CLI::App* app, BenchOptions* options) {
  AddCount(app, "--rate", &options->rate, "puts a second")
      ->check(CLI::PositiveNumber);
  app->add_option("--seconds", options->seconds, "measured, after the warm-up")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_flag("--consumer,!--no-consumer", options->consumer,
                "somebody reads what becomes ready (default)");
}

void DeclareRestart(CLI::App* app, BenchOptions* options) {
  app->add_option("--rounds", options->rounds, "how often it is killed")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option("--seconds", options->seconds, "between start and kill")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  AddCount(app, "--compare", &options->compare_messages,
           "the small backlog that it is compared with; 0: none");
  // For the process that is killed; nobody else needs them.
  app->add_flag("--child", options->child)->group("");
  app->add_option("--killed-ms", options->killed_ms)->group("");
}

void DeclareSpecial(CLI::App* app, BenchOptions* options) {
  switch (options->job) {
    case BenchJob::kPut:
      app->add_option("--disk-seconds", options->disk_seconds,
                      "how long the disk's own rate is measured")
          ->check(CLI::PositiveNumber)
          ->capture_default_str();
      break;
    case BenchJob::kSteady:
      return DeclareSteady(app, options);
    case BenchJob::kRestart:
      return DeclareRestart(app, options);
    case BenchJob::kCancel:
      AddCount(app, "--cancels", &options->cancels,
               "how many of the messages; 0: all");
      break;
    default:
      break;
  }
}

absl::StatusOr<Report> RunJob(const Bench& bench) {
  switch (bench.options.job) {
    case BenchJob::kPut:
      return RunPutJob(bench);
    case BenchJob::kBurst:
      return RunBurstJob(bench);
    case BenchJob::kSteady:
      return RunSteadyJob(bench);
    case BenchJob::kBacklog:
      return RunBacklogJob(bench);
    case BenchJob::kRestart:
      return RunRestartJob(bench);
    case BenchJob::kCancel:
      return RunCancelJob(bench);
  }
  return absl::InvalidArgumentError("no such job");
}

// As the program's other commands end (broker/program/command.h).
constexpr int kOk = 0;
constexpr int kRefused = 1;
constexpr int kFailed = 2;

int Answer(const BenchConsole& console, const absl::Status& status) {
  if (status.ok()) return kOk;
  console.err(absl::StrCat("hourglass: bench: ", status.message(), "\n"));
  return absl::IsDataLoss(status) ? kRefused : kFailed;
}

}  // namespace

int RunBench(const BenchOptions& options, const BenchConsole& console) {
  const Bench bench = {options, &console};
  if (options.child) return Answer(console, RunRestartChild(bench));
  const auto report = RunJob(bench);
  if (!report.ok()) return Answer(console, report.status());
  return Answer(console, console.out(report->Text(options.json)));
}

BenchCommand::BenchCommand() {
  for (size_t i = 0; i < kBenchJobs.size(); ++i) {
    options_[i] = DefaultBenchOptions(kBenchJobs[i]);
  }
}

void BenchCommand::Declare(CLI::App* app) {
  app_ = app;
  app->description("Measures the store on this machine and disk");
  app->footer(kFooter);
  app->require_subcommand(1);
  for (BenchOptions& options : options_) {
    CLI::App* const job = app->add_subcommand(
        std::string(BenchJobName(options.job)), Description(options.job));
    DeclareLoad(job, &options);
    DeclareSpecial(job, &options);
    DeclareStore(job, &options);
  }
}

int BenchCommand::Run(const BenchConsole& console) const {
  for (const BenchOptions& options : options_) {
    if (app_->got_subcommand(std::string(BenchJobName(options.job)))) {
      return RunBench(options, console);
    }
  }
  return kFailed;
}

}  // namespace hourglass
