// File: redis_connection.h
//
// One connection to a Redis server that is made when it is needed, and made
// again after it broke.
//
//   auto url = RedisUrl::Parse("redis://:secret@localhost:6379/2");
//   RedisConnection redis(*url);
//   auto reply = redis.Call({"GET", "key"});
//
// Errors: UNAVAILABLE: it was not reached, the connection broke (what was
// sent may have been done), or the server refuses for now (loading, no
// memory, cannot write its disk, read-only). PERMISSION_DENIED: the password
// or the rights. INTERNAL: what it said.
//
// Limitations: no TLS, no cluster, no sentinel.
//
// Threads: one at a time.
//
// Serves promise 5: what the server said reaches the user.
#ifndef HOURGLASS_WHEEL_REDIS_REDIS_CONNECTION_H_
#define HOURGLASS_WHEEL_REDIS_REDIS_CONNECTION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct redisContext;
struct redisReply;

namespace hourglass {

struct RedisUrl {
  std::string host = "localhost";
  int port = 6379;
  std::string user = {}, password = {};
  int database = 0;

  // redis://[[user]:password@]host[:port][/database]
  static absl::StatusOr<RedisUrl> Parse(std::string_view text);
  // Without the password.
  std::string ToString() const;
};

// An answer: a number, a text, nothing, or a list of them.
struct RedisReply {
  enum class Kind { kNil, kInt, kText, kList };
  Kind kind = Kind::kNil;
  int64_t number = 0;
  std::string text;
  std::vector<RedisReply> list;
};

class RedisConnection {
 public:
  // A call that takes longer counts as broken.
  static constexpr int64_t kTimeoutMs = 5000;

  explicit RedisConnection(RedisUrl url, int64_t timeout_ms = kTimeoutMs);
  ~RedisConnection();

  absl::StatusOr<RedisReply> Call(const std::vector<std::string>& words);
  // Runs a Lua script, by its hash once the server knows it. `script` is
  // always the same pointer, and `preamble` goes before it.
  absl::StatusOr<RedisReply> Eval(std::string_view preamble, const char* script,
                                  const std::string& key,
                                  const std::vector<std::string>& arguments);

 private:
  struct Free {
    void operator()(redisContext* context) const;
    void operator()(redisReply* reply) const;
  };

  absl::Status Connect();
  absl::Status Broken(std::string_view what);

  const RedisUrl url_;
  const int64_t timeout_ms_;
  std::unique_ptr<redisContext, Free> context_;
  std::map<const char*, std::string> hashes_;  // by script
};

}  // namespace hourglass

#endif  // HOURGLASS_WHEEL_REDIS_REDIS_CONNECTION_H_
