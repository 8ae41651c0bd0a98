#include "broker/recent_puts.h"

#include <string>

#include "broker/sequencer.h"
#include "recovery/store_state.h"
#include "storage/checksum.h"
#include "storage/identity.h"
#include "storage/log_reader.h"
#include "storage/message_codec.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

bool IsPut(const LogRecord& record) {
  return record.kind == RecordKind::kReady ||
         record.kind == RecordKind::kDelayed;
}

Handle HandleOf(const LogRecord& record, const MessageView& message,
                uint64_t salt) {
  Handle handle;
  if (record.kind == RecordKind::kReady) return handle;
  handle.hour = record.hour;
  handle.number = record.number;
  handle.ms_into_hour = MsIntoHour(message.due_ms);
  handle.id_hash = IdHash(message.id);
  handle.seal = HandleSeal(salt, handle);
  return handle;
}

absl::Status Visit(const LogRecord& record, int64_t written_ms, uint64_t salt,
                   const PutVisitor& visit) {
  ASSIGN_OR_RETURN(const MessageView message, DecodeMessage(record.payload));
  PutResult put;
  put.id = std::string(message.id);
  put.offset = record.offset;
  put.handle = HandleOf(record, message, salt);
  visit(message, put, written_ms);
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadRecentPuts(const RecentPutsQuery& query,
                            const PutVisitor& visit) {
  ASSIGN_OR_RETURN(const StoreIdentity identity,
                   ReadIdentity(query.file_system, query.dir));
  const uint64_t salt = HashBytes(identity.store_id.view());
  LogReader reader(query.file_system, query.dir / kLogDirName,
                   identity.store_id, /*known_durable=*/query.until);
  const uint64_t until = query.until.value();
  const uint64_t from = until > query.bytes_max ? until - query.bytes_max : 0;
  // Behind it groups are being written: half of one looks like damage.
  reader.StopAt(query.until);
  RETURN_IF_ERROR(reader.SeekGroup(LogOffset(from)));
  LogRecord record;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, reader.Next(&record));
    if (!more) return absl::OkStatus();
    if (!IsPut(record) || reader.written_ms() < query.since_ms) continue;
    RETURN_IF_ERROR(Visit(record, reader.written_ms(), salt, visit));
  }
}

}  // namespace hourglass
