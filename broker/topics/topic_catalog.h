// File: topic_catalog.h
//
// Which topics there are, which kinds of messages each takes, and how it came
// to be.
//
//   ASSIGN_OR_RETURN(auto topics, TopicCatalog::Open(fs, dir, options));
//   if (const auto topic = topics->Find("orders")) ... topic->kinds ...
//   ASSIGN_OR_RETURN(auto change, topics->Put("bills", kinds));  // durable now
//
//   by flag       named in the options; not kept, and not changed here
//   by admin      Put; kept in the file DIR/topics (topics_file.h)
//   by first use  with auto_create every other name, with all kinds; not kept
//
// Dead letters' topics are always there.
//
// Ownership: the file system is the caller's. Threads: any. Find takes no lock
// unless something changed since the same thread's last Find; changes wait for
// the disk one after the other, and nobody else waits for them.
//
// Limitations: a change copies the table and writes the whole file; that is
// for hundreds of changes, not for thousands a second. A thread keeps the
// table that it saw last until its next Find.
//
// Keeps promise 7: topics_max. Serves promise 4: an unknown topic is named.
#ifndef HOURGLASS_BROKER_TOPICS_TOPIC_CATALOG_H_
#define HOURGLASS_BROKER_TOPICS_TOPIC_CATALOG_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "broker/topics/topic_kinds.h"
#include "broker/topics/topics_file.h"
#include "hourglass/file_system.h"
#include "storage/mutex.h"

namespace hourglass {

struct TopicCatalogOptions {
  bool auto_create = true;
  std::vector<std::string> named;  // "orders", or "orders:NORMAL+DELAY"
  size_t topic_bytes_max = 127;
  size_t topics_max = 100'000;  // named and by admin
};

enum class TopicOrigin { kFlag, kAdmin, kFirstUse };
std::string_view TopicOriginName(TopicOrigin origin);

struct TopicInfo {
  TopicKinds kinds;
  TopicOrigin origin = TopicOrigin::kFirstUse;
};
using TopicTable = std::map<std::string, TopicInfo, std::less<>>;

enum class TopicChange { kCreated, kChanged, kUnchanged };

class TopicCatalog {
 public:
  // Reads DIR/topics, changes nothing. INVALID_ARGUMENT for a name or a kind
  // of the options; else as ReadTopicsFile. More topics than topics_max that
  // are kept already stay.
  static absl::StatusOr<std::unique_ptr<TopicCatalog>> Open(
      FileSystem* file_system, const Path& dir,
      const TopicCatalogOptions& options);
  // Keeps nothing.
  static absl::StatusOr<std::unique_ptr<TopicCatalog>> InMemory(
      const TopicCatalogOptions& options);

  TopicCatalog(const TopicCatalog&) = delete;
  TopicCatalog& operator=(const TopicCatalog&) = delete;

  // Nothing if there is no such topic.
  std::optional<TopicInfo> Find(std::string_view topic) const;
  // By flag and by admin.
  std::shared_ptr<const TopicTable> List() const;

  // Durable when it returns. INVALID_ARGUMENT: the name; FAILED_PRECONDITION:
  // it is by flag; RESOURCE_EXHAUSTED: topics_max. After an error of the disk
  // a restart may know the old or the new; until then it is the old one.
  absl::StatusOr<TopicChange> Put(const std::string& topic, TopicKinds kinds);
  // ... NOT_FOUND: it is not by admin.
  absl::Status Forget(const std::string& topic);

 private:
  TopicCatalog(FileSystem* file_system, Path dir,
               const TopicCatalogOptions& options);

  absl::Status AddNamed();
  absl::Status CheckChange(const std::string& topic) const;
  absl::Status Replace(KeptTopics kept)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(changing_);
  void Publish(const KeptTopics& kept);
  const TopicTable& Newest() const;

  FileSystem* const file_system_;  // null: nothing is kept
  const Path dir_;
  const TopicCatalogOptions options_;
  TopicTable named_;  // does not change

  Mutex changing_;  // held while the file is written
  KeptTopics kept_ ABSL_GUARDED_BY(changing_);
  // A write failed: what the file has is not known.
  bool unsure_ ABSL_GUARDED_BY(changing_) = false;

  // Of the newest table; no two tables of the process have the same.
  std::atomic<uint64_t> version_{0};
  mutable Mutex mu_;
  std::shared_ptr<const TopicTable> table_ ABSL_GUARDED_BY(mu_);
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_TOPICS_TOPIC_CATALOG_H_
