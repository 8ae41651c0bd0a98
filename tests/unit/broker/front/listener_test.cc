#include "broker/front/listener.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "storage/mutex.h"

namespace hourglass {
namespace {

class ListenerTest : public ::testing::Test {
 protected:
  ~ListenerTest() override {
    for (const int fd : mine_) close(fd);
    for (const int fd : handed_on_) close(fd);
  }

  void Start() {
    ListenerHooks hooks;
    const auto hook = [this](char kind) {
      return [this, kind](int fd) {
        MutexLock lock(&mu_);
        handed_on_.push_back(fd);
        kinds_.push_back(kind);
      };
    };
    if (tls_) hooks.tls = hook('t');
    hooks.plaintext = hook('p');
    auto listener =
        Listener::Start("127.0.0.1", 0, hooks, options_, RealClock());
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
  }

  int Connect(const std::string& text) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(listener_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(
        connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    if (!text.empty()) {
      EXPECT_EQ(send(fd, text.data(), text.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(text.size()));
    }
    // Nobody waits for ever in a test.
    timeval patience = {10, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    mine_.push_back(fd);
    return fd;
  }

  // The other side closed it, within the patience above.
  static bool Closed(int fd) {
    char byte;
    const ssize_t n = recv(fd, &byte, 1, 0);
    return n == 0 || (n < 0 && errno == ECONNRESET);
  }

  std::string WaitForKinds(size_t count) {
    for (int i = 0; i < 1000; ++i) {
      MutexLock lock(&mu_);
      if (kinds_.size() >= count) return kinds_;
      never_.WaitForMs(&mu_, 10);
    }
    MutexLock lock(&mu_);
    return kinds_;
  }

  bool tls_ = true;
  FrontOptions options_;
  Mutex mu_;
  CondVar never_;
  std::vector<int> handed_on_;
  std::string kinds_;
  std::vector<int> mine_;
  std::unique_ptr<Listener> listener_;
};

TEST(FirstByte, Kinds) {
  EXPECT_EQ(KindOfFirstByte(0x16), FirstByte::kTls);
  EXPECT_EQ(KindOfFirstByte('P'), FirstByte::kPlaintext);
  for (int byte = 0; byte < 256; ++byte) {
    if (byte == 0x16 || byte == 'P') continue;
    EXPECT_EQ(KindOfFirstByte(static_cast<unsigned char>(byte)),
              FirstByte::kOther);
  }
}

TEST_F(ListenerTest, HandsOnByTheFirstByteAndTakesNothing) {
  Start();
  Connect("PRI *");
  EXPECT_EQ(WaitForKinds(1), "p");
  Connect("\x16\x03\x01");
  EXPECT_EQ(WaitForKinds(2), "pt");
  char text[8] = {};
  EXPECT_EQ(recv(handed_on_[0], text, sizeof(text), 0), 5);
  EXPECT_EQ(std::string(text), "PRI *");
}

TEST_F(ListenerTest, AnythingElseIsClosed) {
  Start();
  EXPECT_TRUE(Closed(Connect("GET / HTTP/1.1\r\n")));
  EXPECT_TRUE(Closed(Connect(std::string(1, '\0'))));
  EXPECT_EQ(listener_->refused(), 2u);
}

TEST_F(ListenerTest, WithoutTlsItIsClosed) {
  tls_ = false;
  Start();
  EXPECT_TRUE(Closed(Connect("\x16\x03\x01")));
}

TEST_F(ListenerTest, TheSilentAreClosedInTime) {
  options_.handshake_ms = 50;
  Start();
  EXPECT_TRUE(Closed(Connect("")));
  EXPECT_EQ(listener_->refused(), 1u);
}

TEST_F(ListenerTest, TheSilentAreBounded) {
  options_.handshakes_max = 2;
  options_.handshake_ms = 60'000;
  Start();
  Connect("");
  Connect("");
  EXPECT_TRUE(Closed(Connect("")));
}

TEST_F(ListenerTest, ConnectionsAreBoundedAndCountedAgain) {
  options_.connections_max = 2;
  Start();
  Connect("P");
  Connect("P");
  EXPECT_EQ(WaitForKinds(2), "pp");
  EXPECT_TRUE(Closed(Connect("P")));
  {
    MutexLock lock(&mu_);
    close(handed_on_.back());
    handed_on_.pop_back();
    // Counting is not repeated at once.
    never_.WaitForMs(&mu_, 300);
  }
  Connect("P");
  EXPECT_EQ(WaitForKinds(3), "ppp");
}

TEST_F(ListenerTest, AStopClosesWhatWasNotHandedOn) {
  Start();
  const int silent = Connect("");
  listener_->Stop();
  listener_.reset();
  EXPECT_TRUE(Closed(silent));
}

TEST_F(ListenerTest, AnAddressThatIsTaken) {
  Start();
  const auto second = Listener::Start("127.0.0.1", listener_->port(), {},
                                      options_, RealClock());
  EXPECT_TRUE(absl::IsUnavailable(second.status())) << second.status();
  const auto nonsense =
      Listener::Start("no such host", 0, {}, options_, RealClock());
  EXPECT_TRUE(absl::IsInvalidArgument(nonsense.status())) << nonsense.status();
}

}  // namespace
}  // namespace hourglass
