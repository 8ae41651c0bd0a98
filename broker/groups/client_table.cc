#include "broker/groups/client_table.h"

#include "storage/text.h"

namespace hourglass {

void ClientTable::Seen(std::string_view id, GroupQueue* queue) {
  if (id.empty()) return;
  const int64_t now_ns = clock_->MonotonicNs();
  MutexLock lock(&mu_);
  if (now_ns - swept_ns_ > 10 * silence_max_ns_) ForgetSilent(now_ns);
  Client& client = clients_[std::string(id)];
  client.seen_ns = now_ns;
  if (queue != nullptr) client.queues.insert(queue);
}

bool ClientTable::IsAlive(std::string_view id) {
  MutexLock lock(&mu_);
  const auto at = clients_.find(ToAbsl(id));
  return at != clients_.end() &&
         clock_->MonotonicNs() - at->second.seen_ns < silence_max_ns_;
}

std::vector<GroupQueue*> ClientTable::Gone(std::string_view id) {
  MutexLock lock(&mu_);
  const auto at = clients_.find(ToAbsl(id));
  if (at == clients_.end()) return {};
  const std::vector<GroupQueue*> queues(at->second.queues.begin(),
                                        at->second.queues.end());
  clients_.erase(at);
  return queues;
}

size_t ClientTable::size() {
  MutexLock lock(&mu_);
  return clients_.size();
}

void ClientTable::ForgetSilent(int64_t now_ns) {
  swept_ns_ = now_ns;
  absl::erase_if(clients_, [&](const auto& client) {
    return now_ns - client.second.seen_ns > 10 * silence_max_ns_;
  });
}

}  // namespace hourglass
