#include "wheel/redis/redis_connection.h"

#include <hiredis/hiredis.h>
#include <sys/time.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "storage/status_macros.h"
#include "storage/text.h"

namespace hourglass {
namespace {

constexpr std::string_view kScheme = "redis://";

// What a server says when it cannot for now, and will again.
constexpr std::string_view kPassing[] = {
    "LOADING", "OOM",        "MISCONF",  "READONLY",   "MASTERDOWN",
    "BUSY",    "NOREPLICAS", "TRYAGAIN", "CLUSTERDOWN"};
constexpr std::string_view kRefused[] = {"NOAUTH", "WRONGPASS", "NOPERM",
                                         "ERR invalid password", "ERR AUTH"};

absl::Status ErrorOf(std::string_view text, const std::string& where) {
  const std::string message = absl::StrCat(where, ": ", ToAbsl(text));
  for (const std::string_view code : kPassing) {
    if (text.starts_with(code)) return absl::UnavailableError(message);
  }
  for (const std::string_view code : kRefused) {
    if (text.starts_with(code)) return absl::PermissionDeniedError(message);
  }
  if (text.starts_with("NOSCRIPT")) return absl::NotFoundError(message);
  return absl::InternalError(message);
}

RedisReply Convert(const redisReply& from) {
  RedisReply to;
  switch (from.type) {
    case REDIS_REPLY_INTEGER:
      to.kind = RedisReply::Kind::kInt;
      to.number = from.integer;
      break;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
      to.kind = RedisReply::Kind::kText;
      to.text.assign(from.str, from.len);
      break;
    case REDIS_REPLY_ARRAY:
      to.kind = RedisReply::Kind::kList;
      for (size_t i = 0; i < from.elements; ++i) {
        to.list.push_back(Convert(*from.element[i]));
      }
      break;
    default:
      break;
  }
  return to;
}

absl::Status BadUrl(std::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", ToAbsl(text),
                   "\" is no Redis URL; expected "
                   "redis://[[user]:password@]host[:port][/database]"));
}

timeval ToTimeval(int64_t ms) {
  return {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
}

}  // namespace

absl::StatusOr<RedisUrl> RedisUrl::Parse(std::string_view text) {
  RedisUrl url;
  std::string_view rest = text;
  if (!rest.starts_with(kScheme)) return BadUrl(text);
  rest.remove_prefix(kScheme.size());
  if (const size_t at = rest.rfind('@'); at != rest.npos) {
    const std::string_view login = rest.substr(0, at);
    const size_t colon = login.find(':');
    if (colon == login.npos) return BadUrl(text);
    url.user = login.substr(0, colon);
    url.password = login.substr(colon + 1);
    rest.remove_prefix(at + 1);
  }
  if (const size_t slash = rest.find('/'); slash != rest.npos) {
    const std::string_view number = rest.substr(slash + 1);
    if (!number.empty() && (!absl::SimpleAtoi(ToAbsl(number), &url.database) ||
                            url.database < 0)) {
      return BadUrl(text);
    }
    rest = rest.substr(0, slash);
  }
  if (const size_t colon = rest.rfind(':'); colon != rest.npos) {
    if (!absl::SimpleAtoi(ToAbsl(rest.substr(colon + 1)), &url.port) ||
        url.port < 1 || url.port > 65535) {
      return BadUrl(text);
    }
    rest = rest.substr(0, colon);
  }
  if (rest.empty()) return BadUrl(text);
  url.host = rest;
  return url;
}

std::string RedisUrl::ToString() const {
  return absl::StrCat(ToAbsl(kScheme), host, ":", port, "/", database);
}

RedisConnection::RedisConnection(RedisUrl url, int64_t timeout_ms)
    : url_(std::move(url)), timeout_ms_(timeout_ms) {}
RedisConnection::~RedisConnection() = default;

void RedisConnection::Free::operator()(redisContext* context) const {
  redisFree(context);
}
void RedisConnection::Free::operator()(redisReply* reply) const {
  freeReplyObject(reply);
}

absl::Status RedisConnection::Broken(std::string_view what) {
  context_.reset();
  return absl::UnavailableError(
      absl::StrCat(url_.ToString(), ": ", ToAbsl(what)));
}

absl::Status RedisConnection::Connect() {
  const timeval timeout = ToTimeval(timeout_ms_);
  context_.reset(
      redisConnectWithTimeout(url_.host.c_str(), url_.port, timeout));
  if (context_ == nullptr) return Broken("no memory for a connection");
  if (context_->err != 0) return Broken(std::string(context_->errstr));
  redisSetTimeout(context_.get(), timeout);
  std::vector<std::string> login = {"AUTH"};
  if (!url_.user.empty()) login.push_back(url_.user);
  login.push_back(url_.password);
  absl::Status status;
  if (!url_.password.empty()) status = Call(login).status();
  if (status.ok() && url_.database != 0) {
    status = Call({"SELECT", std::to_string(url_.database)}).status();
  }
  if (!status.ok()) context_.reset();
  return status;
}

absl::StatusOr<RedisReply> RedisConnection::Call(
    const std::vector<std::string>& words) {
  if (context_ == nullptr) RETURN_IF_ERROR(Connect());
  std::vector<const char*> texts;
  std::vector<size_t> lengths;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    lengths.push_back(word.size());
  }
  const std::unique_ptr<redisReply, Free> reply(static_cast<redisReply*>(
      redisCommandArgv(context_.get(), static_cast<int>(words.size()),
                       texts.data(), lengths.data())));
  if (reply == nullptr) return Broken(std::string(context_->errstr));
  if (reply->type == REDIS_REPLY_ERROR) {
    return ErrorOf({reply->str, reply->len}, url_.ToString());
  }
  return Convert(*reply);
}

absl::StatusOr<RedisReply> RedisConnection::Eval(
    std::string_view preamble, const char* script, const std::string& key,
    const std::vector<std::string>& arguments) {
  // A server that was restarted has forgotten the script: load it again.
  for (bool loaded_now = false;; loaded_now = true) {
    std::string& hash = hashes_[script];
    if (hash.empty() || loaded_now) {
      ASSIGN_OR_RETURN(
          const RedisReply loaded,
          Call({"SCRIPT", "LOAD", std::string(preamble) + script}));
      hash = loaded.text;
    }
    std::vector<std::string> words = {"EVALSHA", hash, "1", key};
    words.insert(words.end(), arguments.begin(), arguments.end());
    absl::StatusOr<RedisReply> reply = Call(words);
    if (loaded_now || !absl::IsNotFound(reply.status())) return reply;
  }
}

}  // namespace hourglass
