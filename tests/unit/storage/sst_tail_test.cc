#include "storage/sst_tail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <string>

#include "storage/rocks_file_system.h"
#include "tests/support/memory_file_system.h"

namespace hourglass {
namespace {

// A table as RocksDB writes it with the options of storage/checkpoint.cc.
class SstTailTest : public testing::Test {
 protected:
  SstTailTest() {
    const auto env =
        rocksdb::NewCompositeEnv(std::make_shared<RocksFileSystem>(&fs_));
    rocksdb::Options options;
    options.env = env.get();
    options.create_if_missing = true;
    rocksdb::BlockBasedTableOptions table;
    table.format_version = kSstFormatVersion;
    table.checksum = kSstChecksum;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    EXPECT_TRUE(fs_.CreateDir("/db").ok());
    rocksdb::DB* opened = nullptr;
    EXPECT_TRUE(rocksdb::DB::Open(options, "/db", &opened).ok());
    const std::unique_ptr<rocksdb::DB> db(opened);
    EXPECT_TRUE(db->Put({}, "key", "value").ok());
    EXPECT_TRUE(db->Flush({}).ok());
    const auto names = fs_.List("/db");
    EXPECT_TRUE(names.ok()) << names.status();
    if (!names.ok()) return;
    for (const std::string& name : *names) {
      if (name.ends_with(".sst")) path_ = "/db/" + name;
    }
    good_ = fs_.Content(path_);
  }

  absl::Status Check(const std::string& content) {
    fs_.SetContent(path_, content);
    const auto file = fs_.Open(path_, {.mode = OpenMode::kRead});
    return CheckSstTail(file->get(), path_);
  }

  MemoryFileSystem fs_;
  std::string path_;
  std::string good_;
};

TEST_F(SstTailTest, OfOurOptionsIsRight) {
  const absl::Status status = Check(good_);
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(SstTailTest, NoBitOfWhatSaysTheFormatMayBeAnother) {
  const size_t start = good_.size() - 53;
  for (size_t byte = 0; byte < 53; ++byte) {
    if (byte > 0 && byte < 41) continue;  // places of blocks
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good_;
      bad[start + byte] ^= static_cast<char>(1 << bit);
      const absl::Status status = Check(bad);
      EXPECT_TRUE(absl::IsDataLoss(status)) << byte << "." << bit;
      EXPECT_THAT(std::string(status.message()), testing::HasSubstr(path_));
    }
  }
}

// All that RocksDB parses before it has verified it: from the properties on.
TEST_F(SstTailTest, NoBitOfThePropertiesMayBeAnother) {
  const size_t properties = good_.find("rocksdb.");
  ASSERT_NE(properties, std::string::npos);
  for (size_t byte = properties - 3; byte < good_.size() - 53; ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good_;
      bad[byte] ^= static_cast<char>(1 << bit);
      const absl::Status status = Check(bad);
      EXPECT_TRUE(absl::IsDataLoss(status)) << byte << "." << bit;
    }
  }
}

TEST_F(SstTailTest, ACutTableIsRefused) {
  for (const size_t size : {size_t{0}, size_t{52}, good_.size() - 1}) {
    EXPECT_TRUE(absl::IsDataLoss(Check(good_.substr(0, size)))) << size;
  }
}

}  // namespace
}  // namespace hourglass
