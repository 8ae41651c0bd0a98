// What a simulated host does with its store.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/simulation/sim_run.h"

namespace hourglass {
namespace {

constexpr int64_t kDayMs = 24 * kMsPerHour;

}  // namespace

// Bounds so small that they are met within a few operations.
StoreOptions SimRun::SomeOptions() {
  StoreOptions options;
  options.threads = false;
  options.clock = &clock_;
  options.file_system = fs_.get();
  options.checkpoint_interval_ms = OneOf<int64_t>({1, 50, 1000, 10'000});
  options.checkpoint_log_bytes = OneOf<uint64_t>({4096, 65536});
  options.log_segment_bytes = 64u << 10;
  options.body_bytes_max = 1024;
  options.properties_bytes_max = 1024;
  options.batch_bytes_max = OneOf<size_t>({1, 2048, 16384});
  options.batch_messages_max = OneOf<uint32_t>({2, 16, 4096});
  options.unsynced_bytes_max = 1u << 20;
  options.preload_bytes_max = 64 * OneOf<size_t>({16, 4096});
  options.preload_ahead_ms = OneOf<int64_t>({0, 60'000});
  options.open_segments_max = OneOf<uint32_t>({4, 8});
  options.append_buffer_bytes_max = OneOf<size_t>({1, 4096, 1u << 20});
  options.open_topics_max = OneOf<uint32_t>({1, 4});
  options.group_marks_max = OneOf<uint32_t>({1, 5, 1u << 18, 1u << 18});
  options.disk_reserve_bytes = OneOf<uint64_t>({0, 300'000});
  options.retention_ms = OneOf<int64_t>({1, kMsPerHour, 72 * kMsPerHour});
  options.retention_bytes = OneOf<uint64_t>({0, 0, 150'000});
  return options;
}

int64_t SimRun::SomeDueMs() {
  const int64_t now = now_ms();
  const auto upto = [this](int64_t ms) {
    return static_cast<int64_t>(Upto(static_cast<uint64_t>(ms)));
  };
  switch (Upto(9)) {
    case 0:
      return Chance(50) ? kDueNow : now - upto(1000);
    case 1:
      return now + upto(20);
    case 2:
    case 3:
      return now + upto(5000);
    case 4:
    case 5:
      return now + upto(kMsPerHour);
    case 6:
      return StartMs(HourOf(now) + 1) + upto(1) - upto(1);
    case 7:
      return now + upto(4 * kMsPerHour);
    case 8:
      return now + upto(Chance(10) ? 300 * kDayMs : kDayMs);
    default:
      // Again and again the same slot.
      return StartMs(HourOf(now) + 1) + 5000 + upto(2);
  }
}

Message SimRun::SomeMessage() {
  Message message;
  message.topic = Chance(75) ? "a" : "b";
  message.id = absl::StrCat("m", next_id_++);
  message.due_ms = SomeDueMs();
  message.stored_ms = now_ms();
  if (Chance(20)) message.tag = "tag";
  if (Chance(10)) message.properties = {{"key", "value"}};
  message.body.resize(Chance(large_percent_) ? 1000 : Upto(60));
  for (char& byte : message.body) byte = static_cast<char>(random_.Next());
  return message;
}

int64_t SimRun::SomePassingMs() {
  const auto upto = [this](int64_t ms) {
    return static_cast<int64_t>(Upto(static_cast<uint64_t>(ms)));
  };
  const uint64_t die = Upto(99);
  if (die < 35) return upto(30);
  if (die < 60) return upto(3000);
  const auto& pending = oracle_.model().pending();
  if (die < 80 && !pending.empty()) {
    return std::max<int64_t>(0, pending.begin()->first - now_ms());
  }
  if (die < 95) return upto(kMsPerHour);
  return upto(6 * kMsPerHour);
}

void SimRun::OneOperation() {
  ++totals_.operations;
  const uint64_t die = Upto(99);
  if (die < 32) return Put(1);
  if (die < 43) return Put(2 + Upto(12));
  if (die < 54) return Cancel();
  if (die < 61) return Move();
  if (die < 65) return CommitProgress();
  if (die < 71) return AckSome();
  if (die < 74) return PutAndAck();
  if (die < 77) return Replace();
  if (die < 79 && Chance(plan_.clock_percent * 10)) return StepClock();
  PassTime();
}

void SimRun::Put(size_t count) {
  std::vector<Message> messages;
  for (size_t i = 0; i < count; ++i) messages.push_back(SomeMessage());
  std::vector<MessageView> views;
  for (const Message& message : messages) views.push_back(message.View());
  Note(absl::StrCat("put ", count, " ", messages[0].id, " due ",
                    messages[0].due_ms, count == 1 ? "" : " ..."));
  const int64_t asked_ms = now_ms();
  const auto results = store_->PutMany(views);
  for (size_t i = 0; i < count && !failed(); ++i) {
    oracle_.PutAnswered(messages[i], asked_ms, results[i]);
    totals_.puts += results[i].ok() ? 1 : 0;
  }
}

const Oracle::Given* SimRun::SomeGiven() {
  const auto& given = oracle_.given();
  if (given.empty()) return nullptr;
  const size_t back = Upto(std::min<size_t>(given.size() - 1, 30));
  const Oracle::Given* one = &given[given.size() - 1 - back];
  return oracle_.model().InDoubt(one->id) ? nullptr : one;
}

void SimRun::Cancel() {
  const Oracle::Given* at = SomeGiven();
  if (at == nullptr) return;
  const Oracle::Given given = *at;
  Note(absl::StrCat("cancel ", given.id, " ", Describe(given.handle)));
  oracle_.CancelAnswered(given, store_->Cancel(given.handle));
}

void SimRun::Move() {
  const Oracle::Given* at = SomeGiven();
  if (at == nullptr) return;
  const Oracle::Given given = *at;
  const bool now = Chance(25);
  const int64_t asked_ms = now_ms();
  int64_t due_ms = now ? asked_ms : SomeDueMs();
  if (due_ms == kDueNow) due_ms = asked_ms;
  Note(absl::StrCat("move ", given.id, " ", Describe(given.handle), " to ",
                    due_ms));
  const auto moved = now ? store_->DeliverNow(given.handle)
                         : store_->Reschedule(given.handle, due_ms);
  oracle_.MoveAnswered(given, due_ms, asked_ms, moved);
}

void SimRun::PassTime() {
  const int64_t ms = SomePassingMs();
  Note(absl::StrCat("pass ", ms));
  clock_.AdvanceMs(ms);
  if (Chance(90)) Step();
}

void SimRun::TurnHour() {
  const int64_t ms = StartMs(HourOf(now_ms()) + 1) + 2000 - now_ms();
  Note(absl::StrCat("turn the hour, pass ", ms));
  clock_.AdvanceMs(ms);
  Step();
}

void SimRun::StepClock() {
  const auto ms =
      static_cast<int64_t>(Upto(OneOf<uint64_t>({100, 5000, 2 * kMsPerHour})));
  const bool back = Chance(50);
  Note(absl::StrCat("step the clock ", back ? -ms : ms));
  Count(&counts_, back ? FaultKind::kClockBack : FaultKind::kClockForward);
  // The oracle's idea of "early" is the highest time the store ever saw.
  Step();
  clock_.StepMs(back ? -ms : ms);
}

void SimRun::Step() {
  const int64_t before_ms = now_ms();
  store_->Step();
  oracle_.AfterStep(store_.get(), before_ms);
  if (!failed() && !damaged_) oracle_.CheckFiles(store_.get(), fs_->Files());
}

}  // namespace hourglass
