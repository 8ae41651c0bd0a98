// File: test_store.h
//
// A whole store without threads on a disk in memory, with a clock that the
// test turns: what the tests of recovery/ and broker/ share.
//
//   TestStore box;
//   box.Open();
//   Handle handle = box.Put("hello", box.InMs(1500));
//   box.Advance(1500);
//   EXPECT_THAT(box.Ready(), ElementsAre("hello"));
//   box.Crash(/*keep_percent=*/0);
//   box.Open();
//
// Threads: none, unless options.threads is set.
#ifndef HOURGLASS_TESTS_SUPPORT_TEST_STORE_H_
#define HOURGLASS_TESTS_SUPPORT_TEST_STORE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hourglass/clock.h"
#include "hourglass/delay_store.h"
#include "tests/support/memory_file_system.h"

namespace hourglass {

inline std::string TextOf(const absl::Status& status) {
  return std::string(status.message());
}

struct TestStore {
  TestStore() : clock(StartMs(Hour{498'675})) {
    options.clock = &clock;
    options.file_system = fs.get();
    options.threads = false;
    options.log_segment_bytes = 256u << 10;
    options.body_bytes_max = 32u << 10;
    options.properties_bytes_max = 4u << 10;
    options.batch_bytes_max = 64u << 10;
    options.unsynced_bytes_max = 1u << 20;
    options.disk_reserve_bytes = 1u << 20;
  }

  absl::Status TryOpen(DeliverySink* sink = nullptr) {
    store.reset();
    auto opened = DelayStore::Open(dir, options, sink);
    if (opened.ok()) store = *std::move(opened);
    return opened.status();
  }
  void Open(DeliverySink* sink = nullptr) {
    const absl::Status status = TryOpen(sink);
    ASSERT_TRUE(status.ok()) << status;
  }

  int64_t InMs(int64_t ms) { return clock.NowMs() + ms; }

  static MessageView View(std::string_view body, int64_t due_ms) {
    MessageView view;
    view.topic = "t";
    view.body = body;
    view.due_ms = due_ms;
    return view;
  }
  absl::StatusOr<PutResult> TryPut(std::string_view body, int64_t due_ms) {
    return store->Put(View(body, due_ms));
  }
  Handle Put(std::string_view body, int64_t due_ms) {
    const auto put = TryPut(body, due_ms);
    EXPECT_TRUE(put.ok()) << put.status();
    return put.ok() ? put->handle : Handle();
  }
  CancelAnswer Cancel(const Handle& handle) {
    const auto answer = store->Cancel(handle);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or(CancelAnswer::kNeverExisted);
  }

  void Step() {
    while (store->Step()) {
    }
  }
  // In steps of at most a second, so that things happen in their order.
  void Advance(int64_t ms) {
    while (ms > 0) {
      const int64_t step = std::min<int64_t>(ms, 1000);
      clock.AdvanceMs(step);
      ms -= step;
      Step();
    }
  }

  // The bodies that consumers can read, in order.
  std::vector<std::string> Ready(std::string_view topic = "t") {
    std::vector<std::string> bodies;
    QueueIndex from = store->FirstReady(topic);
    while (true) {
      const auto read = store->ReadReady(topic, from, 1000, 1u << 20);
      if (!read.ok()) {
        // Nothing was ever ready in that topic.
        EXPECT_TRUE(bodies.empty() || absl::IsNotFound(read.status()))
            << read.status();
        return bodies;
      }
      if (read->empty()) return bodies;
      for (const ReadyMessage& ready : *read) {
        bodies.push_back(ready.message.body);
      }
      from = from + read->size();
    }
  }

  std::vector<std::string> Names(const Path& path) {
    const auto names = fs->List(path);
    EXPECT_TRUE(names.ok()) << names.status();
    return names.value_or(std::vector<std::string>());
  }

  // Power is lost: what was not synced is lost too, but for `keep_percent`.
  void Crash(int keep_percent, uint64_t seed = 1) {
    auto after = fs->CrashClone(seed, keep_percent);
    store.reset();
    fs = std::move(after);
    options.file_system = fs.get();
  }

  VirtualClock clock;
  std::unique_ptr<MemoryFileSystem> fs = std::make_unique<MemoryFileSystem>();
  const Path dir = "/store";
  StoreOptions options;
  std::unique_ptr<DelayStore> store;
};

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SUPPORT_TEST_STORE_H_
