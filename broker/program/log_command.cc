// `hourglass log`: the commit log, record by record. Only reads, takes no
// lock and opens no database, so it may run beside the store's owner.
#include <CLI/CLI.hpp>
#include <memory>

#include "broker/program/command.h"
#include "broker/program/log_records.h"
#include "broker/program/store_flags.h"
#include "broker/text/text.h"
#include "storage/identity.h"
#include "storage/log_reader.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kFooter[] =
    R"(Reads only, and takes no lock: may run while a program has the store open.
Columns: offset, kind (ready, delayed, delivered, cancel, ack, checkpoint), id,
topic, due_ms, stored_ms, hour, number, size, and what only that kind has.

Examples:
  hourglass log /tmp/d
  hourglass log /tmp/d --from 512000
  hourglass log /tmp/d --json | jq -r 'select(.kind == "delivered").id'

Exit codes: 0 read to the end; 1 damage (stderr names file and place);
2 could not run.)";

constexpr size_t kWriteBytes = 64 << 10;

class LogCommand final : public Command {
 public:
  std::string_view name() const override { return "log"; }

  void Declare(CLI::App* app) override {
    app->description("Prints the records of the commit log in order");
    app->footer(kFooter);
    app->add_option("dir", dir_, "directory of the store")
        ->type_name("DIR")
        ->required();
    app->add_option("--from", from_, "begin at this offset of a record")
        ->type_name("OFFSET");
    app->add_flag("--json", json_, "print JSON lines");
  }

  int Run(const Console& console) override {
    const absl::StatusOr<int> exit_code = PrintAll(console);
    if (exit_code.ok()) return *exit_code;
    Fail(console, dir_, exit_code.status());
    return absl::IsDataLoss(exit_code.status()) ? kExitRefused : kExitFailed;
  }

 private:
  absl::StatusOr<int> PrintAll(const Console& console) {
    Diagnostics diagnostics(console.err);
    FileSystem* const fs = console.file_system;
    ASSIGN_OR_RETURN(const StoreIdentity identity, ReadIdentity(fs, dir_));
    LogReader reader(fs, Path(dir_) / "commitlog", identity.store_id);
    RETURN_IF_ERROR(reader.Seek(LogOffset(from_)));
    int exit_code = kExitOk;
    std::string out = json_ ? "" : RecordTitles();
    absl::StatusOr<bool> more = true;
    while (!console.stop->requested()) {
      LogRecord record;
      more = reader.Next(&record);
      if (!more.ok() || !*more) break;
      RecordFacts facts = DescribeRecord(record);
      if (!facts.status.ok()) {
        diagnostics.Say(FailureLine(dir_, facts.status));
        exit_code = kExitRefused;
      }
      // When its group was written: no delivery stands before its due time.
      if (json_) facts.numbers.emplace_back("written_ms", reader.written_ms());
      json_ ? AppendRecordJson(facts, &out) : AppendRecordLine(facts, &out);
      if (out.size() >= kWriteBytes) RETURN_IF_ERROR(Flush(console, &out));
    }
    // What is whole before the damage is shown first.
    RETURN_IF_ERROR(Flush(console, &out));
    RETURN_IF_ERROR(more.status());
    if (!*more && reader.torn()) SayTorn(reader.end(), &diagnostics);
    return exit_code;
  }

  static absl::Status Flush(const Console& console, std::string* out) {
    const absl::Status status = console.out->Write(*out);
    out->clear();
    return status;
  }

  void SayTorn(LogOffset end, Diagnostics* diagnostics) const {
    diagnostics->Say(Concat(
        "hourglass: ", dir_, ": the log ends at offset ", end.value(),
        " with a torn tail: a write that was cut short, or is going on; it was "
        "never acknowledged, and the next open cuts it off"));
  }

  std::string dir_;
  uint64_t from_ = 0;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeLogCommand() {
  return std::make_unique<LogCommand>();
}

}  // namespace hourglass
