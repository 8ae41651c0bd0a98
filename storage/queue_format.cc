#include "storage/queue_format.h"

#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "storage/checksum.h"
#include "storage/coding.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr size_t kHashSuffixBytes = 17;  // "~" and 16 hex digits

static_assert(sizeof(kQueueMagic) - 1 == 8);
static_assert(kQueueHeaderFixedBytes == 8 + 4 + 4 + kStoreIdBytes + 8);
static_assert(kQueueTopicBytesMax >= 255, "topics are up to 255 bytes");

bool StandsForItself(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
         c == '.' || c == '-';
}

std::string Escape(std::string_view topic) {
  std::string name;
  for (const char c : topic) {
    // "." and ".." are directories of their own; ".x" hides from people.
    if (StandsForItself(c) && !(c == '.' && name.empty())) {
      name.push_back(c);
    } else {
      absl::StrAppendFormat(&name, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return name;
}

absl::Status DamagedHeader(const std::string& what) {
  return absl::DataLossError(absl::StrCat("queue file header: ", what));
}

// Magic and checksum: everything that damage can change.
absl::Status CheckIntact(std::string_view bytes) {
  if (bytes.size() != kQueueHeaderBytes) {
    return DamagedHeader(
        absl::StrCat("only ", bytes.size(), " bytes of ", kQueueHeaderBytes));
  }
  if (bytes.substr(0, 8) != kQueueMagic) {
    return DamagedHeader(
        absl::StrCat("does not begin with \"", kQueueMagic, "\""));
  }
  if (GetFixed<uint64_t>(bytes.data() + kQueueChecksumAt) !=
      HashBytes(bytes.substr(0, kQueueChecksumAt))) {
    return DamagedHeader("checksum does not match");
  }
  return absl::OkStatus();
}

uint64_t EntryChecksum(const QueueSeal& seal, QueueIndex index,
                       const char* entry) {
  return Seal(seal.salt, index.value(), seal.topic_hash,
              HashBytes({entry, kQueueEntryBytes - 8}));
}

}  // namespace

std::string QueueDirName(std::string_view topic) {
  std::string name = Escape(topic);
  if (name.size() <= kQueueDirNameBytesMax) return name;
  name.resize(kQueueDirNameBytesMax - kHashSuffixBytes);
  absl::StrAppendFormat(&name, "~%016x", HashBytes(topic));
  return name;
}

std::string QueueFileName(QueueIndex first) {
  return absl::StrFormat("%020d.queue", first.value());
}

absl::StatusOr<QueueIndex> ParseQueueFileName(std::string_view name) {
  uint64_t first = 0;
  std::from_chars(name.data(), name.data() + name.size(), first);
  if (QueueFileName(QueueIndex(first)) != name) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", std::string(name), "\" is not <20 digits>.queue"));
  }
  return QueueIndex(first);
}

std::string EncodeQueueHeader(const QueueHeader& header) {
  std::string out(kQueueMagic);
  AppendFixed<uint32_t>(&out, kQueueVersion);
  AppendFixed(&out, static_cast<uint32_t>(header.topic.size()));
  out.append(header.store.view());
  AppendFixed<uint64_t>(&out, header.first.value());
  out.append(header.topic);
  out.resize(kQueueChecksumAt, '\0');
  AppendFixed<uint64_t>(&out, HashBytes(out));
  return out;
}

absl::StatusOr<QueueHeader> DecodeQueueHeader(std::string_view bytes) {
  RETURN_IF_ERROR(CheckIntact(bytes));
  Decoder in(bytes.substr(8));
  uint32_t version = 0;
  uint32_t topic_size = 0;
  std::string_view store;
  std::string_view topic;
  uint64_t first = 0;
  in.Fixed(&version);
  if (version != kQueueVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("queue file of format version ", version,
                     "; this program reads version ", kQueueVersion));
  }
  if (!in.Fixed(&topic_size) || topic_size > kQueueTopicBytesMax ||
      !in.Bytes(kStoreIdBytes, &store) || !in.Fixed(&first) ||
      !in.Bytes(topic_size, &topic)) {
    return DamagedHeader("topic longer than the header");
  }
  QueueHeader header;
  store.copy(header.store.bytes.data(), kStoreIdBytes);
  header.topic = std::string(topic);
  header.first = QueueIndex(first);
  return header;
}

absl::Status CheckQueueHeader(std::string_view bytes,
                              const QueueHeader& expected) {
  ASSIGN_OR_RETURN(const QueueHeader found, DecodeQueueHeader(bytes));
  if (found.store != expected.store) {
    return absl::FailedPreconditionError(
        absl::StrCat("queue file belongs to store ", found.store.ToHex(),
                     ", not to ", expected.store.ToHex()));
  }
  if (found.topic != expected.topic || found.first != expected.first) {
    return DamagedHeader(absl::StrCat(
        "is of topic \"", found.topic, "\" from index ", found.first.value(),
        ", should be \"", expected.topic, "\" from ", expected.first.value()));
  }
  return absl::OkStatus();
}

QueueSeal::QueueSeal(const StoreId& store, std::string_view topic)
    : salt(HashBytes(store.view())), topic_hash(HashBytes(topic)) {}

void EncodeQueueEntry(const QueueSeal& seal, QueueIndex index,
                      const QueueEntry& entry, char* out) {
  PutFixed<uint64_t>(out, entry.offset.value());
  PutFixed<uint32_t>(out + 8, entry.size);
  PutFixed<uint32_t>(out + 12, entry.tag_hash);
  PutFixed<uint64_t>(out + 16, EntryChecksum(seal, index, out));
}

bool DecodeQueueEntry(const QueueSeal& seal, QueueIndex index, const char* in,
                      QueueEntry* entry) {
  if (GetFixed<uint64_t>(in + 16) != EntryChecksum(seal, index, in)) {
    return false;
  }
  entry->offset = LogOffset(GetFixed<uint64_t>(in));
  entry->size = GetFixed<uint32_t>(in + 8);
  entry->tag_hash = GetFixed<uint32_t>(in + 12);
  return true;
}

}  // namespace hourglass
