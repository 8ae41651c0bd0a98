// `hourglass recover`: the offline tool. This file is the list of its
// commands, and what they share.
#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "broker/program/recover_commands.h"
#include "broker/program/store_flags.h"
#include "broker/program/terminal.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "recovery/verify.h"

namespace hourglass {
namespace {

constexpr char kFooter[] =
    R"(For a store that is stopped; one that is open is refused. Only `repair` and
`import` write, and `repair` keeps what it found.

Examples:
  hourglass recover verify /var/lib/hourglass
  hourglass recover repair /var/lib/hourglass --out /var/lib/repaired
  hourglass recover export /var/lib/hourglass > pending.jsonl

Exit codes: 0 sound, or done; 1 damage was found, or something was lost;
2 could not run.)";

constexpr uint64_t kShowEveryBytes = 16u << 20;
constexpr size_t kIdWidth = 64;

class RecoverCommand final : public Command {
 public:
  RecoverCommand() {
    commands_.push_back(MakeRecoverVerify());
    commands_.push_back(MakeRecoverInspect());
    commands_.push_back(MakeRecoverList());
    commands_.push_back(MakeRecoverRepair());
    commands_.push_back(MakeRecoverExport());
    commands_.push_back(MakeRecoverImport());
    apps_.resize(commands_.size());
  }

  std::string_view name() const override { return "recover"; }

  void Declare(CLI::App* app) override {
    app->description("Checks, reads and repairs the files of a stopped store");
    app->footer(kFooter);
    app->require_subcommand(1);
    for (size_t i = 0; i < commands_.size(); ++i) {
      apps_[i] = app->add_subcommand(std::string(commands_[i]->name()));
      apps_[i]->fallthrough();
      commands_[i]->Declare(apps_[i]);
    }
  }

  int Run(const Console& console) override {
    for (size_t i = 0; i < commands_.size(); ++i) {
      if (apps_[i]->parsed()) return commands_[i]->Run(console);
    }
    return kExitFailed;  // require_subcommand(1) leaves no way here
  }

 private:
  std::vector<std::unique_ptr<Command>> commands_;
  std::vector<CLI::App*> apps_;
};

void AppendFindingJson(const Finding& finding, std::string* out) {
  JsonObject object(out);
  object.Text("severity",
              finding.severity == Severity::kDamage ? "damage" : "note");
  object.Text("file", finding.file);
  if (finding.record) object.Uint("record", *finding.record);
  if (finding.record_last) object.Uint("record_last", *finding.record_last);
  if (finding.offset) object.Uint("offset", *finding.offset);
  object.Text("what", finding.what);
  if (!finding.means.empty()) object.Text("means", finding.means);
  object.Uint("messages_lost", finding.messages);
  if (!finding.ids.empty()) object.Texts("ids", finding.ids);
  object.End();
}

}  // namespace

std::unique_ptr<Command> MakeRecoverCommand() {
  return std::make_unique<RecoverCommand>();
}

void DeclareDir(CLI::App* app, std::string* dir) {
  app->add_option("dir", *dir, "directory of the store")
      ->type_name("DIR")
      ->required();
}

ReadProgress::ReadProgress(const Console& console, Diagnostics* diagnostics,
                           std::string_view what, const std::string& dir)
    : console_(console),
      diagnostics_(diagnostics),
      what_(what),
      dir_(dir),
      begin_ns_(console.clock->MonotonicNs()) {
  if (diagnostics_->IsTerminal())
    total_ = StoreBytes(console.file_system, dir_);
}

SalvageSource ReadProgress::source() {
  SalvageSource source;
  source.fs = console_.file_system;
  source.dir = dir_;
  source.on_bytes = [this](uint64_t bytes) { Read(bytes); };
  source.stopped = [this] { return console_.stop->requested(); };
  return source;
}

int64_t ReadProgress::elapsed_ms() const {
  return (console_.clock->MonotonicNs() - begin_ns_) / 1'000'000;
}

void ReadProgress::Read(uint64_t bytes) {
  read_ += bytes;
  if (read_ - shown_at_ < kShowEveryBytes) return;
  shown_at_ = read_;
  const uint64_t ms = std::max<int64_t>(elapsed_ms(), 1);
  diagnostics_->Progress(Concat(what_, ": ", FormatBytes(read_), " of ",
                                FormatBytes(std::max(total_, read_)), ", ",
                                FormatBytes(read_ * 1000 / ms), "/s"));
}

void ReadProgress::Done() { diagnostics_->Progress(""); }

std::string FindingText(const Finding& finding) {
  std::string out = finding.file;
  if (finding.record) {
    Append(&out, ": record ", *finding.record);
    if (finding.record_last) Append(&out, " to ", *finding.record_last);
  }
  if (finding.offset) {
    Append(&out, finding.record ? ", byte " : ": byte ", *finding.offset);
  }
  Append(&out, ": ", finding.what, "\n");
  if (!finding.means.empty()) Append(&out, "    ", finding.means, "\n");
  if (finding.ids.empty()) return out;
  Append(&out, "    ids");
  for (const std::string& id : finding.ids) {
    Append(&out, " ", Printable(id, kIdWidth));
  }
  Append(&out, "\n");
  return out;
}

void AppendFindingsJson(const FindingList& findings, std::string* out) {
  out->push_back('[');
  for (const Finding& finding : findings.all()) {
    if (out->back() != '[') out->push_back(',');
    AppendFindingJson(finding, out);
  }
  out->push_back(']');
}

int RecoverFailed(const Console& console, std::string_view dir,
                  const absl::Status& status) {
  return Fail(console, dir, status);
}

}  // namespace hourglass
