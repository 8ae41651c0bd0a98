// File: top_pages.h
//
// The admin API's answers as `hourglass top` asks for them, made of few
// numbers.
//
//   TopNumbers numbers;
//   numbers.put = 100;
//   TopPages pages = MakeTopPages(numbers);
#ifndef HOURGLASS_TESTS_SUPPORT_TOP_PAGES_H_
#define HOURGLASS_TESTS_SUPPORT_TOP_PAGES_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "broker/program/admin_pages.h"

namespace hourglass {

struct TopNumbers {
  uint64_t put = 0, delivered = 0, pending = 0;
  // Lateness: so many up to 1 ms, up to 10 ms, and in all.
  uint64_t late_1ms = 0, late_10ms = 0, late_all = 0;
  uint64_t due_this_second = 0;
  int up = 1;
};

inline std::string HistogramText(const std::string& name, uint64_t in_1ms,
                                 uint64_t in_10ms, uint64_t all) {
  return absl::StrCat("# TYPE ", name, " histogram\n", name, "_count ", all,
                      "\n", name, "_sum 1\n", name, "_bucket{le=\"0.001\"} ",
                      in_1ms, "\n", name, "_bucket{le=\"0.01\"} ", in_10ms,
                      "\n", name, "_bucket{le=\"+Inf\"} ", all, "\n");
}

inline TopPages MakeTopPages(const TopNumbers& numbers) {
  TopPages pages;
  pages.metrics = absl::StrCat(
      "# HELP hourglass_up 0 when\nhourglass_up ", numbers.up,
      "\nhourglass_put_messages_total ", numbers.put,
      "\nhourglass_put_bytes_total 1e3\nhourglass_delivered_messages_total ",
      numbers.delivered,
      "\nhourglass_at_once_messages_total 0\n"
      "hourglass_cancelled_messages_total 0\n"
      "hourglass_lost_messages_total 0\nhourglass_log_syncs_total 7\n"
      "hourglass_pending_messages ",
      numbers.pending,
      "\nhourglass_pending_bytes 2048\n"
      "hourglass_oldest_undelivered_seconds 0\n"
      "hourglass_checkpoint_age_seconds 12.5\nhourglass_log_bytes 1048576\n"
      "hourglass_topic_ready_messages{topic=\"a b\"} 3\n",
      HistogramText("hourglass_lateness_seconds", numbers.late_1ms,
                    numbers.late_10ms, numbers.late_all),
      HistogramText("hourglass_sync_seconds", 0, 4, 4));
  std::string sixty = absl::StrCat("[", numbers.due_this_second);
  for (int i = 1; i < 60; ++i) sixty += ",0";
  sixty += "]";
  pages.forecast = absl::StrCat(
      R"({"now":"2026-11-21T03:00:00.000Z","overdue":0,"seconds":)", sixty,
      ",\"minutes\":", sixty, R"(,"hours":[],"later":0})");
  pages.groups =
      R"({"groups":[{"topic":"t","group":"near","next":5,"lag":1,"leased":0,)"
      R"("waiting_retry":0,"dead_letters":0},{"topic":"t","group":"far",)"
      R"("next":2,"lag":12345,"leased":2,"waiting_retry":3,)"
      R"("dead_letters":4}]})";
  return pages;
}

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SUPPORT_TOP_PAGES_H_
