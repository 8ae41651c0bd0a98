// Headers, entries and names of consume queues.
#include <string>
#include <string_view>

#include "storage/checksum.h"
#include "storage/coding.h"
#include "storage/queue_format.h"
#include "tests/fuzz/fuzz.h"

namespace hourglass {
namespace {

void CheckHeader(std::string_view bytes) {
  const auto header = DecodeQueueHeader(bytes);
  if (!header.ok()) return;
  const auto again = DecodeQueueHeader(EncodeQueueHeader(*header));
  FUZZ_CHECK(again.ok());
  FUZZ_CHECK(again->topic == header->topic);
  FUZZ_CHECK(again->first == header->first);
  FUZZ_CHECK(again->store == header->store);
}

std::string SealHeader(std::string_view data) {
  std::string bytes(data);
  bytes.resize(kQueueHeaderBytes);
  PutFixed<uint64_t>(
      bytes.data() + kQueueChecksumAt,
      HashBytes(std::string_view(bytes).substr(0, kQueueChecksumAt)));
  return bytes;
}

void CheckEntries(std::string_view bytes) {
  const QueueSeal seal(StoreId(), "t");
  for (uint64_t i = 0; bytes.size() >= kQueueEntryBytes; ++i) {
    QueueEntry entry;
    if (DecodeQueueEntry(seal, QueueIndex(i), bytes.data(), &entry)) {
      char again[kQueueEntryBytes];
      EncodeQueueEntry(seal, QueueIndex(i), entry, again);
      FUZZ_CHECK(bytes.substr(0, kQueueEntryBytes) ==
                 std::string_view(again, sizeof(again)));
    }
    bytes.remove_prefix(kQueueEntryBytes);
  }
}

void CheckNames(std::string_view text) {
  const auto first = ParseQueueFileName(text);
  if (first.ok()) FUZZ_CHECK(QueueFileName(*first) == text);
  if (text.empty()) return;
  const std::string name = QueueDirName(text);
  FUZZ_CHECK(!name.empty() && name.size() <= 255 && name[0] != '.');
  FUZZ_CHECK(name.find('/') == std::string::npos);
  FUZZ_CHECK(name.find('\0') == std::string::npos);
}

FUZZ_TARGET(std::string_view data) {
  if (data.empty()) return;
  const int choice = data[0] % 4;
  data.remove_prefix(1);
  if (choice == 0) CheckHeader(data);
  if (choice == 1) CheckHeader(SealHeader(data));
  if (choice == 2) CheckEntries(data);
  if (choice == 3) CheckNames(data);
}

}  // namespace
}  // namespace hourglass
