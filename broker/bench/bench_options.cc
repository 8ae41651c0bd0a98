#include "broker/bench/bench_options.h"

namespace hourglass {
namespace {

constexpr int64_t kSecondMs = 1000;
constexpr int64_t kMinuteMs = 60 * kSecondMs;
constexpr int64_t kHourMs = 60 * kMinuteMs;
constexpr int64_t kDayMs = 24 * kHourMs;

// Backlogs are larger than two copies of them may be: their log is cut.
constexpr uint64_t kBacklogRetentionBytes = 1u << 30;

}  // namespace

std::string_view BenchJobName(BenchJob job) {
  switch (job) {
    case BenchJob::kPut:
      return "put";
    case BenchJob::kBurst:
      return "burst";
    case BenchJob::kSteady:
      return "steady";
    case BenchJob::kBacklog:
      return "backlog";
    case BenchJob::kRestart:
      return "restart";
    case BenchJob::kCancel:
      return "cancel";
  }
  return "unknown";
}

BenchOptions DefaultBenchOptions(BenchJob job) {
  BenchOptions options;
  options.job = job;
  switch (job) {
    case BenchJob::kPut:
      options.messages = 5'000'000;
      // Not at once: what becomes due meanwhile would be a second load.
      options.start_ms = 10 * kMinuteMs;
      options.spread_ms = kDayMs;
      break;
    case BenchJob::kBurst:
      options.messages = 1'000'000;
      options.start_ms = 20 * kSecondMs;
      break;
    case BenchJob::kSteady:
      options.rate = 50'000;
      options.seconds = 60;
      options.producers = 2;
      options.start_ms = 1 * kSecondMs;
      options.spread_ms = 9 * kSecondMs;
      break;
    case BenchJob::kBacklog:
    case BenchJob::kRestart:
      options.messages = 100'000'000;
      options.start_ms = kHourMs;
      options.spread_ms = 30 * kDayMs;
      options.retention_bytes = kBacklogRetentionBytes;
      options.seconds = 1;
      break;
    case BenchJob::kCancel:
      options.messages = 1'000'000;
      options.start_ms = kHourMs;
      options.spread_ms = kDayMs;
      break;
  }
  return options;
}

}  // namespace hourglass
