// File: report.h
//
// What a job found, as one JSON object: the program prints it as it is
// (--json) or as a table for people, so that both always say the same.
//
//   Report report(options);
//   report.Set("messages", 5'000'000);
//   report.Set("ack_us", Percentiles(ack_us));
//   console.out(report.Text(options.json));
//
// Units stand in the names. Numbers that are not counts are rounded to what
// the measurement can tell.
//
// Threads: none of its own.
//
// Measures what the promises cost, in named units.
#ifndef HOURGLASS_BROKER_BENCH_REPORT_H_
#define HOURGLASS_BROKER_BENCH_REPORT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "broker/bench/bench_options.h"
#include "broker/bench/process_stats.h"
#include "hourglass/histogram.h"

namespace hourglass {

using Json = nlohmann::ordered_json;

// {p50, p99, p99_9, max}, each divided by `divisor`; whole numbers if it is 1.
Json Percentiles(const Histogram& values, double divisor = 1);

// Rounded to three places behind the point.
double Rounded(double value);
// `count / seconds`, rounded; 0 if there was no time.
uint64_t PerSecond(uint64_t count, double seconds);

std::string Grouped(uint64_t count);  // "1,234,567"

class Report {
 public:
  // Begins with the job and the options it was given.
  explicit Report(const BenchOptions& options);

  void Set(const std::string& name, Json value) {
    fields_[name] = std::move(value);
  }
  // `<prefix>messages`, `<prefix>seconds` and `<prefix>messages_per_s`.
  void SetRate(const std::string& prefix, uint64_t messages, double seconds);
  // Memory now; processor time and disk bytes since `before`.
  void SetProcess(const ProcessStats& before, const ProcessStats& now);

  const Json& fields() const { return fields_; }
  // One line of JSON, or a table.
  std::string Text(bool json) const;

 private:
  Json fields_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_BENCH_REPORT_H_
