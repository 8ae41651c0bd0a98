#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/model/model_run.h"

namespace hourglass {
namespace {

constexpr int64_t kDayMs = 24 * kMsPerHour;

}  // namespace

// Every bound as small as Validate lets it be, or near it, so that it is hit.
StoreOptions ModelRun::SomeOptions() {
  StoreOptions options;
  options.threads = false;
  options.clock = &clock_;
  options.file_system = fs_.get();
  options.checkpoint_interval_ms = OneOf<int64_t>({1, 50, 1000, 10'000});
  options.checkpoint_log_bytes = OneOf<uint64_t>({4096, 65536, 1u << 20});
  options.log_segment_bytes = 64u << 10;
  options.body_bytes_max = 1024;
  options.properties_bytes_max = 1024;
  // The last is the most that fits into a group.
  options.batch_bytes_max = OneOf<size_t>({1, 2048, 16384, 58'880});
  options.batch_messages_max = OneOf<uint32_t>({2, 3, 16, 4096});
  options.batches_in_flight_max = OneOf<uint32_t>({1, 4});
  options.unsynced_bytes_max = 1u << 20;
  options.preload_bytes_max = 64 * OneOf<size_t>({16, 64, 4096});
  options.preload_ahead_ms = OneOf<int64_t>({0, 1000, 60'000, 2 * kMsPerHour});
  options.open_segments_max = OneOf<uint32_t>({4, 8});
  options.append_buffer_bytes_max = OneOf<size_t>({1, 4096, 1u << 20});
  options.open_topics_max = OneOf<uint32_t>({1, 4});
  options.late_messages_max = late_messages_max_;
  options.disk_reserve_bytes = 0;
  options.retention_ms = OneOf<int64_t>({1, kMsPerHour, 72 * kMsPerHour});
  options.retention_bytes = OneOf<uint64_t>({0, 0, 150'000, 400'000});
  options.retain_for_groups = Chance(70);
  return options;
}

int64_t ModelRun::SomeDueMs() {
  const int64_t now = now_ms();
  if (Chance(burst_percent_)) {
    if (burst_due_ms_ <= now || Chance(2)) {
      burst_due_ms_ = now + 1 + static_cast<int64_t>(Upto(4000));
    }
    if (Chance(60)) return burst_due_ms_;
    return StartMs(SecondOf(burst_due_ms_)) + static_cast<int64_t>(Upto(999));
  }
  const Hour hour = HourOf(now);
  const auto upto = [this](int64_t ms) {
    return static_cast<int64_t>(Upto(static_cast<uint64_t>(ms)));
  };
  switch (Upto(24)) {
    case 0:
      return kDueNow;
    case 1:
      return now - upto(100'000);
    case 2:
      return now;
    case 3:
    case 4:
    case 5:
      return now + upto(20);
    case 6:
    case 7:
    case 8:
    case 9:
      return now + upto(10'000);
    case 10:
    case 11:
    case 12:
      return now + upto(200'000);
    case 13:
    case 14:
      return now + upto(kMsPerHour);
    case 15:
    case 16:
      return StartMs(hour + 1) + upto(kMsPerHour);
    case 17:
      return StartMs(hour + 1 + static_cast<int32_t>(Upto(2))) - 1;
    case 18:
      return StartMs(hour + 1 + static_cast<int32_t>(Upto(2)));
    case 19:
      return now + upto(12 * kDayMs);
    case 20:
      // The same slot of the coarse wheel, some rounds on.
      return now + upto(3) * 240 * kMsPerHour + upto(5000);
    case 21:
      return now + (1 + upto(8)) * 365 * kDayMs;
    case 22:
      return now + options_.delay_ms_max - upto(2);
    case 23:
      return OneOf<int64_t>(
          {now + options_.delay_ms_max + 1, -1, INT64_MAX, INT64_MIN / 2, 1});
    default:
      return now + 1000 * upto(60);
  }
}

std::string ModelRun::Bytes(size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random_.Next());
  return bytes;
}

Message ModelRun::SomeMessage() {
  Message message;
  message.topic = topics_[Upto(topics_.size() - 1)];
  message.id = absl::StrCat("m", next_id_++);
  message.due_ms = SomeDueMs();
  message.stored_ms = now_ms();
  if (tiny_bodies_) return message;
  if (Chance(30)) message.tag = OneOf<const char*>({"a", "red", "a||b"});
  if (Chance(10)) message.keys = {Bytes(Upto(9)), "key"};
  if (Chance(10)) message.properties = {{"p", Bytes(Upto(40))}, {"", ""}};
  message.body = Bytes(Chance(5) ? 1024 : Upto(60));
  return message;
}

const ModelRun::Given* ModelRun::SomeGiven() {
  if (given_.empty()) return nullptr;
  // Mostly a young one: the old ones are all done.
  const size_t back = Chance(70) ? Upto(std::min<size_t>(given_.size() - 1, 40))
                                 : Upto(given_.size() - 1);
  const Given* given = &given_[given_.size() - 1 - back];
  return model_.InDoubt(given->id) ? nullptr : given;
}

Handle ModelRun::Forge(const Handle& handle) {
  Handle forged = handle;
  switch (Upto(4)) {
    case 0:
      forged.number += 1 + static_cast<uint32_t>(Upto(3));
      break;
    case 1:
      forged.hour = forged.hour + 1;
      break;
    case 2:
      forged.ms_into_hour ^= 1;
      break;
    case 3:
      forged.id_hash ^= 0x10000;
      break;
    default:
      forged.seal ^= 1;
  }
  return forged;
}

int64_t ModelRun::SomePassingMs() {
  const uint64_t die = Upto(99);
  const auto upto = [this](uint64_t ms) {
    return static_cast<int64_t>(Upto(ms));
  };
  if (die < 40) return upto(30);
  if (die < 60) return upto(2000);
  if (die < 75) return upto(60'000);
  if (die < 83 && !model_.pending().empty()) {
    return std::max<int64_t>(0, model_.pending().begin()->first - now_ms());
  }
  if (die < 92) return upto(kMsPerHour);
  if (die < 97) return upto(5 * kMsPerHour);
  if (die < 99) return upto(12 * kDayMs);
  return Chance(20) ? upto(400 * kDayMs) : upto(100);
}

}  // namespace hourglass
