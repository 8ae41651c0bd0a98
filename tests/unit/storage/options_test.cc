#include "hourglass/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace hourglass {
namespace {

using testing::HasSubstr;

TEST(OptionsTest, DefaultsMakeSense) {
  EXPECT_TRUE(StoreOptions().Validate().ok());
}

TEST(OptionsTest, EachOptionThatMakesNoSenseIsNamed) {
  using Change = std::function<void(StoreOptions*)>;
  const std::vector<std::pair<std::string, Change>> cases = {
      {"clock", [](StoreOptions* o) { o->clock = nullptr; }},
      {"file_system", [](StoreOptions* o) { o->file_system = nullptr; }},
      {"sync_interval_ms", [](StoreOptions* o) { o->sync_interval_ms = 0; }},
      {"checkpoint_interval_ms",
       [](StoreOptions* o) { o->checkpoint_interval_ms = 0; }},
      {"delay_ms_max", [](StoreOptions* o) { o->delay_ms_max = -1; }},
      {"log_segment_bytes",
       [](StoreOptions* o) { o->log_segment_bytes = 100'000; }},
      {"log_segment_bytes",
       [](StoreOptions* o) { o->log_segment_bytes = 32u << 10; }},
      {"body_bytes_max", [](StoreOptions* o) { o->body_bytes_max = 9u << 20; }},
      {"batch_bytes_max",
       [](StoreOptions* o) { o->batch_bytes_max = 8u << 20; }},
      {"unsynced_bytes_max",
       [](StoreOptions* o) { o->unsynced_bytes_max = 1u << 20; }},
      {"batch_messages_max",
       [](StoreOptions* o) { o->batch_messages_max = 1; }},
      {"batch_bytes_max", [](StoreOptions* o) { o->batch_bytes_max = 0; }},
      {"batches_in_flight_max",
       [](StoreOptions* o) { o->batches_in_flight_max = 0; }},
      {"open_segments_max", [](StoreOptions* o) { o->open_segments_max = 3; }},
      {"open_topics_max", [](StoreOptions* o) { o->open_topics_max = 0; }},
      {"group_marks_max", [](StoreOptions* o) { o->group_marks_max = 0; }},
      {"preload_ahead_ms", [](StoreOptions* o) { o->preload_ahead_ms = -1; }},
      {"preload_workers", [](StoreOptions* o) { o->preload_workers = 0; }},
      {"unreadable_retry_ms",
       [](StoreOptions* o) { o->unreadable_retry_ms = -1; }},
  };
  for (const auto& [name, change] : cases) {
    StoreOptions options;
    change(&options);
    const absl::Status status = options.Validate();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << name;
    EXPECT_THAT(std::string(status.message()), HasSubstr(name));
  }
}

TEST(OptionsTest, SyncPoliciesHaveNames) {
  for (const SyncPolicy policy :
       {SyncPolicy::kSync, SyncPolicy::kInterval, SyncPolicy::kOs}) {
    const auto parsed = ParseSyncPolicy(SyncPolicyName(policy));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, policy);
  }
  const auto unknown = ParseSyncPolicy("never");
  EXPECT_TRUE(absl::IsInvalidArgument(unknown.status()));
  EXPECT_THAT(std::string(unknown.status().message()),
              HasSubstr("sync, interval or os"));
}

}  // namespace
}  // namespace hourglass
