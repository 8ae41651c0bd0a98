// File: queue_files.h
//
// The files under a QueueTable: an LRU of open ones that remembers which have
// still to be synced, and the cutting of a topic's directory at recovery.
//
//   auto file = files.ForWrite(path, {id, topic, first});   // opens, verifies
//   files.TakeUnsynced(&open, &closed);                     // checkpoint
//
// A file's header is verified whenever it is opened, so an entry is never
// read from, or written to, a file of another topic, place or store.
//
// Threads: none of its own; the functions touch only what they are given.
//
// Keeps promise 2: knows which files are still to be synced.
#ifndef HOURGLASS_STORAGE_QUEUE_FILES_H_
#define HOURGLASS_STORAGE_QUEUE_FILES_H_

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hourglass/file_system.h"
#include "storage/consume_queue.h"
#include "storage/queue_format.h"

namespace hourglass {

class QueueFiles {
 public:
  QueueFiles(FileSystem* fs, size_t open_max);

  // Makes the file with its header. ForWrite opens it next.
  absl::Status Create(const Path& path, const QueueHeader& header);
  // The open file, its header verified against `header`. ForWrite counts it
  // as unsynced from now on.
  absl::StatusOr<std::shared_ptr<File>> ForRead(const Path& path,
                                                const QueueHeader& header);
  absl::StatusOr<std::shared_ptr<File>> ForWrite(const Path& path,
                                                 const QueueHeader& header);

  // Hands out what was written since the last call: open files, and the
  // paths of those the LRU has closed since.
  void TakeUnsynced(std::vector<std::shared_ptr<File>>* open,
                    std::vector<Path>* closed);
  // The file is about to be removed.
  void Forget(const Path& path);

 private:
  struct OpenFile {
    std::shared_ptr<File> file;
    bool writable = false;
    std::list<std::string>::iterator recency;
  };
  absl::StatusOr<std::shared_ptr<File>> Get(const Path& path,
                                            const QueueHeader& header,
                                            bool writable);
  void Insert(const std::string& key, std::shared_ptr<File> file,
              bool writable);
  void Close(const std::string& key);

  FileSystem* const fs_;
  const size_t open_max_;
  absl::flat_hash_map<std::string, OpenFile> open_;  // by path
  std::list<std::string> recency_;                   // newest first
  absl::flat_hash_set<std::string> unsynced_;        // paths
};

// Recovery: leaves in the topic's directory exactly the entries
// [first, next), and returns the first index of each file. Opens only a file
// that must be cut; syncs what it cut and removed. DATA_LOSS if an entry is
// missing.
absl::StatusOr<std::vector<QueueIndex>> CutQueueDir(FileSystem* fs,
                                                    const Path& dir,
                                                    const QueueFacts& facts);

// Recovery: removes the directory of an unknown topic, and says whether it
// did. Whatever is not a queue file stays where it is.
absl::StatusOr<bool> RemoveQueueDir(FileSystem* fs, const Path& dir);

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_QUEUE_FILES_H_
