#include "broker/front/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "broker/text.h"

namespace hourglass {
namespace {

constexpr int kBacklog = 4096;
constexpr int kEventsMax = 256;
constexpr int64_t kNsPerMs = 1'000'000;
// When the process has no file handle left for a new connection.
constexpr int kNoHandleWaitMs = 50;
// Counting ten thousand connections takes some milliseconds.
constexpr int64_t kCountAgainNs = 200 * kNsPerMs;

absl::Status SocketError(std::string_view what, const std::string& host,
                         int port) {
  const int error = errno;
  return absl::UnavailableError(
      Concat(what, " ", host, ":", port, ": ", strerror(error)));
}

// Of the first of the host's addresses that can be had.
absl::StatusOr<int> ListenOn(const std::string& host, int port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed =
      getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) {
    return absl::InvalidArgumentError(
        Concat("listen address ", host, ": ", gai_strerror(failed)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> free(found,
                                                                freeaddrinfo);
  const int fd =
      socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return SocketError("socket for", host, port);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(fd, found->ai_addr, found->ai_addrlen) != 0 ||
      listen(fd, kBacklog) != 0) {
    const absl::Status status = SocketError("cannot listen on", host, port);
    close(fd);
    return status;
  }
  return fd;
}

int PortOf(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return 0;
  }
  const in_port_t port =
      address.ss_family == AF_INET6
          ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
          : reinterpret_cast<sockaddr_in*>(&address)->sin_port;
  return ntohs(port);
}

// 0 if the file handle is closed.
uint64_t InodeOf(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 ? info.st_ino : 0;
}

void Watch(int epoll_fd, int fd) {
  epoll_event event = {};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.fd = fd;
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

}  // namespace

FirstByte KindOfFirstByte(unsigned char byte) {
  constexpr unsigned char kTlsHandshake = 0x16;
  if (byte == kTlsHandshake) return FirstByte::kTls;
  return byte == 'P' ? FirstByte::kPlaintext : FirstByte::kOther;
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Start(
    const std::string& host, int port, ListenerHooks hooks,
    const FrontOptions& options, Clock* clock) {
  const absl::StatusOr<int> fd = ListenOn(host, port);
  if (!fd.ok()) return fd.status();
  return std::unique_ptr<Listener>(
      new Listener(*fd, PortOf(*fd), std::move(hooks), options, clock));
}

Listener::Listener(int listen_fd, int port, ListenerHooks hooks,
                   const FrontOptions& options, Clock* clock)
    : hooks_(std::move(hooks)),
      options_(options),
      clock_(clock),
      listen_fd_(listen_fd),
      port_(port),
      epoll_fd_(epoll_create1(EPOLL_CLOEXEC)),
      wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  Watch(epoll_fd_, listen_fd_);
  Watch(epoll_fd_, wake_fd_);
  thread_ = std::thread([this] { Work(); });
}

Listener::~Listener() {
  Stop();
  for (const int fd : silent_) close(fd);
  close(epoll_fd_);
  close(wake_fd_);
}

void Listener::Stop() {
  if (!thread_.joinable()) return;
  stop_ = true;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(wake_fd_, &one, sizeof(one));
  thread_.join();
  close(listen_fd_);
}

void Listener::Work() {
  epoll_event events[kEventsMax];
  while (!stop_) {
    const int count = epoll_wait(epoll_fd_, events, kEventsMax, WaitMs());
    for (int i = 0; i < count && !stop_; ++i) {
      const int fd = events[i].data.fd;
      if (fd == listen_fd_) {
        Accept();
      } else if (fd != wake_fd_) {
        Peek(fd);
      }
    }
    DropSilent();
  }
}

int Listener::WaitMs() const {
  if (deadlines_.empty()) return -1;
  const int64_t left_ns = deadlines_.front().first - clock_->MonotonicNs();
  // One more, since a part of a millisecond would be a busy wait.
  return static_cast<int>(std::clamp<int64_t>(left_ns / kNsPerMs + 1, 0, 1000));
}

void Listener::Accept() {
  while (true) {
    const int fd =
        accept4(listen_fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      Admit(fd);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
      poll(nullptr, 0, kNoHandleWaitMs);
      return;
    } else if (errno != ECONNABORTED && errno != EINTR) {
      return;
    }
  }
}

void Listener::Admit(int fd) {
  accepted_.fetch_add(1);
  if (silent_.size() >= options_.handshakes_max || !RoomForOneMore()) {
    refused_.fetch_add(1);
    close(fd);
    return;
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  silent_.insert(fd);
  deadlines_.emplace_back(
      clock_->MonotonicNs() + options_.handshake_ms * kNsPerMs, fd);
  Watch(epoll_fd_, fd);
}

void Listener::Peek(int fd) {
  if (!silent_.contains(fd)) return;
  unsigned char byte = 0;
  const ssize_t n = recv(fd, &byte, 1, MSG_PEEK);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    Drop(fd);
  } else {
    HandOn(fd, KindOfFirstByte(byte));
  }
}

void Listener::HandOn(int fd, FirstByte first) {
  const auto& hook = first == FirstByte::kTls ? hooks_.tls : hooks_.plaintext;
  if (first == FirstByte::kOther || hook == nullptr) {
    refused_.fetch_add(1);
    Drop(fd);
    return;
  }
  epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
  silent_.erase(fd);
  handed_on_[fd] = InodeOf(fd);
  hook(fd);
}

void Listener::Drop(int fd) {
  silent_.erase(fd);
  close(fd);
}

// A number in `deadlines_` may have become another connection's since; that
// one's own deadline stands further back, and it loses a part of its time at
// most if it is silent, too.
void Listener::DropSilent() {
  const int64_t now_ns = clock_->MonotonicNs();
  while (!deadlines_.empty() && deadlines_.front().first <= now_ns) {
    const int fd = deadlines_.front().second;
    deadlines_.pop_front();
    if (!silent_.contains(fd)) continue;
    refused_.fetch_add(1);
    Drop(fd);
  }
}

bool Listener::RoomForOneMore() {
  const auto open = [this] { return handed_on_.size() + silent_.size(); };
  if (open() >= options_.connections_max) CountOpen();
  return open() < options_.connections_max;
}

void Listener::CountOpen() {
  const int64_t now_ns = clock_->MonotonicNs();
  if (now_ns - counted_ns_ < kCountAgainNs && counted_ns_ != 0) return;
  counted_ns_ = now_ns;
  std::erase_if(handed_on_, [](const auto& connection) {
    return InodeOf(connection.first) != connection.second;
  });
}

}  // namespace hourglass
