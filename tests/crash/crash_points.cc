#include "tests/crash/crash_points.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "storage/crash_point.h"

namespace hourglass {
namespace {

constexpr int kExitUnknown = 70;

// In the order in which a store comes to them.
constexpr CrashPointName kCrashPoints[] = {
    {"create.directory_made", "a directory, not durable, and nothing in it"},
    {"create.marked", "the mark of an unfinished creation, nothing else"},
    {"create.log_made", "a log without a checkpoint and without an identity"},
    {"create.checkpoint_written", "all but the identity"},
    {"create.identity_written", "the identity under its temporary name"},
    {"create.identity_renamed", "the identity, its name not durable"},
    {"create.identity_durable", "a store that still says it is unfinished"},

    {"recovery.locked", "nothing new: the lock goes with the process"},
    {"recovery.checkpoint_loaded", "the database opened, nothing cut yet"},
    {"hours.file_cut", "one hour file cut, the cut not synced"},
    {"hours.unknown_removed", "one of an unknown hour's files removed"},
    {"queues.file_cut", "one queue file cut, the cut not synced"},
    {"queues.unknown_removed", "an unknown topic's directory half removed"},
    {"recovery.files_cut", "all files cut, nothing replayed"},
    {"recovery.record_replayed", "part of the log replayed"},
    {"recovery.log_replayed", "all replayed, the log's tail not cut"},
    {"log.tail_rewritten", "the log's last groups written again, not synced"},
    {"log.tail_cut", "the torn tail cut, the cut not synced"},
    {"recovery.log_opened", "the log ready to be written"},
    {"recovery.late_found", "a message behind the hand, found not delivered"},
    {"recovery.done", "recovered, and no checkpoint of it"},

    {"recovery.log_found_complete", "about to rebuild, nothing changed"},
    {"recovery.database_set_aside", "no checkpoint database"},
    {"recovery.database_directory_made", "an empty checkpoint directory"},

    {"log.group_written", "a group that was not synced"},
    {"log.group_synced", "a durable group that nobody was told of"},
    {"put.durable_not_told", "... and that the hand knows"},
    {"log.spare_allocated", "a spare log file, not synced"},
    {"log.header_written", "a log file under its temporary name"},
    {"log.file_named", "a log file whose name is not durable"},
    {"log.file_rolled", "an empty log file at the end"},

    {"hours.file_created", "an hour's DelayLog alone, or both files empty"},
    {"hours.bodies_written", "bodies in the DelayLog, no index records"},
    {"hours.index_written", "both, beyond what the checkpoint knows"},
    {"queues.directory_made", "a topic's directory without a file"},
    {"queues.file_created", "a queue file without entries"},
    {"queues.entries_written", "entries that the checkpoint does not know"},

    {"ready.taken_not_written", "messages that left the wheel, not logged"},
    {"ready.durable_not_told", "delivered in the log, no consumer woken"},
    {"consume.shown_not_committed", "shown, but the progress not stored"},

    {"checkpoint.noted", "buffers flushed, nothing synced"},
    {"hours.bodies_synced", "a DelayLog synced, its index not"},
    {"hours.files_synced", "hours synced, their directory not"},
    {"queues.files_synced", "queues synced, their directories not"},
    {"checkpoint.files_synced", "all files durable, the database older"},
    {"checkpoint.batch_written", "RocksDB's write done, its sync not"},
    {"checkpoint.written", "the database newer than the log's record"},
    {"checkpoint.recorded", "both, and nothing deleted yet"},
    {"hours.file_removed", "a done hour with one of its files, or with none"},
    {"log.file_retired", "a log file removed, not durably"},
    {"queues.file_removed", "a queue file removed, not durably"},
    {"checkpoint.done", "a checkpoint with everything after it"},

    {"repair.log_written", "a new log beside the damaged store"},
    {"repair.bases_written", "... and its first checkpoint"},
    {"repair.became_a_store", "... and its identity"},
    {"repair.built", "two whole stores"},
    {"repair.old_renamed", "two whole stores, none under the old name"},
    {"repair.new_renamed", "the new store in place, its name not durable"},
};

struct Armed {
  std::string name;  // "" for none
  long left = 0;
};

bool IsListed(std::string_view name) {
  return std::any_of(
      std::begin(kCrashPoints), std::end(kCrashPoints),
      [name](const CrashPointName& point) { return point.name == name; });
}

void DemandListed(std::string_view name) {
  if (IsListed(name)) return;
  std::fprintf(stderr, "crash point %.*s is not in crash_points.cc\n",
               static_cast<int>(name.size()), name.data());
  std::_Exit(kExitUnknown);
}

// "name" or "name:nth".
Armed FromEnvironment() {
  const char* const value = std::getenv("HOURGLASS_CRASH_AT");
  if (value == nullptr || *value == '\0') return {};
  const std::string text = value;
  const size_t colon = text.find(':');
  Armed armed{text.substr(0, colon), 1};
  if (colon != std::string::npos) armed.left = std::atol(&text[colon + 1]);
  DemandListed(armed.name);
  return armed;
}

void Report(std::string_view name) {
  const char* const path = std::getenv("HOURGLASS_CRASH_REPORT");
  if (path == nullptr) return;
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const std::string line = std::string(name) + "\n";
  if (fd < 0 || ::write(fd, line.data(), line.size()) < 0) std::perror(path);
}

[[noreturn]] void EndHere() {
  ::kill(::getpid(), SIGKILL);
  while (true) ::pause();
}

}  // namespace

std::span<const CrashPointName> CrashPoints() { return kCrashPoints; }

void CrashPoint(std::string_view name) {
  static const Armed armed = FromEnvironment();
  static std::atomic<long> left = armed.left;
  if (name != armed.name) return DemandListed(name);
  if (left.fetch_sub(1) != 1) return;
  Report(name);
  EndHere();
}

}  // namespace hourglass
