#ifdef HOURGLASS_FRONT  // builds for sanitizers go without gRPC
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "broker/client/admin_client.h"
#include "broker/program/serve_flags.h"
#include "broker/text.h"
#include "tests/support/string_console.h"

namespace hourglass {
namespace {

using ::testing::HasSubstr;

struct Serve {
  StringConsole console;

  Serve() {
    EXPECT_TRUE(console.file_system.CreateDir("/d").ok());
    // Somebody presses Ctrl-C when it has said that it listens.
    console.out.on_write = [this](std::string_view) {
      console.stop.Request();
      return absl::OkStatus();
    };
  }
  int Run(std::vector<std::string> flags) {
    flags.insert(flags.begin(),
                 {"serve", "--data", "/d", "--admin", "127.0.0.1:0"});
    return console.Run(flags);
  }
};

TEST(ServeCommand, SaysWhereItListensAndStops) {
  Serve serve;
  EXPECT_EQ(serve.Run({"--listen", "127.0.0.1:0"}), 0);
  EXPECT_THAT(serve.console.out.text(), HasSubstr("listening on 127.0.0.1:"));
  EXPECT_THAT(serve.console.out.text(), HasSubstr("(TLS and plaintext)"));
  EXPECT_THAT(serve.console.out.text(), HasSubstr("http://127.0.0.1:"));
  EXPECT_THAT(serve.console.err.text(), HasSubstr("stopping"));
  EXPECT_EQ(serve.console.state->closed, 1);
  EXPECT_TRUE(*serve.console.file_system.Exists("/d/tls/server.pem"));
}

TEST(ServeCommand, WithoutTlsNoCertificateIsMade) {
  Serve serve;
  EXPECT_EQ(serve.Run({"--listen", "127.0.0.1:0", "--no-tls"}), 0);
  EXPECT_THAT(serve.console.out.text(), HasSubstr("(plaintext)"));
  EXPECT_FALSE(*serve.console.file_system.Exists("/d/tls"));
}

TEST(ServeCommand, WrongCallsAreNamedBeforeTheStoreIsOpened) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> calls = {
      {{"--listen", "0.0.0.0:0"}, "--allow-public"},
      {{"--listen", "10.0.0.1:8081"}, "--allow-public"},
      {{"--listen", "8081"}, "HOST:PORT"},
      {{"--listen", "127.0.0.1:65536"}, "HOST:PORT"},
      {{"--no-tls", "--no-plaintext"}, "nobody could connect"},
      {{"--tls-certificate", "/c.pem"}, "--tls-key"},
      {{"--request-bytes-max", "1"}, "request_bytes_max"},
      {{"--invisible-ms-min", "0"}, "invisible_ms_min"},
  };
  for (const auto& [flags, expected] : calls) {
    Serve serve;
    EXPECT_EQ(serve.Run(flags), 2) << expected;
    EXPECT_THAT(serve.console.err.text(), HasSubstr(expected));
    EXPECT_EQ(serve.console.state->opened, 0);
  }
}

TEST(ServeCommand, AnAccessFileIsReadBeforeTheStoreIsOpened) {
  Serve missing;
  EXPECT_EQ(missing.Run({"--access-file", "/access"}), 2);
  EXPECT_THAT(missing.console.err.text(), HasSubstr("/access"));
  EXPECT_EQ(missing.console.state->opened, 0);
  Serve wrong;
  wrong.console.file_system.SetContent("/access", "[users.a]\n");
  EXPECT_EQ(wrong.Run({"--access-file", "/access"}), 2);
  EXPECT_THAT(wrong.console.err.text(),
              HasSubstr("/access:1: users.a has no secret"));
  EXPECT_EQ(wrong.console.state->opened, 0);
}

TEST(ServeCommand, AnAccessFileIsReadAgainWhileItRuns) {
  Serve serve;
  constexpr char kUser[] = "[users.a]\nsecret = \"12345678\"\n";
  serve.console.file_system.SetContent("/access", kUser);
  serve.console.out.on_write = [&](std::string_view) {
    serve.console.file_system.SetContent("/access", "[users.b]\n");
    return absl::OkStatus();
  };
  serve.console.err.on_write = [&](std::string_view said) {
    if (said.find("the users from before stay") != said.npos) {
      serve.console.stop.Request();
    }
    return absl::OkStatus();
  };
  EXPECT_EQ(serve.Run({"--access-file", "/access", "--listen", "127.0.0.1:0",
                       "--admin-tls"}),
            0);
  EXPECT_THAT(serve.console.err.text(), HasSubstr("users.b has no secret"));
  EXPECT_THAT(serve.console.out.text(),
              HasSubstr("Credentials(\"KEY\", \"SECRET\")"));
  EXPECT_THAT(serve.console.out.text(), HasSubstr("https://127.0.0.1:"));
}

TEST(ServeCommand, AWrongTopicIsNamedBeforeTheStoreIsOpened) {
  Serve serve;
  EXPECT_EQ(serve.Run({"--listen", "127.0.0.1:0", "--topic", "a:ODD"}), 2);
  EXPECT_THAT(serve.console.err.text(), HasSubstr("topic a: kind \"ODD\""));
  EXPECT_EQ(serve.console.state->opened, 0);
}

// The server's port, of what it said on stdout.
int AdminPort(const std::string& said) {
  constexpr std::string_view kBefore = "metrics at http://127.0.0.1:";
  const size_t at = said.find(kBefore);
  return at == said.npos ? -1 : std::stoi(said.substr(at + kBefore.size()));
}

TEST(ServeCommand, TopicsOfOperatorsAreKept) {
  Serve serve;
  const auto run = [&serve](const std::vector<std::string>& command) {
    StringConsole there;
    there.connect_admin = ConnectAdmin;
    serve.console.out.on_write = [&](std::string_view said) {
      std::vector<std::string> flags = command;
      flags.push_back("--admin");
      flags.push_back(Concat("127.0.0.1:", AdminPort(std::string(said))));
      const int exit_code = there.Run(flags);
      EXPECT_EQ(exit_code, 0) << there.err.text();
      serve.console.stop.Request();
      return absl::OkStatus();
    };
    serve.console.stop.Reset();
    EXPECT_EQ(serve.Run({"--listen", "127.0.0.1:0", "--no-tls",
                         "--no-auto-create-topics"}),
              0)
        << serve.console.err.text();
    return there.out.text();
  };
  EXPECT_EQ(run({"topics", "--create", "eu%bills", "--kinds", "DELAY+NORMAL"}),
            "eu%bills: created, takes NORMAL+DELAY\n");
  EXPECT_THAT(serve.console.file_system.Content("/d/topics"),
              HasSubstr("\neu%bills NORMAL+DELAY\n"));
  // Another server, the same directory.
  EXPECT_THAT(run({"topics"}), HasSubstr("eu%bills  NORMAL+DELAY  admin"));
  EXPECT_EQ(run({"topics", "--delete", "eu%bills"}), "eu%bills: forgotten\n");
  // The store remembers that it was asked for; the catalogue has forgotten.
  EXPECT_THAT(run({"topics", "--json"}), Not(HasSubstr("admin")));
}

TEST(ServeCommand, ADamagedCatalogueIsNamedBeforeTheStoreIsOpened) {
  for (const char* content : {"", "HOURGLASS-TOPICS 2\n"}) {
    Serve serve;
    serve.console.file_system.SetContent("/d/topics", content);
    EXPECT_EQ(serve.Run({"--listen", "127.0.0.1:0"}), 2);
    EXPECT_THAT(serve.console.err.text(), HasSubstr("/d/topics is damaged"));
    EXPECT_EQ(serve.console.state->opened, 0);
    EXPECT_EQ(serve.console.file_system.Content("/d/topics"), content);
  }
}

TEST(ServeCommand, LoopbackIsByNumberOrName) {
  EXPECT_TRUE(IsLoopback("127.0.0.53"));
  EXPECT_FALSE(IsLoopback("0.0.0.0"));
  EXPECT_FALSE(IsLoopback("127.example.com"));
}

}  // namespace
}  // namespace hourglass
#endif  // HOURGLASS_FRONT
