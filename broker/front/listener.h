// File: listener.h
//
// One port for TLS and for plaintext. A thread accepts, looks at the first
// byte without taking it, and hands the socket on: 0x16 begins a TLS
// handshake, 'P' begins HTTP/2 in the clear; anything else is closed.
//
//   ListenerHooks hooks;
//   hooks.tls = [&](int fd) { ... };       // owns fd from now on
//   hooks.plaintext = [&](int fd) { ... };
//   ASSIGN_OR_RETURN(auto listener,
//                    Listener::Start("127.0.0.1", 8081, hooks, options,
//                    clock));
//
// A missing hook means that such connections are closed. So are those that
// say nothing for handshake_ms, those above handshakes_max that say nothing
// yet, and all above connections_max.
//
// Limitations: gRPC does not tell when a connection ends, so the open ones are
// counted again, by their inodes, only when connections_max seems reached.
//
// Threads: hooks run in the listener's own. Stop from any other.
//
// Serves promise 7: connections are bounded, silent ones do not stay.
#ifndef HOURGLASS_BROKER_FRONT_LISTENER_H_
#define HOURGLASS_BROKER_FRONT_LISTENER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "broker/front/front_options.h"
#include "hourglass/clock.h"

namespace hourglass {

struct ListenerHooks {
  std::function<void(int fd)> tls;
  std::function<void(int fd)> plaintext;
};

enum class FirstByte { kTls, kPlaintext, kOther };
FirstByte KindOfFirstByte(unsigned char byte);

class Listener {
 public:
  // Port 0: any free one. UNAVAILABLE if the address cannot be had.
  static absl::StatusOr<std::unique_ptr<Listener>> Start(
      const std::string& host, int port, ListenerHooks hooks,
      const FrontOptions& options, Clock* clock);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int port() const { return port_; }
  // Closes what was not handed on.
  void Stop();

  uint64_t accepted() const { return accepted_.load(); }
  // Closed for one of the reasons above.
  uint64_t refused() const { return refused_.load(); }

 private:
  Listener(int listen_fd, int port, ListenerHooks hooks,
           const FrontOptions& options, Clock* clock);

  void Work();
  int WaitMs() const;
  void Accept();
  void Admit(int fd);
  void Peek(int fd);
  void HandOn(int fd, FirstByte first);
  void DropSilent();
  void Drop(int fd);
  bool RoomForOneMore();
  void CountOpen();

  const ListenerHooks hooks_;
  const FrontOptions options_;
  Clock* const clock_;
  const int listen_fd_;
  const int port_;
  const int epoll_fd_;
  const int wake_fd_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> accepted_{0};
  std::atomic<uint64_t> refused_{0};

  // Of the thread.
  std::set<int> silent_;
  std::deque<std::pair<int64_t, int>> deadlines_;  // of silent ones, and gone
  std::map<int, uint64_t> handed_on_;              // and its inode
  int64_t counted_ns_ = 0;
  std::thread thread_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_LISTENER_H_
