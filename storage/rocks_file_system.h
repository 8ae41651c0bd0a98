// File: rocks_file_system.h
//
// RocksDB on our file system: every file RocksDB touches goes through
// hourglass::FileSystem, in the product as in the tests, so that what a
// simulated disk proves about the checkpoint holds for the real one.
//
//   auto rocks_fs = std::make_shared<RocksFileSystem>(fs);
//   std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(rocks_fs);
//   options.env = env.get();       // env must outlive the database
//
// Ownership: the hourglass::FileSystem is not owned and must outlive it.
//
// Threads: as hourglass::FileSystem: any.
//
// Limitations: no memory mapping, no direct I/O, no hard links, no file that
// is written at random places, no log of RocksDB's own (NewLogger gives one
// that drops everything). A writable file that once failed stays failed. The
// OPTIONS file, which each opening would write, sync, read and parse again, is
// refused: nobody reads it, and RocksDB goes on without. The footer of a table
// is looked at before RocksDB believes it (sst_tail.h).
//
// Keeps promise 1: RocksDB's syncs are ours, and can be simulated.
#ifndef HOURGLASS_STORAGE_ROCKS_FILE_SYSTEM_H_
#define HOURGLASS_STORAGE_ROCKS_FILE_SYSTEM_H_

#include <rocksdb/file_system.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "hourglass/file_system.h"

namespace hourglass {

// A RocksDB status in our words: NoSpace is RESOURCE_EXHAUSTED, Busy is
// FAILED_PRECONDITION, an I/O error or corruption is DATA_LOSS.
absl::Status FromRocksStatus(const rocksdb::Status& status);
// Ours in RocksDB's words.
rocksdb::IOStatus ToRocksStatus(const absl::Status& status);

// Drops what RocksDB would log.
std::shared_ptr<rocksdb::Logger> NewSilentLogger();

class RocksFileSystem : public rocksdb::FileSystem {
 public:
  explicit RocksFileSystem(hourglass::FileSystem* fs) : fs_(fs) {}

  const char* Name() const override { return "HourglassFileSystem"; }

  rocksdb::IOStatus NewSequentialFile(
      const std::string& name, const rocksdb::FileOptions& options,
      std::unique_ptr<rocksdb::FSSequentialFile>* result,
      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomAccessFile(
      const std::string& name, const rocksdb::FileOptions& options,
      std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
      rocksdb::IODebugContext* debug) override;
  // Replaces a file of that name.
  rocksdb::IOStatus NewWritableFile(
      const std::string& name, const rocksdb::FileOptions& options,
      std::unique_ptr<rocksdb::FSWritableFile>* result,
      rocksdb::IODebugContext* debug) override;
  // Goes on at the end of a file of that name.
  rocksdb::IOStatus ReopenWritableFile(
      const std::string& name, const rocksdb::FileOptions& options,
      std::unique_ptr<rocksdb::FSWritableFile>* result,
      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& name,
                                 const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* result,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus FileExists(const std::string& name,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetChildren(const std::string& dir,
                                const rocksdb::IOOptions& options,
                                std::vector<std::string>* result,
                                rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& name,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Truncate(const std::string& name, size_t size,
                             const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override;
  // IOError if it is there already, as RocksDB asks.
  rocksdb::IOStatus CreateDir(const std::string& name,
                              const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus CreateDirIfMissing(const std::string& name,
                                       const rocksdb::IOOptions& options,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteDir(const std::string& name,
                              const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetFileSize(const std::string& name,
                                const rocksdb::IOOptions& options,
                                uint64_t* size,
                                rocksdb::IODebugContext* debug) override;
  // In seconds, as RocksDB counts.
  rocksdb::IOStatus GetFileModificationTime(
      const std::string& name, const rocksdb::IOOptions& options,
      uint64_t* seconds, rocksdb::IODebugContext* debug) override;
  // Makes the directory's other entries durable first.
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus LockFile(const std::string& name,
                             const rocksdb::IOOptions& options,
                             rocksdb::FileLock** lock,
                             rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus UnlockFile(rocksdb::FileLock* lock,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetTestDirectory(const rocksdb::IOOptions& options,
                                     std::string* path,
                                     rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewLogger(const std::string& name,
                              const rocksdb::IOOptions& options,
                              std::shared_ptr<rocksdb::Logger>* result,
                              rocksdb::IODebugContext* debug) override;
  // The path as it is: a simulated disk has no working directory.
  rocksdb::IOStatus GetAbsolutePath(const std::string& path,
                                    const rocksdb::IOOptions& options,
                                    std::string* absolute,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetFreeSpace(const std::string& path,
                                 const rocksdb::IOOptions& options,
                                 uint64_t* bytes,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus IsDirectory(const std::string& path,
                                const rocksdb::IOOptions& options,
                                bool* is_directory,
                                rocksdb::IODebugContext* debug) override;

 private:
  hourglass::FileSystem* const fs_;
};

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_ROCKS_FILE_SYSTEM_H_
