#include "storage/rocks_file_system.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include "tests/support/memory_file_system.h"

namespace hourglass {
namespace {

using rocksdb::FileOptions;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

class RocksFileSystemTest : public testing::Test {
 protected:
  RocksFileSystemTest() { EXPECT_TRUE(disk_.CreateDir("/db").ok()); }

  std::unique_ptr<rocksdb::FSWritableFile> Create(const std::string& name) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    const IOStatus status =
        rocks_.NewWritableFile(name, FileOptions(), &file, nullptr);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return file;
  }
  static IOStatus Append(rocksdb::FSWritableFile* file,
                         const std::string& data) {
    return file->Append(data, IOOptions(), nullptr);
  }
  void Write(const std::string& name, const std::string& data) {
    EXPECT_TRUE(Append(Create(name).get(), data).ok());
  }

  MemoryFileSystem disk_;
  RocksFileSystem rocks_{&disk_};
};

TEST_F(RocksFileSystemTest, AppendsEndUpOnOurDisk) {
  const auto file = Create("/db/a");
  ASSERT_TRUE(Append(file.get(), "one").ok());
  ASSERT_TRUE(Append(file.get(), "two").ok());
  EXPECT_EQ(file->GetFileSize(IOOptions(), nullptr), 6u);
  EXPECT_EQ(disk_.syncs(), 0u);
  ASSERT_TRUE(file->Sync(IOOptions(), nullptr).ok());
  EXPECT_EQ(disk_.syncs(), 1u);
  ASSERT_TRUE(file->Fsync(IOOptions(), nullptr).ok());
  EXPECT_EQ(disk_.syncs(), 2u);
  ASSERT_TRUE(file->Close(IOOptions(), nullptr).ok());
  EXPECT_FALSE(Append(file.get(), "late").ok());
  EXPECT_EQ(disk_.Content("/db/a"), "onetwo");
}

TEST_F(RocksFileSystemTest, NoOptionsFileIsWritten) {
  std::unique_ptr<rocksdb::FSWritableFile> file;
  for (const char* name : {"/db/OPTIONS-000007", "OPTIONS-000007.dbtmp"}) {
    EXPECT_TRUE(rocks_.NewWritableFile(name, FileOptions(), &file, nullptr)
                    .IsNotSupported());
  }
  Write("/db/MY-OPTIONS-1", "another file");
}

TEST_F(RocksFileSystemTest, ANewWritableFileReplacesAReopenedOneGoesOn) {
  Write("/db/a", "long content");
  Write("/db/a", "new");
  EXPECT_EQ(disk_.Content("/db/a"), "new");
  std::unique_ptr<rocksdb::FSWritableFile> file;
  ASSERT_TRUE(
      rocks_.ReopenWritableFile("/db/a", FileOptions(), &file, nullptr).ok());
  ASSERT_TRUE(Append(file.get(), "er").ok());
  EXPECT_EQ(disk_.Content("/db/a"), "newer");
  ASSERT_TRUE(
      rocks_.ReopenWritableFile("/db/b", FileOptions(), &file, nullptr).ok());
  EXPECT_EQ(disk_.Content("/db/b"), "");
}

TEST_F(RocksFileSystemTest, TruncateMovesTheEnd) {
  const auto file = Create("/db/a");
  ASSERT_TRUE(Append(file.get(), "0123456789").ok());
  ASSERT_TRUE(file->Truncate(4, IOOptions(), nullptr).ok());
  ASSERT_TRUE(Append(file.get(), "x").ok());
  EXPECT_EQ(disk_.Content("/db/a"), "0123x");
  ASSERT_TRUE(rocks_.Truncate("/db/a", 2, IOOptions(), nullptr).ok());
  EXPECT_EQ(disk_.Content("/db/a"), "01");
}

TEST_F(RocksFileSystemTest, AWritableFileThatFailedStaysFailed) {
  for (const MemoryOp op : {MemoryOp::kWrite, MemoryOp::kSync}) {
    const auto file = Create("/db/a");
    disk_.FailAfter(op, 1, absl::DataLossError("bad block"), false);
    const IOStatus append = Append(file.get(), "data");
    const IOStatus sync = file->Sync(IOOptions(), nullptr);
    EXPECT_EQ(append.ok(), op == MemoryOp::kSync);
    EXPECT_TRUE(sync.IsIOError()) << sync.ToString();
    EXPECT_FALSE(Append(file.get(), "more").ok());
    EXPECT_FALSE(file->Flush(IOOptions(), nullptr).ok());
    EXPECT_FALSE(file->Sync(IOOptions(), nullptr).ok());
    EXPECT_FALSE(file->Truncate(0, IOOptions(), nullptr).ok());
    EXPECT_TRUE(file->Close(IOOptions(), nullptr).ok());
  }
}

TEST_F(RocksFileSystemTest, SequentialReadsAndSkips) {
  Write("/db/a", "0123456789");
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  ASSERT_TRUE(
      rocks_.NewSequentialFile("/db/a", FileOptions(), &file, nullptr).ok());
  char scratch[16];
  Slice result;
  ASSERT_TRUE(file->Read(3, IOOptions(), &result, scratch, nullptr).ok());
  EXPECT_EQ(result.ToString(), "012");
  ASSERT_TRUE(file->Skip(2).ok());
  ASSERT_TRUE(file->Read(16, IOOptions(), &result, scratch, nullptr).ok());
  EXPECT_EQ(result.ToString(), "56789");
  ASSERT_TRUE(file->Skip(100).ok());
  ASSERT_TRUE(file->Read(16, IOOptions(), &result, scratch, nullptr).ok());
  EXPECT_EQ(result.ToString(), "");
  disk_.FailAfter(MemoryOp::kRead, 1, absl::DataLossError("bad"), false);
  EXPECT_TRUE(
      file->Read(1, IOOptions(), &result, scratch, nullptr).IsIOError());
}

TEST_F(RocksFileSystemTest, RandomReads) {
  Write("/db/a", "0123456789");
  std::unique_ptr<rocksdb::FSRandomAccessFile> file;
  ASSERT_TRUE(
      rocks_.NewRandomAccessFile("/db/a", FileOptions(), &file, nullptr).ok());
  char scratch[16];
  Slice result;
  ASSERT_TRUE(file->Read(7, 16, IOOptions(), &result, scratch, nullptr).ok());
  EXPECT_EQ(result.ToString(), "789");
  ASSERT_TRUE(file->Read(20, 4, IOOptions(), &result, scratch, nullptr).ok());
  EXPECT_EQ(result.ToString(), "");
  EXPECT_TRUE(file->Prefetch(0, 4, IOOptions(), nullptr).ok());
}

TEST_F(RocksFileSystemTest, NamesAndSizes) {
  Write("/db/b", "22");
  Write("/db/a", "1");
  std::vector<std::string> names;
  ASSERT_TRUE(rocks_.GetChildren("/db", IOOptions(), &names, nullptr).ok());
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
  uint64_t number = 0;
  ASSERT_TRUE(rocks_.GetFileSize("/db/b", IOOptions(), &number, nullptr).ok());
  EXPECT_EQ(number, 2u);
  ASSERT_TRUE(
      rocks_.GetFileModificationTime("/db/b", IOOptions(), &number, nullptr)
          .ok());
  EXPECT_EQ(number, static_cast<uint64_t>(*disk_.ModifiedMs("/db/b") / 1000));
  ASSERT_TRUE(rocks_.RenameFile("/db/b", "/db/a", IOOptions(), nullptr).ok());
  EXPECT_EQ(disk_.Content("/db/a"), "22");
  ASSERT_TRUE(rocks_.DeleteFile("/db/a", IOOptions(), nullptr).ok());
  EXPECT_TRUE(rocks_.FileExists("/db/a", IOOptions(), nullptr).IsNotFound());
  EXPECT_TRUE(rocks_.FileExists("/db", IOOptions(), nullptr).ok());
}

TEST_F(RocksFileSystemTest, Directories) {
  const IOOptions io;
  EXPECT_FALSE(rocks_.CreateDir("/db", io, nullptr).ok());
  EXPECT_TRUE(rocks_.CreateDirIfMissing("/db", io, nullptr).ok());
  EXPECT_TRUE(rocks_.CreateDir("/db/x", io, nullptr).ok());
  bool is_directory = false;
  EXPECT_TRUE(rocks_.IsDirectory("/db/x", io, &is_directory, nullptr).ok());
  EXPECT_TRUE(is_directory);
  EXPECT_TRUE(rocks_.DeleteDir("/db/x", io, nullptr).ok());
  std::unique_ptr<rocksdb::FSDirectory> dir;
  EXPECT_FALSE(rocks_.NewDirectory("/db/x", io, &dir, nullptr).ok());
  ASSERT_TRUE(rocks_.NewDirectory("/db", io, &dir, nullptr).ok());
  const uint64_t syncs = disk_.operations(MemoryOp::kSyncDir);
  EXPECT_TRUE(dir->Fsync(io, nullptr).ok());
  EXPECT_EQ(disk_.operations(MemoryOp::kSyncDir), syncs + 1);
}

TEST_F(RocksFileSystemTest, WhatIsMissingIsNotFound) {
  const IOOptions io;
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  std::vector<std::string> names;
  uint64_t number = 0;
  EXPECT_TRUE(rocks_.NewSequentialFile("/db/x", FileOptions(), &file, nullptr)
                  .IsPathNotFound());
  EXPECT_TRUE(
      rocks_.GetFileSize("/db/x", io, &number, nullptr).IsPathNotFound());
  EXPECT_TRUE(rocks_.DeleteFile("/db/x", io, nullptr).IsPathNotFound());
  EXPECT_TRUE(rocks_.GetChildren("/x", io, &names, nullptr).IsNotFound());
}

TEST_F(RocksFileSystemTest, ALockIsHeldUntilUnlocked) {
  rocksdb::FileLock* lock = nullptr;
  rocksdb::FileLock* second = nullptr;
  ASSERT_TRUE(rocks_.LockFile("/db/LOCK", IOOptions(), &lock, nullptr).ok());
  const IOStatus held =
      rocks_.LockFile("/db/LOCK", IOOptions(), &second, nullptr);
  EXPECT_TRUE(absl::IsFailedPrecondition(FromRocksStatus(held)))
      << held.ToString();
  ASSERT_TRUE(rocks_.UnlockFile(lock, IOOptions(), nullptr).ok());
  ASSERT_TRUE(rocks_.LockFile("/db/LOCK", IOOptions(), &second, nullptr).ok());
  ASSERT_TRUE(rocks_.UnlockFile(second, IOOptions(), nullptr).ok());
}

TEST_F(RocksFileSystemTest, ErrorsKeepTheirMeaningBothWays) {
  for (const auto code :
       {absl::StatusCode::kNotFound, absl::StatusCode::kResourceExhausted,
        absl::StatusCode::kFailedPrecondition, absl::StatusCode::kDataLoss}) {
    const absl::Status there(code, "why and where");
    const absl::Status back = FromRocksStatus(ToRocksStatus(there));
    EXPECT_EQ(back.code(), code);
    EXPECT_NE(std::string(back.message()).find("why and where"),
              std::string::npos);
  }
  EXPECT_TRUE(ToRocksStatus(absl::OkStatus()).ok());
  EXPECT_TRUE(FromRocksStatus(rocksdb::Status::OK()).ok());
  EXPECT_TRUE(
      absl::IsDataLoss(FromRocksStatus(rocksdb::Status::Corruption("x"))));
}

TEST_F(RocksFileSystemTest, CarriesADatabaseThroughFlushAndCompaction) {
  const std::unique_ptr<rocksdb::Env> env =
      rocksdb::NewCompositeEnv(std::make_shared<RocksFileSystem>(&disk_));
  rocksdb::Options options;
  options.env = env.get();
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.write_buffer_size = 64 << 10;
  rocksdb::DB* raw = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(options, "/db", &raw).ok());
  std::unique_ptr<rocksdb::DB> db(raw);
  for (int i = 0; i < 2000; ++i) {
    const std::string key = std::to_string(i % 500);
    ASSERT_TRUE(db->Put({}, key, std::string(300, 'a' + i % 26)).ok());
  }
  ASSERT_TRUE(db->CompactRange({}, nullptr, nullptr).ok());
  db.reset();
  ASSERT_TRUE(rocksdb::DB::Open(options, "/db", &raw).ok());
  db.reset(raw);
  for (int i = 1500; i < 2000; ++i) {
    std::string value;
    ASSERT_TRUE(db->Get({}, std::to_string(i % 500), &value).ok()) << i;
    EXPECT_EQ(value, std::string(300, 'a' + i % 26));
  }
}

}  // namespace
}  // namespace hourglass
