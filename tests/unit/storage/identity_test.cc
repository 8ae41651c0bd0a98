#include "storage/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "storage/checksum.h"
#include "storage/coding.h"
#include "tests/support/memory_file_system.h"

namespace hourglass {
namespace {

using ::testing::HasSubstr;

StoreIdentity SampleIdentity(char fill = 'i') {
  StoreIdentity identity;
  identity.store_id.bytes.fill(fill);
  identity.store_id.bytes[3] = '\x80';
  identity.created_ms = 1'735'689'600'123;
  return identity;
}

// A durable directory /store.
std::unique_ptr<MemoryFileSystem> NewDisk() {
  auto fs = std::make_unique<MemoryFileSystem>();
  EXPECT_TRUE(fs->CreateDir("/store").ok());
  EXPECT_TRUE(fs->SyncDir("/").ok());
  return fs;
}

std::string SampleBytes() {
  auto fs = NewDisk();
  EXPECT_TRUE(WriteIdentity(fs.get(), "/store", SampleIdentity()).ok());
  return fs->Content("/store/HOURGLASS");
}

absl::StatusOr<StoreIdentity> ReadBytes(const std::string& bytes) {
  auto fs = NewDisk();
  fs->SetContent("/store/HOURGLASS", bytes);
  return ReadIdentity(fs.get(), "/store");
}

TEST(Identity, IsReadAsWritten) {
  auto fs = NewDisk();
  ASSERT_TRUE(WriteIdentity(fs.get(), "/store", SampleIdentity()).ok());
  const auto identity = ReadIdentity(fs.get(), "/store");
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(*identity, SampleIdentity());
  EXPECT_THAT(*fs->List("/store"), ::testing::ElementsAre("HOURGLASS"));
}

TEST(Identity, HasTheDocumentedLayout) {
  const std::string bytes = SampleBytes();
  ASSERT_EQ(bytes.size(), 64u);
  EXPECT_EQ(bytes.substr(0, 8), "HGLASSID");
  EXPECT_EQ(GetFixed<uint32_t>(&bytes[8]), 1u);
  EXPECT_EQ(GetFixed<uint32_t>(&bytes[12]), 0u);
  EXPECT_EQ(bytes.substr(16, 16), SampleIdentity().store_id.view());
  EXPECT_EQ(GetFixed<int64_t>(&bytes[32]), 1'735'689'600'123);
  EXPECT_EQ(bytes.substr(40, 16), std::string(16, '\0'));
  EXPECT_EQ(GetFixed<uint64_t>(&bytes[56]), HashBytes(bytes.substr(0, 56)));
}

// --- golden file ---

// The worked example of docs/formats/identity.md.
StoreIdentity GoldenIdentity() {
  StoreIdentity identity;
  for (size_t i = 0; i < identity.store_id.bytes.size(); ++i) {
    identity.store_id.bytes[i] = static_cast<char>(i + 1);
  }
  identity.created_ms = 1'795'219'200'000;  // 2026-11-21T00:00:00Z
  return identity;
}

std::string GoldenBytes() {
  std::stringstream golden;
  golden << std::ifstream(std::string(HOURGLASS_GOLDEN_DIR) + "/HOURGLASS",
                          std::ios::binary)
                .rdbuf();
  return golden.str();
}

TEST(Identity, TheGoldenFileIsWhatIsWritten) {
  auto fs = NewDisk();
  ASSERT_TRUE(WriteIdentity(fs.get(), "/store", GoldenIdentity()).ok());
  EXPECT_EQ(absl::BytesToHexString(fs->Content("/store/HOURGLASS")),
            absl::BytesToHexString(GoldenBytes()))
      << "the format changed; old stores cannot be read";
}

TEST(Identity, TheGoldenFileIsRead) {
  const auto identity = ReadBytes(GoldenBytes());
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(*identity, GoldenIdentity());
}

// --- damage ---

TEST(Identity, AnotherDirectoryIsNotAStore) {
  auto fs = NewDisk();
  const absl::Status status = ReadIdentity(fs.get(), "/store").status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_EQ(status.message(),
            "/store is not a Hourglass store: it has no file HOURGLASS");
  EXPECT_TRUE(absl::IsNotFound(ReadIdentity(fs.get(), "/no").status()));
}

TEST(Identity, NamesBothVersions) {
  std::string bytes = SampleBytes();
  PutFixed<uint32_t>(&bytes[8], 77);
  PutFixed<uint64_t>(&bytes[56], HashBytes({bytes.data(), 56}));
  const absl::Status status = ReadBytes(bytes).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 77"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 1"));
}

// A good checksum over somebody else's 56 bytes.
TEST(Identity, ForeignMagicIsDamage) {
  std::string bytes = SampleBytes();
  bytes[0] = 'X';
  PutFixed<uint64_t>(&bytes[56], HashBytes({bytes.data(), 56}));
  EXPECT_TRUE(absl::IsDataLoss(ReadBytes(bytes).status()));
}

void ExpectDamage(const std::string& bytes, size_t at) {
  const absl::Status status = ReadBytes(bytes).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << at << " " << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("/store/HOURGLASS"));
}

// Zeros included: no bit of the 64 bytes is without meaning.
TEST(Identity, EveryFlippedBitIsDamage) {
  const std::string good = SampleBytes();
  ASSERT_TRUE(ReadBytes(good).ok());
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
    ExpectDamage(bytes, bit);
  }
}

TEST(Identity, EveryTruncationAndEveryTailIsDamage) {
  const std::string good = SampleBytes();
  for (size_t size = 0; size < good.size(); ++size) {
    ExpectDamage(good.substr(0, size), size);
    // Cut and refilled with zeros, as after a lost block.
    ExpectDamage(good.substr(0, size) + std::string(64 - size, '\0'), size);
  }
  ExpectDamage(good + '\0', 65);
  ExpectDamage(good + good, 128);
}

TEST(Identity, EverySwapOfEightBytesIsDamage) {
  const std::string good = SampleBytes();
  for (size_t a = 0; a < 64; a += 8) {
    for (size_t b = a + 8; b < 64; b += 8) {
      std::string bytes = good;
      std::swap_ranges(&bytes[a], &bytes[a + 8], &bytes[b]);
      if (bytes != good) ExpectDamage(bytes, a);
      std::string copied = good;
      copied.replace(b, 8, good, a, 8);
      if (copied != good) ExpectDamage(copied, a);
    }
  }
}

TEST(Identity, SurvivesEveryCrashOnceWritten) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    for (const int keep_percent : {0, 50, 100}) {
      auto fs = NewDisk();
      ASSERT_TRUE(WriteIdentity(fs.get(), "/store", SampleIdentity()).ok());
      auto after = fs->CrashClone(seed, keep_percent);
      const auto identity = ReadIdentity(after.get(), "/store");
      ASSERT_TRUE(identity.ok()) << seed << " " << identity.status();
      EXPECT_EQ(*identity, SampleIdentity());
    }
  }
}

// Power is lost at each step of a second WriteIdentity: the old identity or
// the new one is there, whole, and writing again works.
TEST(Identity, ACrashLeavesTheOldOrTheNew) {
  int fresh = 0;
  int total = 0;
  for (int step = 1; step <= 6; ++step) {
    for (uint64_t seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(testing::Message() << "step " << step << " seed " << seed);
      auto fs = NewDisk();
      ASSERT_TRUE(WriteIdentity(fs.get(), "/store", SampleIdentity('a')).ok());
      fs->FailAfter(MemoryOp::kAny, step, absl::DataLossError("cut"), true);
      ASSERT_FALSE(WriteIdentity(fs.get(), "/store", SampleIdentity('b')).ok());
      auto after = fs->CrashClone(seed, static_cast<int>(seed % 3) * 50);
      const auto identity = ReadIdentity(after.get(), "/store");
      ASSERT_TRUE(identity.ok()) << identity.status();
      const bool is_new = *identity == SampleIdentity('b');
      EXPECT_TRUE(is_new || *identity == SampleIdentity('a'));
      fresh += is_new;
      ++total;
      EXPECT_TRUE(
          WriteIdentity(after.get(), "/store", SampleIdentity('c')).ok());
      EXPECT_EQ(*ReadIdentity(after.get(), "/store"), SampleIdentity('c'));
    }
  }
  EXPECT_GT(fresh, 0);
  EXPECT_LT(fresh, total);
}

TEST(Identity, ReportsEveryFailedStep) {
  auto count = NewDisk();
  const uint64_t before = count->operations(MemoryOp::kAny);
  ASSERT_TRUE(WriteIdentity(count.get(), "/store", SampleIdentity()).ok());
  const int steps =
      static_cast<int>(count->operations(MemoryOp::kAny) - before);
  EXPECT_EQ(steps, 6);
  for (int step = 1; step <= steps; ++step) {
    auto fs = NewDisk();
    fs->FailAfter(MemoryOp::kAny, step, absl::DataLossError("cut"), false);
    const absl::Status status =
        WriteIdentity(fs.get(), "/store", SampleIdentity());
    EXPECT_TRUE(absl::IsDataLoss(status)) << step << " " << status;
  }
}

}  // namespace
}  // namespace hourglass
