// A host that embeds Hourglass and keeps delivered messages in a log of its
// own: here, standard output.
//
//   embed DIR
//
// Puts three reminders, moves one, takes one back, and shows what arrives.
#include <cstdint>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "hourglass/delay_store.h"

namespace {

using hourglass::DelayStore;
using hourglass::PutResult;

// Where due messages go. A real one appends to its log, together with the
// key, and syncs before it returns; after a crash the last batches come again
// and the keys tell which ones are there already.
class PrintingSink : public hourglass::DeliverySink {
 public:
  absl::Status Deliver(absl::Span<const hourglass::DueMessage> batch) override {
    for (const hourglass::DueMessage& due : batch) {
      if (!seen_.insert(due.key).second) continue;
      std::cout << "delivered " << due.message.id << ": " << due.message.body
                << std::endl;
    }
    return absl::OkStatus();
  }

 private:
  std::set<hourglass::MessageKey> seen_;
};

PutResult PutReminder(DelayStore* store, std::string_view id,
                      std::string_view body, int64_t due_ms) {
  hourglass::MessageView reminder;
  reminder.topic = "reminders";
  reminder.id = id;
  reminder.body = body;
  reminder.due_ms = due_ms;
  return store->Put(reminder).value();  // durable when it returns
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: embed DIR\n";
    return 2;
  }
  PrintingSink sink;
  const hourglass::StoreOptions options;
  auto opened = DelayStore::Open(argv[1], options, &sink);
  if (!opened.ok()) {
    std::cerr << opened.status() << "\n";
    return 1;
  }
  DelayStore* store = opened->get();
  const int64_t now_ms = options.clock->NowMs();

  PutReminder(store, "tea", "your tea is ready", now_ms + 300);
  const PutResult call = PutReminder(store, "call", "ring back", now_ms + 9000);
  const PutResult party = PutReminder(store, "party", "off!", now_ms + 9000);

  const auto moved = store->Reschedule(call.handle, now_ms + 600);
  std::cout << "call moved: " << (moved.ok() && !moved->handle.IsNone())
            << std::endl;
  const auto answer = store->Cancel(party.handle);
  std::cout << "party: " << CancelAnswerName(answer.value()) << std::endl;

  const bool empty = store->WaitEmpty(absl::Seconds(10));
  const absl::Status closed = store->Close();
  std::cout << "nothing pending: " << empty << std::endl;
  return empty && closed.ok() ? 0 : 1;
}
