// `hourglass forecast`: how much comes when, as a bar chart.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "broker/program/command.h"
#include "broker/program/store_flags.h"
#include "broker/program/terminal.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "broker/text/timestamp.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kFooter[] =
    R"(Counts are of pending messages, by UTC hour; with --hour by second of it.

Note: opening the store also starts what is due; it becomes ready, and the next
`hourglass pipe` writes it.

Examples:
  hourglass forecast --data /tmp/d
  hourglass forecast --data /tmp/d --hour 2026-11-21T03
  hourglass forecast --data /tmp/d --json | jq '.hours[0]'

Exit codes: 0 done; 2 could not run.)";

constexpr int kBarWidthMax = 60;
constexpr int kOtherColumns = 46;  // beside the bar: start, counts, bytes

using Buckets = std::vector<ForecastBucket>;

void AppendBuckets(std::string_view name, const Buckets& buckets,
                   JsonObject* object, std::string* out) {
  object->Name(name);
  out->push_back('[');
  for (const ForecastBucket& bucket : buckets) {
    if (&bucket != &buckets.front()) out->push_back(',');
    JsonObject one(out);
    one.Int("start_ms", bucket.start_ms);
    one.Text("start", FormatTimestamp(bucket.start_ms));
    one.Uint("messages", bucket.messages).Uint("bytes", bucket.bytes).End();
  }
  out->push_back(']');
}

std::string Json(const Forecast& forecast, bool with_seconds) {
  std::string out;
  JsonObject object(&out);
  AppendBuckets("hours", forecast.hours, &object, &out);
  if (with_seconds) AppendBuckets("seconds", forecast.seconds, &object, &out);
  object.End();
  out.push_back('\n');
  return out;
}

std::string Chart(const Buckets& buckets, bool by_second, int columns) {
  if (buckets.empty()) return "nothing is pending\n";
  ForecastBucket sum;
  uint64_t most = 0;
  for (const ForecastBucket& bucket : buckets) {
    sum.messages += bucket.messages;
    sum.bytes += bucket.bytes;
    most = std::max(most, bucket.messages);
  }
  const int width = std::clamp(columns - kOtherColumns, 10, kBarWidthMax);
  Table table({{by_second ? "SECOND" : "HOUR (UTC)"},
               {"MESSAGES", Align::kRight},
               {"BYTES", Align::kRight},
               {""}});
  // "2026-11-21T03:00:07" or "2026-11-21T03"
  const size_t precision = by_second ? 19 : 13;
  for (const ForecastBucket& bucket : buckets) {
    table.Add({FormatTimestamp(bucket.start_ms).substr(0, precision),
               FormatCount(bucket.messages), FormatBytes(bucket.bytes),
               Bar(bucket.messages, most, width)});
  }
  table.Add({"all", FormatCount(sum.messages), FormatBytes(sum.bytes), ""});
  return table.ToString();
}

class ForecastCommand final : public Command {
 public:
  std::string_view name() const override { return "forecast"; }

  void Declare(CLI::App* app) override {
    app->description("Shows how much is due in each hour, or second of one");
    app->footer(kFooter);
    store_.Declare(app);
    app->add_option("--hour", hour_, "the seconds of this UTC hour")
        ->type_name("HOUR");
    app->add_flag("--json", json_, "print one JSON object");
  }

  int Run(const Console& console) override {
    Hour hour;
    if (!hour_.empty()) {
      const absl::StatusOr<Hour> parsed = ParseHour(hour_);
      if (!parsed.ok()) {
        return Fail(console, "",
                    absl::InvalidArgumentError(Concat(
                        "--hour: ", MessageOf(parsed.status()),
                        R"(; expected an hour such as "2026-11-21T03")")));
      }
      hour = *parsed;
    }
    return store_.WithStore(
        console, StoreFlags::Mode::kExisting,
        [&](DelayStore& store) { return Show(&store, console, hour); });
  }

 private:
  absl::StatusOr<int> Show(DelayStore* store, const Console& console,
                           Hour hour) const {
    ASSIGN_OR_RETURN(const Forecast forecast, store->GetForecast(hour));
    const bool by_second = !hour_.empty();
    RETURN_IF_ERROR(console.out->Write(
        json_ ? Json(forecast, by_second)
              : Chart(by_second ? forecast.seconds : forecast.hours, by_second,
                      console.out->columns())));
    return kExitOk;
  }

  StoreFlags store_;
  std::string hour_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeForecastCommand() {
  return std::make_unique<ForecastCommand>();
}

}  // namespace hourglass
