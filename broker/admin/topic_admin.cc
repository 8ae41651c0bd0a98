#include "broker/admin/topic_admin.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "broker/text.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr size_t kPageMessages = 500;

absl::Status StillNeeded(const std::string& topic, const std::string& why) {
  return absl::FailedPreconditionError(
      Concat("topic ", topic, ": ", why,
             "; expected none, or force=true (no message is removed)"));
}

}  // namespace

std::vector<TopicState> TopicAdmin::List() const {
  std::set<std::string> names;
  for (std::string& name : store_->Topics()) names.insert(std::move(name));
  if (catalog_ != nullptr) {
    for (const auto& [name, info] : *catalog_->List()) names.insert(name);
  }
  std::vector<TopicState> topics;
  for (const std::string& name : names) {
    TopicState state;
    state.topic = name;
    state.first_ready = store_->FirstReady(name).value();
    state.end_of_ready = store_->EndOfReady(name).value();
    if (catalog_ != nullptr) state.info = catalog_->Find(name);
    topics.push_back(std::move(state));
  }
  return topics;
}

absl::Status TopicAdmin::CheckHasCatalog() const {
  if (catalog_ != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "this server has no catalogue of topics");
}

absl::StatusOr<TopicChange> TopicAdmin::Put(const std::string& topic,
                                            TopicKinds kinds) {
  RETURN_IF_ERROR(CheckHasCatalog());
  return catalog_->Put(topic, kinds);
}

absl::Status TopicAdmin::Forget(const std::string& topic, bool force) {
  RETURN_IF_ERROR(CheckHasCatalog());
  const auto found = catalog_->Find(topic);
  const bool kept = found.has_value() && found->origin == TopicOrigin::kAdmin;
  // What is not kept is refused, whatever its messages.
  if (kept && !force) {
    RETURN_IF_ERROR(CheckAllRead(topic));
    RETURN_IF_ERROR(CheckNothingPending(topic));
  }
  return catalog_->Forget(topic);
}

absl::Status TopicAdmin::CheckAllRead(const std::string& topic) const {
  bool has_group = false;
  for (const GroupState& state :
       groups_ == nullptr ? std::vector<GroupState>() : groups_()) {
    if (state.topic != topic) continue;
    has_group = true;
    if (state.lag == 0) continue;
    return StillNeeded(topic, Concat("group ", state.group, " has ", state.lag,
                                     " ready messages to read"));
  }
  const uint64_t ready =
      store_->EndOfReady(topic).value() - store_->FirstReady(topic).value();
  if (has_group || ready == 0) return absl::OkStatus();
  return StillNeeded(topic,
                     Concat(ready, " ready messages that no group read"));
}

// Looks at all that is pending: a filter by topic would read as much, without
// a bound.
absl::Status TopicAdmin::CheckNothingPending(const std::string& topic) const {
  PendingQuery query;
  for (size_t seen = 0; seen < options_.scan_max;) {
    query.count_max = std::min(kPageMessages, options_.scan_max - seen);
    ASSIGN_OR_RETURN(const PendingPage page, store_->Pending(query));
    for (const PendingMessage& one : page.messages) {
      if (one.message.topic == topic) {
        return StillNeeded(topic, "messages of it are pending");
      }
    }
    if (page.next.empty()) return absl::OkStatus();
    seen += page.messages.size();
    query.after = page.next;
  }
  return absl::ResourceExhaustedError(
      Concat("topic ", topic, ": none of the first ", options_.scan_max,
             " pending messages is of it (scan_max), there are more; expected "
             "force=true if it may go all the same (no message is removed)"));
}

}  // namespace hourglass
