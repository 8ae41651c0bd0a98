// File: clients.h
//
// The clients that are there: what each said in its Settings, and the stream
// on which it can be told something.
//
//   clients.Learn(caller.client_id, settings);
//   clients.Attach(caller.client_id, stream);
//   std::optional<int64_t> poll_ms = clients.LongPollMs(client_id);
//
// A client need not be here to be served: after a restart of the server some
// come back with sends and receives long before they say their Settings.
//
// Ownership: streams are shared; one that ended is let go by Detach.
//
// Threads: any. Streams are called without a lock held.
//
// Keeps promise 7: at most clients_max are remembered.
#ifndef HOURGLASS_BROKER_FRONT_CLIENTS_H_
#define HOURGLASS_BROKER_FRONT_CLIENTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "broker/front/proto.h"
#include "storage/mutex.h"

namespace hourglass {

// The server's half of a Telemetry stream.
class ClientStream {
 public:
  virtual ~ClientStream() = default;
  // Queued; dropped if the stream has ended.
  virtual void Send(proto::TelemetryCommand command) = 0;
  virtual void Close() = 0;
};

class Clients {
 public:
  explicit Clients(size_t clients_max) : clients_max_(clients_max) {}

  // What the client said last; false if there is no room for one more.
  bool Learn(std::string_view client_id, const proto::Settings& settings);
  void Attach(std::string_view client_id, std::shared_ptr<ClientStream> stream);
  // Forgets the client if this was its newest stream.
  void Detach(std::string_view client_id, const ClientStream* stream);
  // It said that it goes; its stream stays until it ends.
  void Forget(std::string_view client_id);

  // From its Settings; none if it never said any.
  std::optional<int64_t> LongPollMs(std::string_view client_id) const;
  // Null if it is not there.
  std::shared_ptr<ClientStream> StreamOf(std::string_view client_id) const;
  // Of the named client if it is there, else of any producer of the topic.
  std::shared_ptr<ClientStream> ProducerOf(std::string_view topic,
                                           std::string_view client_id) const;
  std::vector<std::shared_ptr<ClientStream>> Streams() const;
  size_t size() const;

 private:
  struct Client {
    std::optional<int64_t> long_poll_ms;
    std::set<std::string, std::less<>> publishes;  // topics
    std::shared_ptr<ClientStream> stream;
  };

  // Null if there is no room.
  Client* Take(std::string_view client_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const size_t clients_max_;
  mutable Mutex mu_;
  std::map<std::string, Client, std::less<>> clients_ ABSL_GUARDED_BY(mu_);
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_CLIENTS_H_
