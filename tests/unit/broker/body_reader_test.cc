#include "broker/body_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "recovery/open_store.h"
#include "storage/checksum.h"
#include "storage/message_codec.h"
#include "storage/random.h"
#include "tests/support/test_store.h"

namespace hourglass {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class BodyReaderTest : public testing::Test {
 protected:
  BodyReaderTest() {
    auto state = OpenStore(box_.dir, box_.options, IfMissing::kCreate);
    EXPECT_TRUE(state.ok()) << state.status();
    state_ = *std::move(state);
  }

  DueEntry Place(const std::string& body, int64_t due_ms) {
    std::string payload;
    EncodeMessage(TestStore::View(body, due_ms), &payload);
    LogRecord record;
    record.kind = RecordKind::kDelayed;
    record.hour = HourOf(due_ms);
    record.number = *state_->applier.NextNumber(record.hour);
    record.payload = payload;
    const auto placed = state_->applier.Delayed(record, HashBytes(payload));
    EXPECT_TRUE(placed.ok()) << placed.status();
    return {placed->due_ms, placed->location, placed->number, placed->size};
  }

  // Bodies, in the order of the batch.
  std::vector<std::string> Read(const std::vector<DueEntry>& entries) {
    lost_.clear();
    BodyReader reader(state_.get(),
                      [this](const DueEntry& entry, const absl::Status& why) {
                        lost_[entry.key()] = TextOf(why);
                      });
    batch_ = reader.Read(entries);
    std::vector<std::string> bodies;
    for (const DeliveredBatch::Item& item : batch_->items) {
      EXPECT_EQ(item.payload_hash, HashBytes(item.payload));
      const auto message = DecodeMessage(item.payload);
      EXPECT_TRUE(message.ok()) << message.status();
      bodies.emplace_back(message->body);
    }
    return bodies;
  }

  TestStore box_;
  std::unique_ptr<StoreState> state_;
  std::unique_ptr<DeliveredBatch> batch_;
  std::map<DueKey, std::string> lost_;
};

// Found by the simulator: what stood in a buffer that could not be written was
// set aside as lost, and others of its millisecond were delivered before it.
TEST_F(BodyReaderTest, WhatCouldNotBeWrittenIsNotLostAndStopsTheStore) {
  const DueEntry entry = Place("buffered", box_.InMs(1000));
  box_.fs->FailAfter(MemoryOp::kWrite, 1, absl::DataLossError("bad"), false);
  BodyReader reader(state_.get(), [](const DueEntry&, const absl::Status& why) {
    ADD_FAILURE() << "set aside: " << why;
  });
  std::vector<DueEntry> later;
  EXPECT_THAT(reader.Read({entry}, &later, /*retry=*/false)->items, IsEmpty());
  EXPECT_EQ(later.size(), 1u);
  EXPECT_TRUE(absl::IsUnavailable(state_->failure)) << state_->failure;
}

TEST_F(BodyReaderTest, GivesBodiesInTheOrderAskedFor) {
  Random random(1);
  std::vector<DueEntry> entries;
  std::vector<std::string> bodies;
  for (int i = 0; i < 300; ++i) {
    bodies.push_back(std::string(random.Uniform(9000), 'a' + i % 26) +
                     std::to_string(i));
    entries.push_back(
        Place(bodies.back(),
              box_.InMs(static_cast<int64_t>(random.Uniform(3 * kMsPerHour)))));
  }
  for (size_t i = entries.size() - 1; i > 0; --i) {
    const size_t j = random.Uniform(i + 1);
    std::swap(entries[i], entries[j]);
    std::swap(bodies[i], bodies[j]);
  }
  // Some of them only: the runs have gaps.
  entries.resize(200);
  bodies.resize(200);
  EXPECT_EQ(Read(entries), bodies);
  EXPECT_THAT(lost_, IsEmpty());
}

TEST_F(BodyReaderTest, NeighboursAreReadTogether) {
  std::vector<DueEntry> entries;
  for (int i = 0; i < 100; ++i) entries.push_back(Place("x", box_.InMs(i)));
  Read(entries);
  const uint64_t reads = box_.fs->operations(MemoryOp::kRead);
  Read(entries);
  EXPECT_LE(box_.fs->operations(MemoryOp::kRead), reads + 2);
}

TEST_F(BodyReaderTest, EachBitOfABodyThatFlipsIsReported) {
  const DueEntry a = Place("a", box_.InMs(1));
  const DueEntry b = Place("b", box_.InMs(1));
  const DueEntry c = Place("c", box_.InMs(1));
  Read({a, b, c});
  const Path path = box_.dir / kHoursDirName / DelayLogName(a.hour());
  const std::string good = box_.fs->Content(path);
  for (size_t bit = b.location * 8; bit < (b.location + b.size) * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    box_.fs->SetContent(path, bytes);
    ASSERT_EQ(Read({a, b, c}), (std::vector<std::string>{"a", "c"})) << bit;
    ASSERT_EQ(lost_.size(), 1u);
    ASSERT_THAT(lost_[b.key()], HasSubstr(DelayLogName(b.hour())));
  }
}

TEST_F(BodyReaderTest, AFileThatEndsEarlyLosesOnlyWhatItLacks) {
  const DueEntry a = Place("a", box_.InMs(1));
  const DueEntry b = Place("b", box_.InMs(1));
  Read({a, b});
  const Path path = box_.dir / kHoursDirName / DelayLogName(a.hour());
  box_.fs->SetContent(
      path, box_.fs->Content(path).substr(0, b.location + b.size - 1));
  EXPECT_EQ(Read({b, a}), std::vector<std::string>{"a"});
  EXPECT_TRUE(lost_.contains(b.key()));
}

TEST_F(BodyReaderTest, AnHourWithoutFilesIsReported) {
  DueEntry stray;
  stray.due_ms = box_.InMs(100 * kMsPerHour);
  stray.number = RecordNumber(1);
  stray.size = 50;
  const DueEntry a = Place("a", box_.InMs(1));
  EXPECT_EQ(Read({stray, a}), std::vector<std::string>{"a"});
  EXPECT_TRUE(lost_.contains(stray.key()));
}

TEST_F(BodyReaderTest, ADiskThatCannotBeReadLosesTheRunAndNotTheStore) {
  const DueEntry a = Place("a", box_.InMs(1));
  Read({a});
  box_.fs->FailAfter(MemoryOp::kRead, 1, absl::DataLossError("bad block"),
                     false);
  EXPECT_THAT(Read({a}), IsEmpty());
  EXPECT_THAT(lost_[a.key()], HasSubstr("bad block"));
  EXPECT_EQ(Read({a}), std::vector<std::string>{"a"});
}

TEST_F(BodyReaderTest, WhatMayBeReadableLaterIsGivenBack) {
  const DueEntry a = Place("a", box_.InMs(1));
  const DueEntry b = Place("b", box_.InMs(2 * kMsPerHour));
  Read({a, b});
  BodyReader reader(state_.get(), [](const DueEntry&, const absl::Status& why) {
    ADD_FAILURE() << why;
  });
  box_.fs->FailAfter(MemoryOp::kRead, 1,
                     absl::ResourceExhaustedError("no file handle"), false);
  std::vector<DueEntry> later;
  const auto batch = reader.Read({a, b}, &later);
  ASSERT_EQ(later.size(), 1u);
  EXPECT_EQ(later[0].key(), a.key());
  ASSERT_EQ(batch->items.size(), 1u);
  EXPECT_EQ(batch->items[0].entry.key(), b.key());
}

}  // namespace
}  // namespace hourglass
