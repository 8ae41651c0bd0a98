// File: bench_options.h
//
// What one `hourglass bench` job is told: its sizes, its load, where it runs.
// Every job has defaults of its own, those of the table in docs/benchmarks.md.
//
//   BenchOptions options = DefaultBenchOptions(BenchJob::kPut);
//   options.messages = 1000;
//
// Due times are now + start_ms + a random part of spread_ms; "now" is when
// the job begins to put, or for `steady` the moment of each put.
//
// Measures what the promises cost, with options that are reported.
#ifndef HOURGLASS_BROKER_BENCH_BENCH_OPTIONS_H_
#define HOURGLASS_BROKER_BENCH_BENCH_OPTIONS_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace hourglass {

enum class BenchJob { kPut, kBurst, kSteady, kBacklog, kRestart, kCancel };
inline constexpr std::array kBenchJobs = {
    BenchJob::kPut,     BenchJob::kBurst,   BenchJob::kSteady,
    BenchJob::kBacklog, BenchJob::kRestart, BenchJob::kCancel};
std::string_view BenchJobName(BenchJob job);

struct BenchOptions {
  BenchJob job = BenchJob::kPut;
  // --- load ---
  uint64_t messages = 0;
  uint64_t size = 256;  // bytes of body
  uint32_t producers = 8;
  uint64_t in_flight = 65536;  // not yet acknowledged, all producers together
  int64_t start_ms = 0;
  int64_t spread_ms = 0;
  // --- store ---
  std::string data;  // "" = a fresh directory in the current one
  std::string sync = "sync";
  uint64_t retention_bytes = 0;  // of the commit log; 0: any
  // --- report ---
  bool json = false;
  bool keep = false;  // the directory stays when the job is done
  // --- of some jobs only ---
  double disk_seconds = 2;  // put: how long the disk's own rate is measured
  uint64_t rate = 0;        // steady: puts a second, all producers together
  int64_t seconds = 0;      // steady: measured; restart: between two kills
  bool consumer = true;     // steady: somebody reads what becomes ready
  uint64_t cancels = 0;     // cancel: how many of the messages; 0: all
  uint32_t rounds = 5;      // restart: kills
  uint64_t compare_messages = 1'000'000;  // restart: the small backlog; 0: none
  // --- restart's child process ---
  bool child = false;
  int64_t killed_ms = 0;  // when the process before it was killed (UTC)
};

BenchOptions DefaultBenchOptions(BenchJob job);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_BENCH_BENCH_OPTIONS_H_
