// File: client_flags.h
//
// The flags of the commands that speak to a running server: where it is, who
// we are, whom to trust, how long to wait.
//
//   BrokerFlags flags;          // send, receive, recall
//   flags.Declare(app);
//   ASSIGN_OR_RETURN(auto broker, flags.Connect(console));
//
//   AdminFlags admin;           // topics, groups, top
//
// Serves promise 5: a server that is not there is named by its address.
#ifndef HOURGLASS_BROKER_PROGRAM_CLIENT_FLAGS_H_
#define HOURGLASS_BROKER_PROGRAM_CLIENT_FLAGS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "broker/client/admin_client.h"
#include "broker/client/broker_client.h"
#include "broker/program/console.h"

namespace CLI {
class App;
}  // namespace CLI

namespace hourglass {

// Of the flags; their variables carry no command name (HOURGLASS_ENDPOINT).
inline constexpr char kServerGroup[] = "The server";

class BrokerFlags {
 public:
  void Declare(CLI::App* app);
  // INVALID_ARGUMENT names the flag.
  absl::StatusOr<std::unique_ptr<BrokerClient>> Connect(
      const Console& console) const;

 private:
  BrokerClientOptions options_;
  std::string timeout_ = "10s";
  std::string ca_file_;
};

class AdminFlags {
 public:
  void Declare(CLI::App* app);
  absl::StatusOr<std::unique_ptr<AdminClient>> Connect(
      const Console& console) const;
  const std::string& url() const { return options_.url; }

 private:
  AdminClientOptions options_;
  std::string timeout_ = "5s";
};

// The value of `flag`, which must be a duration of more than nothing.
absl::StatusOr<int64_t> DurationFlag(std::string_view flag,
                                     const std::string& text);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_PROGRAM_CLIENT_FLAGS_H_
