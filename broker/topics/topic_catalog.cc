#include "broker/topics/topic_catalog.h"

#include <algorithm>
#include <utility>

#include "broker/groups/consumer_groups.h"
#include "broker/text.h"
#include "broker/topics/topic_name.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

// What a thread saw last, of whichever catalogue.
struct Seen {
  uint64_t version = 0;
  std::shared_ptr<const TopicTable> table;
};

uint64_t NextVersion() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

std::string_view TopicOriginName(TopicOrigin origin) {
  switch (origin) {
    case TopicOrigin::kFlag:
      return "flag";
    case TopicOrigin::kAdmin:
      return "admin";
    case TopicOrigin::kFirstUse:
      return "first_use";
  }
  return "";
}

TopicCatalog::TopicCatalog(FileSystem* file_system, Path dir,
                           const TopicCatalogOptions& options)
    : file_system_(file_system), dir_(std::move(dir)), options_(options) {}

absl::StatusOr<std::unique_ptr<TopicCatalog>> TopicCatalog::Open(
    FileSystem* file_system, const Path& dir,
    const TopicCatalogOptions& options) {
  auto catalog = std::unique_ptr<TopicCatalog>(
      new TopicCatalog(file_system, dir, options));
  RETURN_IF_ERROR(catalog->AddNamed());
  MutexLock lock(&catalog->changing_);
  if (file_system != nullptr) {
    ASSIGN_OR_RETURN(catalog->kept_, ReadTopicsFile(file_system, dir));
  }
  catalog->Publish(catalog->kept_);
  return catalog;
}

absl::StatusOr<std::unique_ptr<TopicCatalog>> TopicCatalog::InMemory(
    const TopicCatalogOptions& options) {
  return Open(nullptr, Path(), options);
}

absl::Status TopicCatalog::AddNamed() {
  for (const std::string& text : options_.named) {
    const size_t colon = std::min(text.find(':'), text.size());
    const std::string name = text.substr(0, colon);
    const std::string fault = TopicNameFault(name, options_.topic_bytes_max);
    if (!fault.empty()) return absl::InvalidArgumentError(ToAbsl(fault));
    const auto kinds = TopicKinds::Parse(
        std::string_view(text).substr(std::min(colon + 1, text.size())));
    if (!kinds.ok()) {
      return absl::InvalidArgumentError(
          Concat("topic ", name, ": ", MessageOf(kinds.status())));
    }
    named_[name] = {*kinds, TopicOrigin::kFlag};
  }
  if (named_.size() <= options_.topics_max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Concat(named_.size(), " topics are named; expected at most ",
             options_.topics_max, " (topics_max)"));
}

void TopicCatalog::Publish(const KeptTopics& kept) {
  auto table = std::make_shared<TopicTable>(named_);
  // What is by flag stays as the flag says.
  for (const auto& [name, kinds] : kept) {
    table->emplace(name, TopicInfo{kinds, TopicOrigin::kAdmin});
  }
  MutexLock lock(&mu_);
  table_ = std::move(table);
  version_.store(NextVersion(), std::memory_order_release);
}

const TopicTable& TopicCatalog::Newest() const {
  thread_local Seen seen;
  if (seen.version != version_.load(std::memory_order_acquire)) {
    MutexLock lock(&mu_);
    seen.table = table_;
    seen.version = version_.load(std::memory_order_relaxed);
  }
  return *seen.table;
}

std::optional<TopicInfo> TopicCatalog::Find(std::string_view topic) const {
  const TopicTable& table = Newest();
  const auto found = table.find(topic);
  if (found != table.end()) return found->second;
  const bool there =
      options_.auto_create || topic.starts_with(kDeadLetterPrefix);
  return there ? std::optional<TopicInfo>(TopicInfo()) : std::nullopt;
}

std::shared_ptr<const TopicTable> TopicCatalog::List() const {
  MutexLock lock(&mu_);
  return table_;
}

absl::Status TopicCatalog::CheckChange(const std::string& topic) const {
  const std::string fault = TopicNameFault(topic, options_.topic_bytes_max);
  if (!fault.empty()) return absl::InvalidArgumentError(ToAbsl(fault));
  if (!named_.contains(topic)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      Concat("topic ", topic,
             " is there by the flag --topic; change that, and restart"));
}

absl::StatusOr<TopicChange> TopicCatalog::Put(const std::string& topic,
                                              TopicKinds kinds) {
  RETURN_IF_ERROR(CheckChange(topic));
  MutexLock lock(&changing_);
  const auto found = kept_.find(topic);
  const bool there = found != kept_.end();
  if (there && found->second == kinds && !unsure_) {
    return TopicChange::kUnchanged;
  }
  if (!there && List()->size() >= options_.topics_max) {
    return absl::ResourceExhaustedError(
        Concat("topic ", topic, ": there are ", List()->size(),
               " topics already; expected at most ", options_.topics_max,
               " (topics_max)"));
  }
  KeptTopics kept = kept_;
  kept[topic] = kinds;
  RETURN_IF_ERROR(Replace(std::move(kept)));
  return there ? TopicChange::kChanged : TopicChange::kCreated;
}

absl::Status TopicCatalog::Forget(const std::string& topic) {
  RETURN_IF_ERROR(CheckChange(topic));
  MutexLock lock(&changing_);
  if (!kept_.contains(topic)) {
    return absl::NotFoundError(
        Concat("topic ", topic, " was not made by the admin API"));
  }
  KeptTopics kept = kept_;
  kept.erase(topic);
  return Replace(std::move(kept));
}

absl::Status TopicCatalog::Replace(KeptTopics kept) {
  if (file_system_ != nullptr) {
    unsure_ = true;
    RETURN_IF_ERROR(WriteTopicsFile(file_system_, dir_, kept));
    unsure_ = false;
  }
  kept_ = std::move(kept);
  Publish(kept_);
  return absl::OkStatus();
}

}  // namespace hourglass
