#include "broker/front/clients.h"

#include <utility>

#include "broker/front/names.h"
#include "broker/front/proto_time.h"

namespace hourglass {

Clients::Client* Clients::Take(std::string_view client_id) {
  const auto found = clients_.find(client_id);
  if (found != clients_.end()) return &found->second;
  if (clients_.size() >= clients_max_) return nullptr;
  return &clients_[std::string(client_id)];
}

bool Clients::Learn(std::string_view client_id,
                    const proto::Settings& settings) {
  MutexLock lock(&mu_);
  Client* const client = Take(client_id);
  if (client == nullptr) return false;
  client->long_poll_ms.reset();
  if (settings.subscription().has_long_polling_timeout()) {
    client->long_poll_ms = MsOf(settings.subscription().long_polling_timeout());
  }
  client->publishes.clear();
  for (const proto::Resource& topic : settings.publishing().topics()) {
    client->publishes.insert(StoreName(topic));
  }
  return true;
}

void Clients::Attach(std::string_view client_id,
                     std::shared_ptr<ClientStream> stream) {
  MutexLock lock(&mu_);
  Client* const client = Take(client_id);
  if (client != nullptr) client->stream.swap(stream);
}

void Clients::Detach(std::string_view client_id, const ClientStream* stream) {
  Client gone;  // goes after the lock
  MutexLock lock(&mu_);
  const auto found = clients_.find(client_id);
  if (found == clients_.end() || found->second.stream.get() != stream) return;
  gone = std::move(found->second);
  clients_.erase(found);
}

void Clients::Forget(std::string_view client_id) {
  MutexLock lock(&mu_);
  const auto found = clients_.find(client_id);
  if (found == clients_.end()) return;
  found->second.publishes.clear();
  if (found->second.stream == nullptr) clients_.erase(found);
}

std::optional<int64_t> Clients::LongPollMs(std::string_view client_id) const {
  MutexLock lock(&mu_);
  const auto found = clients_.find(client_id);
  if (found == clients_.end()) return std::nullopt;
  return found->second.long_poll_ms;
}

std::shared_ptr<ClientStream> Clients::StreamOf(
    std::string_view client_id) const {
  MutexLock lock(&mu_);
  const auto found = clients_.find(client_id);
  return found == clients_.end() ? nullptr : found->second.stream;
}

std::shared_ptr<ClientStream> Clients::ProducerOf(
    std::string_view topic, std::string_view client_id) const {
  MutexLock lock(&mu_);
  const auto named = clients_.find(client_id);
  if (named != clients_.end() && named->second.stream != nullptr) {
    return named->second.stream;
  }
  for (const auto& [id, client] : clients_) {
    if (client.stream != nullptr && client.publishes.contains(topic)) {
      return client.stream;
    }
  }
  return nullptr;
}

std::vector<std::shared_ptr<ClientStream>> Clients::Streams() const {
  MutexLock lock(&mu_);
  std::vector<std::shared_ptr<ClientStream>> streams;
  for (const auto& [id, client] : clients_) {
    if (client.stream != nullptr) streams.push_back(client.stream);
  }
  return streams;
}

size_t Clients::size() const {
  MutexLock lock(&mu_);
  return clients_.size();
}

}  // namespace hourglass
