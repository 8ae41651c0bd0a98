#include "broker/topics/topic_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "broker/text.h"
#include "tests/support/memory_file_system.h"

namespace hourglass {
namespace {

using ::testing::HasSubstr;

TopicKinds Kinds(const char* text) { return *TopicKinds::Parse(text); }

struct Disk {
  MemoryFileSystem fs;

  Disk() {
    EXPECT_TRUE(fs.CreateDir("/d").ok());
    EXPECT_TRUE(fs.SyncDir("/").ok());
  }
  std::unique_ptr<TopicCatalog> Open(const TopicCatalogOptions& options = {}) {
    auto catalog = TopicCatalog::Open(&fs, "/d", options);
    EXPECT_TRUE(catalog.ok()) << catalog.status();
    return *std::move(catalog);
  }
};

TopicCatalogOptions NoAutoCreate() {
  TopicCatalogOptions options;
  options.auto_create = false;
  return options;
}

TEST(TopicCatalog, FirstUse) {
  Disk disk;
  const auto topic = disk.Open()->Find("any");
  ASSERT_TRUE(topic.has_value());
  EXPECT_EQ(topic->origin, TopicOrigin::kFirstUse);
  EXPECT_EQ(topic->kinds, TopicKinds());
  const auto strict = disk.Open(NoAutoCreate());
  EXPECT_FALSE(strict->Find("any").has_value());
  EXPECT_TRUE(strict->Find("%DLQ%g").has_value());
  EXPECT_TRUE(strict->List()->empty());
  EXPECT_FALSE(*disk.fs.Exists("/d/topics"));
}

TEST(TopicCatalog, WhatIsMadeSurvivesARestart) {
  Disk disk;
  {
    const auto catalog = disk.Open(NoAutoCreate());
    EXPECT_EQ(*catalog->Put("orders", Kinds("FIFO")), TopicChange::kCreated);
    EXPECT_EQ(*catalog->Put("bills", TopicKinds()), TopicChange::kCreated);
    EXPECT_EQ(*catalog->Put("bills", Kinds("DELAY")), TopicChange::kChanged);
    EXPECT_EQ(*catalog->Put("gone", TopicKinds()), TopicChange::kCreated);
    EXPECT_TRUE(catalog->Forget("gone").ok());
    EXPECT_FALSE(catalog->Find("gone").has_value());
  }
  const auto after = disk.fs.CrashClone(1, 0);
  const auto again = TopicCatalog::Open(after.get(), "/d", NoAutoCreate());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->List()->size(), 2u);
  EXPECT_EQ((*again)->Find("orders")->kinds, Kinds("FIFO"));
  EXPECT_EQ((*again)->Find("bills")->kinds, Kinds("DELAY"));
  EXPECT_EQ((*again)->Find("bills")->origin, TopicOrigin::kAdmin);
  EXPECT_FALSE((*again)->Find("gone").has_value());
}

TEST(TopicCatalog, WhatChangesNothingWritesNothing) {
  Disk disk;
  const auto catalog = disk.Open();
  ASSERT_TRUE(catalog->Put("a", Kinds("FIFO")).ok());
  const uint64_t syncs = disk.fs.syncs();
  EXPECT_EQ(*catalog->Put("a", Kinds("FIFO")), TopicChange::kUnchanged);
  EXPECT_TRUE(absl::IsNotFound(catalog->Forget("b")));
  EXPECT_TRUE(absl::IsInvalidArgument(catalog->Put("b/", {}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(catalog->Put("%HALF%", {}).status()));
  EXPECT_EQ(disk.fs.syncs(), syncs);
}

TEST(TopicCatalog, AFlagWinsAndIsNotChanged) {
  Disk disk;
  ASSERT_TRUE(disk.Open()->Put("bills", Kinds("FIFO")).ok());
  TopicCatalogOptions options = NoAutoCreate();
  options.named = {"bills:NORMAL+DELAY", "orders"};
  {
    const auto catalog = disk.Open(options);
    EXPECT_EQ(catalog->Find("bills")->kinds, Kinds("NORMAL+DELAY"));
    EXPECT_EQ(catalog->Find("bills")->origin, TopicOrigin::kFlag);
    EXPECT_EQ(catalog->Find("orders")->kinds, TopicKinds());
    for (const absl::Status& status :
         {catalog->Put("bills", {}).status(), catalog->Forget("bills")}) {
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("--topic"));
    }
    // Nor is it lost when another is written.
    ASSERT_TRUE(catalog->Put("other", {}).ok());
  }
  const auto without = disk.Open(NoAutoCreate());
  EXPECT_EQ(without->Find("bills")->kinds, Kinds("FIFO"));
  EXPECT_FALSE(without->Find("orders").has_value());
}

TEST(TopicCatalog, WrongFlagsAreNamed) {
  for (const char* text : {"a:LITE", "a b", ":NORMAL", "%HALF%"}) {
    TopicCatalogOptions options;
    options.named = {text};
    EXPECT_TRUE(
        absl::IsInvalidArgument(TopicCatalog::InMemory(options).status()))
        << text;
  }
}

TEST(TopicCatalog, SoManyAndNoMore) {
  Disk disk;
  TopicCatalogOptions options;
  options.topics_max = 3;
  options.named = {"flag"};
  const auto catalog = disk.Open(options);
  ASSERT_TRUE(catalog->Put("a", {}).ok());
  ASSERT_TRUE(catalog->Put("b", {}).ok());
  const absl::Status full = catalog->Put("c", {}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_THAT(std::string(full.message()), HasSubstr("topics_max"));
  EXPECT_EQ(*catalog->Put("a", Kinds("FIFO")), TopicChange::kChanged);
  ASSERT_TRUE(catalog->Forget("b").ok());
  EXPECT_TRUE(catalog->Put("c", {}).ok());
  // A smaller bound takes nothing away.
  options.topics_max = 1;
  EXPECT_EQ(disk.Open(options)->List()->size(), 3u);
  options.named = {"x", "y"};
  EXPECT_TRUE(absl::IsInvalidArgument(
      TopicCatalog::Open(&disk.fs, "/d", options).status()));
}

TEST(TopicCatalog, ADamagedFileIsRefusedAndLeftAsItIs) {
  Disk disk;
  ASSERT_TRUE(disk.Open()->Put("a", {}).ok());
  std::string bytes = disk.fs.Content("/d/topics");
  bytes[20] ^= 1;
  disk.fs.SetContent("/d/topics", bytes);
  const auto catalog = TopicCatalog::Open(&disk.fs, "/d", {});
  EXPECT_TRUE(absl::IsDataLoss(catalog.status())) << catalog.status();
  EXPECT_THAT(std::string(catalog.status().message()),
              HasSubstr("move it away"));
  EXPECT_EQ(disk.fs.Content("/d/topics"), bytes);
}

// Wherever the disk fails: the error is told, what was there goes on, and the
// same change works when the disk does again.
TEST(TopicCatalog, AFailedChangeChangesNothingHere) {
  for (int step = 1; step <= 6; ++step) {
    SCOPED_TRACE(step);
    Disk disk;
    const auto catalog = disk.Open(NoAutoCreate());
    ASSERT_TRUE(catalog->Put("a", Kinds("FIFO")).ok());
    disk.fs.FailAfter(MemoryOp::kAny, step,
                      absl::ResourceExhaustedError("full"), true);
    EXPECT_FALSE(catalog->Put("a", {}).ok());
    EXPECT_FALSE(catalog->Put("b", {}).ok());
    EXPECT_FALSE(catalog->Forget("a").ok());
    EXPECT_EQ(catalog->Find("a")->kinds, Kinds("FIFO"));
    EXPECT_FALSE(catalog->Find("b").has_value());
    disk.fs.ClearFaults();
    // What the file has is not known, so this is written although it is the
    // same.
    const uint64_t syncs = disk.fs.syncs();
    EXPECT_TRUE(catalog->Put("a", Kinds("FIFO")).ok());
    EXPECT_GT(disk.fs.syncs(), syncs);
    const auto again = disk.Open(NoAutoCreate());
    EXPECT_EQ(again->List()->size(), 1u);
    EXPECT_EQ(again->Find("a")->kinds, Kinds("FIFO"));
  }
}

TEST(TopicCatalog, EachCatalogueSeesItsOwn) {
  const auto a = *TopicCatalog::InMemory(NoAutoCreate());
  const auto b = *TopicCatalog::InMemory(NoAutoCreate());
  ASSERT_TRUE(a->Put("t", Kinds("FIFO")).ok());
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(a->Find("t").has_value());
    EXPECT_FALSE(b->Find("t").has_value());
  }
  ASSERT_TRUE(b->Put("t", Kinds("DELAY")).ok());
  EXPECT_EQ(a->Find("t")->kinds, Kinds("FIFO"));
  EXPECT_EQ(b->Find("t")->kinds, Kinds("DELAY"));
}

// What a thread has put it finds, while others put and find.
TEST(TopicCatalog, ManyThreads) {
  Disk disk;
  const auto catalog = disk.Open(NoAutoCreate());
  ASSERT_TRUE(catalog->Put("always", Kinds("FIFO")).ok());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string name = Concat("t", t, "-", i);
        wrong += !catalog->Put(name, Kinds("DELAY")).ok();
        const auto found = catalog->Find(name);
        wrong += !found || found->kinds != Kinds("DELAY");
        if (i % 2 == 0) wrong += !catalog->Forget(name).ok();
        if (i % 2 == 0) wrong += catalog->Find(name).has_value();
        wrong += !catalog->Find("always").has_value();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(catalog->List()->size(), 101u);
  EXPECT_EQ(disk.Open()->List()->size(), 101u);
}

}  // namespace
}  // namespace hourglass
