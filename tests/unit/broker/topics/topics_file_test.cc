#include "broker/topics/topics_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "storage/checksum.h"
#include "tests/support/memory_file_system.h"

namespace hourglass {
namespace {

using ::testing::HasSubstr;

TopicKinds Kinds(const char* text) { return *TopicKinds::Parse(text); }

// The worked example of docs/formats/topics.md.
KeptTopics Sample() {
  return {{"bills", Kinds("NORMAL+DELAY")},
          {"eu%orders", Kinds("FIFO")},
          {"orders", TopicKinds()}};
}

// A durable directory /store.
std::unique_ptr<MemoryFileSystem> NewDisk() {
  auto fs = std::make_unique<MemoryFileSystem>();
  EXPECT_TRUE(fs->CreateDir("/store").ok());
  EXPECT_TRUE(fs->SyncDir("/").ok());
  return fs;
}

std::string BytesOf(const KeptTopics& topics) {
  auto fs = NewDisk();
  EXPECT_TRUE(WriteTopicsFile(fs.get(), "/store", topics).ok());
  return fs->Content("/store/topics");
}

absl::StatusOr<KeptTopics> ReadBytes(const std::string& bytes) {
  auto fs = NewDisk();
  fs->SetContent("/store/topics", bytes);
  const uint64_t before = fs->operations(MemoryOp::kWrite);
  auto topics = ReadTopicsFile(fs.get(), "/store");
  EXPECT_EQ(fs->Content("/store/topics"), bytes);
  EXPECT_EQ(fs->operations(MemoryOp::kWrite), before);
  return topics;
}

// With the checksum that it should have.
std::string Sealed(const std::string& body) {
  return absl::StrCat(body, "checksum ",
                      absl::Hex(HashBytes(body), absl::kZeroPad16), "\n");
}

TEST(TopicsFile, IsReadAsWritten) {
  for (const KeptTopics& topics : {Sample(), KeptTopics()}) {
    auto fs = NewDisk();
    ASSERT_TRUE(WriteTopicsFile(fs.get(), "/store", topics).ok());
    const auto read = ReadTopicsFile(fs.get(), "/store");
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, topics);
    EXPECT_THAT(*fs->List("/store"), ::testing::ElementsAre("topics"));
  }
}

TEST(TopicsFile, NoFileMeansNoTopics) {
  auto fs = NewDisk();
  EXPECT_EQ(*ReadTopicsFile(fs.get(), "/store"), KeptTopics());
  EXPECT_EQ(*ReadTopicsFile(fs.get(), "/nothing"), KeptTopics());
}

std::string GoldenBytes() {
  std::stringstream golden;
  golden << std::ifstream(std::string(HOURGLASS_GOLDEN_DIR) + "/topics",
                          std::ios::binary)
                .rdbuf();
  return golden.str();
}

TEST(TopicsFile, TheGoldenFileIsWhatIsWrittenAndIsRead) {
  EXPECT_EQ(BytesOf(Sample()), GoldenBytes())
      << "the format changed; old files cannot be read";
  const auto read = ReadBytes(GoldenBytes());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, Sample());
}

// --- damage ---

void ExpectDamage(const std::string& bytes, size_t at) {
  const absl::Status status = ReadBytes(bytes).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << at << " " << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("/store/topics"));
}

TEST(TopicsFile, EveryFlippedBitIsDamage) {
  const std::string good = BytesOf(Sample());
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
    ExpectDamage(bytes, bit);
  }
}

TEST(TopicsFile, EveryTruncationAndEveryTailIsDamage) {
  const std::string good = BytesOf(Sample());
  for (size_t size = 0; size < good.size(); ++size) {
    ExpectDamage(good.substr(0, size), size);
    // Cut and refilled with zeros, as after a lost block.
    ExpectDamage(good.substr(0, size) + std::string(good.size() - size, '\0'),
                 size);
    if (size > 0) ExpectDamage(good.substr(size), size);
  }
  for (const char* tail : {"\n", "x", "checksum 0123456789abcdef\n"}) {
    ExpectDamage(good + tail, good.size());
  }
  ExpectDamage(good + good, good.size());
}

TEST(TopicsFile, EverySwapAndEveryCopyOfALineIsDamage) {
  const std::string good = BytesOf(Sample());
  std::vector<std::string> lines;
  std::stringstream in(good);
  for (std::string line; std::getline(in, line);) lines.push_back(line + "\n");
  ASSERT_EQ(lines.size(), 5u);
  const auto joined = [](const std::vector<std::string>& all) {
    std::string text;
    for (const std::string& line : all) text += line;
    return text;
  };
  for (size_t a = 0; a < lines.size(); ++a) {
    std::vector<std::string> without = lines;
    without.erase(without.begin() + static_cast<ptrdiff_t>(a));
    ExpectDamage(joined(without), a);
    std::vector<std::string> twice = lines;
    twice.insert(twice.begin() + static_cast<ptrdiff_t>(a), lines[a]);
    ExpectDamage(joined(twice), a);
    for (size_t b = a + 1; b < lines.size(); ++b) {
      std::vector<std::string> swapped = lines;
      std::swap(swapped[a], swapped[b]);
      ExpectDamage(joined(swapped), a);
    }
  }
}

// A good checksum over what no program writes.
TEST(TopicsFile, ForeignContentIsDamage) {
  const std::string head = "HOURGLASS-TOPICS 1\n";
  ASSERT_TRUE(ReadBytes(Sealed(head + "a FIFO\n")).ok());
  const std::string bodies[] = {
      "",
      "a FIFO\n",
      "HOURGLASS-TOPIC 1\n",
      "HOURGLASS-TOPICS x\n",
      "HOURGLASS-TOPICS 1",
      head + "a FIFO",
      head + "\n",
      head + "a\n",
      head + "a \n",
      head + " FIFO\n",
      head + "a LITE\n",
      head + "a DELAY+NORMAL\n",
      head + "a NORMAL+NORMAL\n",
      head + "a FIFO \n",
      head + "a/b FIFO\n",
      head + "a FIFO\na FIFO\n",
      head + "b FIFO\na FIFO\n",
  };
  for (const std::string& body : bodies) {
    SCOPED_TRACE(body);
    ExpectDamage(Sealed(body), body.size());
  }
}

TEST(TopicsFile, NamesBothVersions) {
  const absl::Status status =
      ReadBytes(Sealed("HOURGLASS-TOPICS 77\nwhat it may be\n")).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("/store/topics"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 77"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 1"));
}

// --- crashes ---

KeptTopics Only(const char* name) { return {{name, Kinds("FIFO")}}; }

TEST(TopicsFile, SurvivesEveryCrashOnceWritten) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    for (const int keep_percent : {0, 50, 100}) {
      auto fs = NewDisk();
      ASSERT_TRUE(WriteTopicsFile(fs.get(), "/store", Only("a")).ok());
      ASSERT_TRUE(WriteTopicsFile(fs.get(), "/store", Sample()).ok());
      auto after = fs->CrashClone(seed, keep_percent);
      const auto read = ReadTopicsFile(after.get(), "/store");
      ASSERT_TRUE(read.ok()) << seed << " " << read.status();
      EXPECT_EQ(*read, Sample());
    }
  }
}

// Power is lost at each step of a second write: the old topics or the new ones
// are there, whole, and writing again works.
TEST(TopicsFile, ACrashLeavesTheOldOrTheNew) {
  int fresh = 0;
  int total = 0;
  for (int step = 1; step <= 6; ++step) {
    for (uint64_t seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(testing::Message() << "step " << step << " seed " << seed);
      auto fs = NewDisk();
      ASSERT_TRUE(WriteTopicsFile(fs.get(), "/store", Only("a")).ok());
      fs->FailAfter(MemoryOp::kAny, step, absl::DataLossError("cut"), true);
      ASSERT_FALSE(WriteTopicsFile(fs.get(), "/store", Only("b")).ok());
      auto after = fs->CrashClone(seed, static_cast<int>(seed % 3) * 50);
      const auto read = ReadTopicsFile(after.get(), "/store");
      ASSERT_TRUE(read.ok()) << read.status();
      const bool is_new = *read == Only("b");
      EXPECT_TRUE(is_new || *read == Only("a"));
      fresh += is_new;
      ++total;
      EXPECT_TRUE(WriteTopicsFile(after.get(), "/store", Only("c")).ok());
      EXPECT_EQ(*ReadTopicsFile(after.get(), "/store"), Only("c"));
    }
  }
  EXPECT_GT(fresh, 0);
  EXPECT_LT(fresh, total);
}

TEST(TopicsFile, ReportsEveryFailedStep) {
  for (int step = 1; step <= 6; ++step) {
    auto fs = NewDisk();
    fs->FailAfter(MemoryOp::kAny, step, absl::DataLossError("cut"), false);
    const absl::Status status = WriteTopicsFile(fs.get(), "/store", Sample());
    EXPECT_TRUE(absl::IsDataLoss(status)) << step << " " << status;
  }
  auto unread = NewDisk();
  unread->SetContent("/store/topics", BytesOf(Sample()));
  unread->FailAfter(MemoryOp::kRead, 1, absl::DataLossError("cut"), false);
  EXPECT_TRUE(
      absl::IsDataLoss(ReadTopicsFile(unread.get(), "/store").status()));
}

}  // namespace
}  // namespace hourglass
