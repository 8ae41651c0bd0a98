// File: recover_commands.h
//
// The commands below `hourglass recover`, one file each, and what they share:
// the store's directory, reading with progress, findings as text and JSON.
//
//   class RecoverVerify : public Command { ... };   // recover_verify.cc
//   std::unique_ptr<Command> MakeRecoverVerify();
//
// They open no store: they read its files (recovery/survey.h), and refuse one
// that is open.
//
// Keeps promise 5: damage is reported by file and record.
#ifndef HOURGLASS_BROKER_PROGRAM_RECOVER_COMMANDS_H_
#define HOURGLASS_BROKER_PROGRAM_RECOVER_COMMANDS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "broker/program/command.h"
#include "recovery/finding.h"
#include "recovery/salvage_file.h"

namespace hourglass {

std::unique_ptr<Command> MakeRecoverVerify();
std::unique_ptr<Command> MakeRecoverInspect();
std::unique_ptr<Command> MakeRecoverList();
std::unique_ptr<Command> MakeRecoverRepair();
std::unique_ptr<Command> MakeRecoverExport();
std::unique_ptr<Command> MakeRecoverImport();

// Declares the argument DIR.
void DeclareDir(CLI::App* app, std::string* dir);

// A source that shows how far it is, on a terminal.
class ReadProgress {
 public:
  ReadProgress(const Console& console, Diagnostics* diagnostics,
               std::string_view what, const std::string& dir);

  SalvageSource source();
  // Removes the line; says how fast it was if that is worth a line.
  void Done();
  uint64_t bytes() const { return read_; }
  int64_t elapsed_ms() const;

 private:
  void Read(uint64_t bytes);

  const Console console_;
  Diagnostics* const diagnostics_;
  const std::string what_;
  const Path dir_;
  uint64_t total_ = 0;
  uint64_t read_ = 0;
  uint64_t shown_at_ = 0;
  int64_t begin_ns_ = 0;
};

// "FILE: record 17, byte 608: what; means" with ids below, a line each.
std::string FindingText(const Finding& finding);
// An array of them.
void AppendFindingsJson(const FindingList& findings, std::string* out);

// Errors of the tool: damage that leaves nothing to work with is no reason
// for another exit code than "could not run".
int RecoverFailed(const Console& console, std::string_view dir,
                  const absl::Status& status);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_PROGRAM_RECOVER_COMMANDS_H_
