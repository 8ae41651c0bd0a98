// `hourglass recover inspect FILE`: what is in one file of a store, whichever
// it is, by the first bytes of it. Reads nothing else, takes no lock.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "absl/strings/str_format.h"
#include "broker/program/log_records.h"
#include "broker/program/recover_commands.h"
#include "broker/program/store_flags.h"
#include "broker/program/terminal.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "broker/text/timestamp.h"
#include "storage/checksum.h"
#include "storage/coding.h"
#include "storage/hour_format.h"
#include "storage/identity.h"
#include "storage/log_format.h"
#include "storage/message_codec.h"
#include "storage/queue_format.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kFooter[] =
    R"(Knows: HOURGLASS, commitlog/*.log, hours/*.delaylog, hours/*.delayindex,
queues/*/*.queue. The file may lie anywhere; the first line or object says what
it is, then one for each record.

Examples:
  hourglass recover inspect /var/lib/hourglass/HOURGLASS
  hourglass recover inspect 2026-11-21T03.delayindex --json | jq .due_ms

Exit codes: 0 read to the end; 1 damage (it is said where it is met);
2 could not run, or no file of Hourglass.)";

constexpr size_t kWriteBytes = 64u << 10;
constexpr std::string_view kIdentityMagic = "HGLASSID";

// One line or object under construction, of either kind.
class Facts {
 public:
  explicit Facts(bool json) : json_(json) {}

  Facts& Add(std::string_view name, std::string_view value) {
    if (json_) {
      object().Text(name, value);
    } else {
      Append(&out_, out_.empty() ? "" : "  ", name, "=",
             Printable(value, kTextWidth));
    }
    return *this;
  }
  Facts& Add(std::string_view name, uint64_t value) {
    if (json_) {
      object().Uint(name, value);
    } else {
      Append(&out_, out_.empty() ? "" : "  ", name, "=", value);
    }
    return *this;
  }
  std::string Line() {
    if (json_) object().End();
    return out_ + "\n";
  }

 private:
  static constexpr size_t kTextWidth = 80;
  JsonObject& object() {
    if (object_ == nullptr) object_ = std::make_unique<JsonObject>(&out_);
    return *object_;
  }

  const bool json_;
  std::string out_;
  std::unique_ptr<JsonObject> object_;
};

class Inspector {
 public:
  Inspector(const Console& console, bool json)
      : console_(console), json_(json) {}

  absl::StatusOr<int> Run(const std::string& path) {
    SalvageSource source;
    source.fs = console_.file_system;
    ASSIGN_OR_RETURN(file_, SalvageFile::Open(source, path));
    const std::string magic(file_->View(0, 8));
    if (magic == kIdentityMagic) {
      RETURN_IF_ERROR(Identity(path));
    } else if (magic == kLogMagic) {
      RETURN_IF_ERROR(Log());
    } else if (magic == kDelayLogMagic) {
      RETURN_IF_ERROR(DelayLog());
    } else if (magic == kDelayIndexMagic) {
      RETURN_IF_ERROR(DelayIndex());
    } else if (magic == kQueueMagic) {
      RETURN_IF_ERROR(Queue());
    } else {
      return absl::InvalidArgumentError(
          Concat(path,
                 ": is no file of Hourglass: it begins with none of its "
                 "magic words"));
    }
    RETURN_IF_ERROR(Flush());
    return damaged_ ? kExitRefused : kExitOk;
  }

 private:
  Facts New() const { return Facts(json_); }
  absl::Status Put(Facts* facts) {
    out_ += facts->Line();
    return out_.size() < kWriteBytes ? absl::OkStatus() : Flush();
  }
  absl::Status Flush() {
    const absl::Status status = console_.out->Write(out_);
    out_.clear();
    return status;
  }
  absl::Status Damage(uint64_t offset, std::string_view why) {
    damaged_ = true;
    return Put(&New().Add("damage", why).Add("offset", offset));
  }

  absl::Status Identity(const Path& path) {
    ASSIGN_OR_RETURN(const StoreIdentity identity,
                     ReadIdentity(console_.file_system, path.parent_path()));
    return Put(&New()
                    .Add("kind", "identity")
                    .Add("version", kStoreFormatVersion)
                    .Add("store", identity.store_id.ToHex())
                    .Add("created", FormatTimestamp(identity.created_ms)));
  }

  absl::Status Log() {
    ASSIGN_OR_RETURN(const LogFileHeader header,
                     DecodeLogFileHeader(file_->View(0, kLogFileHeaderBytes)));
    RETURN_IF_ERROR(
        Put(&New()
                 .Add("kind", "commit log")
                 .Add("version", kLogVersion)
                 .Add("store", header.id.ToHex())
                 .Add("base", header.base.value())
                 .Add("segment_bytes", header.segment_bytes)
                 .Add("previous_end", header.previous_end.value())));
    const uint64_t salt = HashBytes(header.id.view());
    uint64_t at = kLogFileHeaderBytes;
    while (at < file_->size()) {
      const auto group = DecodeGroupHeader(salt, header.base + at,
                                           file_->View(at, kGroupHeaderBytes));
      if (!group.ok()) {
        const uint64_t from = at;
        at = NextGroup(salt, header.base, at + kLogBlockBytes);
        if (at < file_->size() || !IsZeroFrom(from)) {
          RETURN_IF_ERROR(Damage(from, MessageOf(group.status())));
        }
        continue;
      }
      RETURN_IF_ERROR(Group(salt, header.base, *group));
      at = group->end() - header.base;
    }
    return absl::OkStatus();
  }

  absl::Status Group(uint64_t salt, LogOffset base, const GroupHeader& group) {
    RETURN_IF_ERROR(
        Put(&New()
                 .Add("group", group.offset.value())
                 .Add("records", group.records)
                 .Add("durable_before", group.durable_before.value())
                 .Add("written", FormatTimestamp(group.written_ms))));
    LogOffset at = group.offset + kGroupHeaderBytes;
    for (uint32_t i = 0; i < group.records; ++i) {
      const auto record = DecodeRecord(
          salt, at, file_->View(at - base, group.records_end() - at));
      if (!record.ok()) {
        return Damage(at - base, MessageOf(record.status()));
      }
      const RecordFacts facts = DescribeRecord(*record);
      json_ ? AppendRecordJson(facts, &out_) : AppendRecordLine(facts, &out_);
      at = record->end();
    }
    return absl::OkStatus();
  }

  uint64_t NextGroup(uint64_t salt, LogOffset base, uint64_t at) {
    for (; at < file_->size(); at += kLogBlockBytes) {
      const std::string_view bytes = file_->View(at, kGroupHeaderBytes);
      if (bytes.size() < kGroupHeaderBytes) break;
      if (GetFixed<uint32_t>(bytes.data()) == kGroupMagic &&
          DecodeGroupHeader(salt, base + at, bytes).ok()) {
        return at;
      }
    }
    return file_->size();
  }
  bool IsZeroFrom(uint64_t at) {
    for (; at < file_->size(); at += kWriteBytes) {
      if (file_->View(at, kWriteBytes).find_first_not_of('\0') !=
          std::string_view::npos) {
        return false;
      }
    }
    return true;
  }

  absl::StatusOr<HourHeader> HourStart(bool is_index) {
    ASSIGN_OR_RETURN(
        const HourHeader header,
        DecodeHourHeader(file_->View(0, kHourHeaderBytes), is_index));
    RETURN_IF_ERROR(
        Put(&New()
                 .Add("kind", is_index ? "delay index" : "delay log")
                 .Add("version", kHourVersion)
                 .Add("store", header.store.ToHex())
                 .Add("hour", FormatHour(header.hour))
                 .Add("base", header.base.value())));
    return header;
  }

  absl::Status DelayLog() {
    ASSIGN_OR_RETURN(const HourHeader header, HourStart(false));
    const uint64_t salt = HashBytes(header.store.view());
    uint64_t at = kHourHeaderBytes;
    while (at < file_->size()) {
      const std::string_view head = file_->View(at, kFrameHeaderBytes);
      if (head.size() < kFrameHeaderBytes) {
        return Damage(at, "a frame header is cut short");
      }
      const auto size = GetFixed<uint32_t>(head.data());
      const RecordNumber number(GetFixed<uint32_t>(head.data() + 4));
      const auto payload = DecodeFrame(salt, header.hour, number,
                                       file_->View(at, size), nullptr);
      // Without its size nobody knows where the next one is; recover verify
      // and repair search for it.
      if (!payload.ok()) return Damage(at, MessageOf(payload.status()));
      const PeekedMessage message = PeekMessage(*payload);
      RETURN_IF_ERROR(Put(&New()
                               .Add("number", number.value())
                               .Add("offset", at)
                               .Add("size", size)
                               .Add("due", FormatTimestamp(message.due_ms))
                               .Add("due_ms", message.due_ms)
                               .Add("topic", message.topic)
                               .Add("id", message.id)));
      at += size;
    }
    return absl::OkStatus();
  }

  absl::Status DelayIndex() {
    ASSIGN_OR_RETURN(const HourHeader header, HourStart(true));
    const uint64_t salt = HashBytes(header.store.view());
    RecordNumber number = header.base;
    for (uint64_t at = kHourHeaderBytes;
         at + kIndexRecordBytes <= file_->size(); at += kIndexRecordBytes) {
      number = number + 1;
      const auto record = DecodeIndexRecord(
          salt, header.hour, number, file_->View(at, kIndexRecordBytes).data());
      if (!record.ok()) {
        RETURN_IF_ERROR(Damage(at, MessageOf(record.status())));
        continue;
      }
      RETURN_IF_ERROR(PutIndex(header.hour, number, *record));
    }
    return absl::OkStatus();
  }

  absl::Status PutIndex(Hour hour, RecordNumber number,
                        const IndexRecord& record) {
    const int64_t due_ms = StartMs(hour) + record.ms_into_hour;
    Facts facts = New();
    facts.Add("number", number.value()).Add("prev", record.prev.value());
    facts.Add("due", FormatTimestamp(due_ms)).Add("due_ms", due_ms);
    if (record.kind == IndexKind::kTombstone) {
      facts.Add("cancels", record.target().value());
    } else {
      facts.Add("offset", record.location).Add("size", record.size);
    }
    facts.Add("id_hash", absl::StrFormat("%08x", record.id_hash));
    return Put(&facts);
  }

  absl::Status Queue() {
    ASSIGN_OR_RETURN(const QueueHeader header,
                     DecodeQueueHeader(file_->View(0, kQueueHeaderBytes)));
    RETURN_IF_ERROR(Put(&New()
                             .Add("kind", "queue")
                             .Add("version", kQueueVersion)
                             .Add("store", header.store.ToHex())
                             .Add("topic", header.topic)
                             .Add("first", header.first.value())));
    const QueueSeal seal(header.store, header.topic);
    QueueIndex index = header.first;
    for (uint64_t at = kQueueHeaderBytes;
         at + kQueueEntryBytes <= file_->size();
         at += kQueueEntryBytes, index = index + 1) {
      QueueEntry entry;
      if (!DecodeQueueEntry(seal, index,
                            file_->View(at, kQueueEntryBytes).data(), &entry)) {
        RETURN_IF_ERROR(Damage(at, "the entry's checksum is wrong"));
        continue;
      }
      RETURN_IF_ERROR(
          Put(&New()
                   .Add("index", index.value())
                   .Add("log_offset", entry.offset.value())
                   .Add("size", entry.size)
                   .Add("tag_hash", absl::StrFormat("%08x", entry.tag_hash))));
    }
    return absl::OkStatus();
  }

  const Console console_;
  const bool json_;
  std::unique_ptr<SalvageFile> file_;
  std::string out_;
  bool damaged_ = false;
};

class RecoverInspect final : public Command {
 public:
  std::string_view name() const override { return "inspect"; }

  void Declare(CLI::App* app) override {
    app->description("Prints what is in one file of a store");
    app->footer(kFooter);
    app->add_option("file", file_, "the file")->type_name("FILE")->required();
    app->add_flag("--json", json_, "print JSON lines");
  }

  int Run(const Console& console) override {
    const absl::StatusOr<int> exit_code = Inspector(console, json_).Run(file_);
    if (exit_code.ok()) return *exit_code;
    Fail(console, file_, exit_code.status());
    return absl::IsDataLoss(exit_code.status()) ? kExitRefused : kExitFailed;
  }

 private:
  std::string file_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeRecoverInspect() {
  return std::make_unique<RecoverInspect>();
}

}  // namespace hourglass
