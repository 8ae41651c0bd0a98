// File: redis_server.h
//
// A real redis-server of a test's own: on a free port, in a directory of its
// own, with every write synced to its append-only file. It ends with the test,
// also if the test crashes.
//
//   RedisServer server;
//   RedisSlotStore store(server.url(), "t");
//   server.Kill();      // as a power loss would
//   server.Start();     // the same data, the same port
#ifndef HOURGLASS_TESTS_UNIT_WHEEL_REDIS_REDIS_SERVER_H_
#define HOURGLASS_TESTS_UNIT_WHEEL_REDIS_REDIS_SERVER_H_

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "wheel/redis/redis_connection.h"

namespace hourglass {

class RedisServer {
 public:
  RedisServer() {
    std::string dir = testing::TempDir() + "/hourglass-redis-XXXXXX";
    dir_ = ::mkdtemp(dir.data());
    port_ = FreePort();
    Start();
  }
  ~RedisServer() {
    Kill();
    std::filesystem::remove_all(dir_);
  }

  void Start() {
    pid_ = ::fork();
    if (pid_ == 0) Exec();
    for (int i = 0; i < 500 && !Answers(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ASSERT_TRUE(Answers()) << "redis-server does not start; is it installed? "
                              "see tools/install_dependencies.sh";
  }

  void Kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  RedisUrl url() const { return {.host = "127.0.0.1", .port = port_}; }

 private:
  [[noreturn]] void Exec() const {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int null = ::open("/dev/null", O_RDWR);
    ::dup2(null, 0);
    ::dup2(null, 1);
    ::dup2(null, 2);
    ::execlp("redis-server", "redis-server", "--bind", "127.0.0.1", "--port",
             std::to_string(port_).c_str(), "--dir", dir_.c_str(), "--save", "",
             "--appendonly", "yes", "--appendfsync", "always",
             static_cast<char*>(nullptr));
    ::_exit(127);
  }

  bool Answers() const {
    return RedisConnection(url(), 1000).Call({"PING"}).ok();
  }

  // Free a moment ago; good enough on a loopback.
  static int FreePort() {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(fd, any, size) != 0) return 0;
    ::getsockname(fd, any, &size);
    ::close(fd);
    return ::ntohs(address.sin_port);
  }

  std::string dir_;
  int port_ = 0;
  pid_t pid_ = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_UNIT_WHEEL_REDIS_REDIS_SERVER_H_
