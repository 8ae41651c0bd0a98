#include "wheel/redis/redis_slot_store.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/status_macros.h"
#include "storage/text.h"

namespace hourglass {
namespace {

// Numbers go through Lua's doubles, which are exact up to 2^53: seconds and
// counters stay far below. KEYS[1] is the prefix.

// ARGV: second, now, task, producer, number.
constexpr char kPush[] = R"(
local p = KEYS[1]
local second, now = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('SETNX', p .. 'done', string.format('%d', math.min(second, now) - 1))
second = math.max(second, tonumber(redis.call('GET', p .. 'done')) + 1)
local stamp = p .. 'producer:' .. ARGV[4]
local last = redis.call('GET', stamp)
if not last or tonumber(last) < tonumber(ARGV[5]) then
  redis.call('RPUSH', p .. 'slot:' .. string.format('%d', second), ARGV[3])
  redis.call('INCR', p .. 'pending')
end
redis.call('SET', stamp, ARGV[5], 'EX', 86400)
return second
)";

// ARGV: owner, ttl. The token, or 0 while another has the lease.
constexpr char kAcquire[] = R"(
local p = KEYS[1]
local held = redis.call('GET', p .. 'lease')
if held then
  local token, owner = string.match(held, '^(%d+)/(.*)$')
  if owner ~= ARGV[1] then return 0 end
  redis.call('PEXPIRE', p .. 'lease', ARGV[2])
  return tonumber(token)
end
local token = redis.call('INCR', p .. 'tokens')
redis.call('SET', p .. 'lease', string.format('%d/', token) .. ARGV[1],
           'PX', ARGV[2])
return token
)";

// What goes before all others: the lease is ARGV[1]; false if it is not ours.
constexpr char kLed[] = R"(
local p = KEYS[1]
if redis.call('GET', p .. 'lease') ~= ARGV[1] then return false end
)";

constexpr char kRenew[] = R"(
redis.call('PEXPIRE', p .. 'lease', ARGV[2])
return 1
)";

constexpr char kRelease[] = R"(
redis.call('DEL', p .. 'lease')
return 1
)";

// ARGV: lease, until, how many seconds at most. {next, has tasks}
constexpr char kSkip[] = R"(
local at = redis.call('GET', p .. 'claim:at')
if at then return {tonumber(at), 1} end
local last = tonumber(ARGV[2])
redis.call('SETNX', p .. 'done', string.format('%d', last - 1))
local done = tonumber(redis.call('GET', p .. 'done'))
local stop = math.min(last, done + tonumber(ARGV[3]))
local second, found = done, 0
while second < stop do
  if redis.call('EXISTS', p .. 'slot:' .. string.format('%d', second + 1)) == 1
  then
    found = 1
    break
  end
  second = second + 1
end
if second > done then
  redis.call('SET', p .. 'done', string.format('%d', second))
end
return {second + 1, found}
)";

// ARGV: lease, second, count_max. {number, second, size, confirmed, tasks}
constexpr char kTake[] = R"(
local claim = p .. 'claim'
if redis.call('EXISTS', claim) == 0 then
  local slot = p .. 'slot:' .. ARGV[2]
  if redis.call('EXISTS', slot) == 0 then return {0, 0, 0, 0, {}} end
  redis.call('RENAME', slot, claim)
  redis.call('SET', claim .. ':at', ARGV[2])
  redis.call('SET', claim .. ':done', '0')
  redis.call('SET', claim .. ':number', redis.call('INCR', p .. 'claims'))
end
local confirmed = tonumber(redis.call('GET', claim .. ':done'))
return {tonumber(redis.call('GET', claim .. ':number')),
        tonumber(redis.call('GET', claim .. ':at')),
        redis.call('LLEN', claim), confirmed,
        redis.call('LRANGE', claim, confirmed,
                   confirmed + tonumber(ARGV[3]) - 1)}
)";

// ARGV: lease, number of the claim, count.
constexpr char kConfirm[] = R"(
local claim = p .. 'claim'
if redis.call('GET', claim .. ':number') ~= ARGV[2] then return 1 end
local size = redis.call('LLEN', claim)
local count = math.min(tonumber(ARGV[3]), size)
local before = tonumber(redis.call('GET', claim .. ':done'))
if count > before then
  redis.call('DECRBY', p .. 'pending', count - before)
  redis.call('SET', claim .. ':done', string.format('%d', count))
end
if count == size then
  redis.call('DEL', claim, claim .. ':at', claim .. ':done', claim .. ':number')
end
return 1
)";

// A script of so many EXISTS takes the server some milliseconds.
constexpr int kSkipMax = 10'000;

absl::Status LeaseEnded() {
  return absl::FailedPreconditionError("the lease of this driver has ended");
}

absl::Status Strange(std::string_view call) {
  return absl::InternalError(
      absl::StrCat("Redis: the answer to ", ToAbsl(call),
                   " is not what the script returns; is another program "
                   "using the same prefix?"));
}

template <typename T>
std::string Number(T value) {
  return std::to_string(value);
}

}  // namespace

RedisSlotStore::RedisSlotStore(RedisUrl url, std::string_view prefix,
                               int64_t timeout_ms)
    : redis_(std::move(url), timeout_ms),
      prefix_(absl::StrCat("{", ToAbsl(prefix), "}:")) {}

absl::StatusOr<RedisReply> RedisSlotStore::Led(
    const char* script, const Lease& lease,
    std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(),
                   absl::StrCat(lease.token, "/", lease.owner));
  ASSIGN_OR_RETURN(RedisReply reply,
                   redis_.Eval(kLed, script, prefix_, arguments));
  if (reply.kind == RedisReply::Kind::kNil) return LeaseEnded();
  return reply;
}

absl::StatusOr<Second> RedisSlotStore::Push(Second second, Second now,
                                            std::string_view task,
                                            const Stamp& stamp) {
  ASSIGN_OR_RETURN(
      const RedisReply reply,
      redis_.Eval("", kPush, prefix_,
                  {Number(second.value()), Number(now.value()),
                   std::string(task), stamp.producer, Number(stamp.number)}));
  return Second(reply.number);
}

absl::StatusOr<uint64_t> RedisSlotStore::Pending() {
  ASSIGN_OR_RETURN(const RedisReply reply,
                   redis_.Call({"GET", prefix_ + "pending"}));
  if (reply.kind == RedisReply::Kind::kNil) return 0;
  // Tasks that somebody appended past Push were not counted.
  const int64_t pending = std::strtoll(reply.text.c_str(), nullptr, 10);
  return static_cast<uint64_t>(std::max<int64_t>(pending, 0));
}

absl::StatusOr<SlotStore::Lease> RedisSlotStore::Acquire(
    const std::string& owner, int64_t ttl_ms) {
  ASSIGN_OR_RETURN(const RedisReply reply,
                   redis_.Eval("", kAcquire, prefix_, {owner, Number(ttl_ms)}));
  if (reply.number == 0) {
    return absl::FailedPreconditionError("another driver has the lease");
  }
  return Lease{static_cast<uint64_t>(reply.number), owner};
}

absl::Status RedisSlotStore::Renew(const Lease& lease, int64_t ttl_ms) {
  return Led(kRenew, lease, {Number(ttl_ms)}).status();
}

absl::Status RedisSlotStore::Release(const Lease& lease) {
  return Led(kRelease, lease, {}).status();
}

absl::StatusOr<SlotStore::Position> RedisSlotStore::Skip(const Lease& lease,
                                                         Second until) {
  ASSIGN_OR_RETURN(
      const RedisReply reply,
      Led(kSkip, lease, {Number(until.value()), Number(kSkipMax)}));
  if (reply.list.size() != 2) return Strange("skip");
  return Position{Second(reply.list[0].number), reply.list[1].number == 1};
}

absl::StatusOr<SlotStore::Claim> RedisSlotStore::Take(const Lease& lease,
                                                      Second second,
                                                      size_t count_max) {
  ASSIGN_OR_RETURN(
      RedisReply reply,
      Led(kTake, lease, {Number(second.value()), Number(count_max)}));
  if (reply.list.size() != 5) return Strange("take");
  Claim claim{.number = static_cast<uint64_t>(reply.list[0].number),
              .second = Second(reply.list[1].number),
              .size = static_cast<size_t>(reply.list[2].number),
              .confirmed = static_cast<size_t>(reply.list[3].number),
              .tasks = {}};
  for (RedisReply& task : reply.list[4].list) {
    claim.tasks.push_back(std::move(task.text));
  }
  return claim;
}

absl::Status RedisSlotStore::Confirm(const Lease& lease, uint64_t claim,
                                     size_t count) {
  return Led(kConfirm, lease, {Number(claim), Number(count)}).status();
}

}  // namespace hourglass
