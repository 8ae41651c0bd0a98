// `hourglass recover repair`: a new store from what is intact of an old one.
#include <CLI/CLI.hpp>
#include <memory>

#include "broker/program/recover_commands.h"
#include "broker/program/store_flags.h"
#include "broker/program/terminal.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "broker/topics/topics_file.h"
#include "recovery/repair.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kFooter[] =
    R"(Writes a new store with everything that can be read of the old one: the same
store id, so handles stay valid; due times, cancels, deliveries and the progress
of consumers are kept. The old store is only read. With --in-place it ends as
DIR.damaged-MILLISECONDS, and the new one has its name.

Needs about as much free disk as the store takes.

Examples:
  hourglass recover repair /var/lib/hourglass --out /var/lib/repaired
  hourglass recover repair /var/lib/hourglass --in-place

Exit codes: 0 nothing was lost; 1 something was (it is listed); 2 could not
run.)";

// What operators said of topics is no part of the store, but of use to the new
// one. How many there are.
absl::StatusOr<size_t> CopyTopics(FileSystem* fs, const RepairReport& report) {
  ASSIGN_OR_RETURN(const KeptTopics topics, ReadTopicsFile(fs, report.kept));
  if (!topics.empty()) {
    RETURN_IF_ERROR(WriteTopicsFile(fs, report.out, topics));
  }
  return topics.size();
}

class RecoverRepair final : public Command {
 public:
  std::string_view name() const override { return "repair"; }

  void Declare(CLI::App* app) override {
    app->description("Makes a new store of what is intact");
    app->footer(kFooter);
    DeclareDir(app, &dir_);
    auto* out = app->add_option("--out", out_, "directory of the new store")
                    ->type_name("NEW_DIR");
    app->add_flag("--in-place", in_place_,
                  "the new store takes the old one's name")
        ->excludes(out);
    app->add_option("--log-segment-bytes", options_.log_segment_bytes,
                    "size of a commit-log file")
        ->transform(CLI::AsSizeValue(false))
        ->type_name("BYTES")
        ->capture_default_str();
    app->add_flag("--json", json_, "print one JSON object");
  }

  int Run(const Console& console) override {
    if (out_.empty() && !in_place_) {
      return Fail(console, "",
                  absl::InvalidArgumentError(
                      "nowhere to write; expected --out NEW_DIR, or "
                      "--in-place (the old store is kept in both)"));
    }
    const absl::StatusOr<int> exit_code = Repair(console);
    if (exit_code.ok()) return *exit_code;
    return Fail(console, dir_, exit_code.status());
  }

 private:
  absl::StatusOr<int> Repair(const Console& console) {
    Diagnostics diagnostics(console.err);
    ReadProgress progress(console, &diagnostics, "repair", dir_);
    RepairOptions options;
    options.out = out_;
    options.store = options_;
    options.store.clock = console.clock;
    options.store.file_system = console.file_system;
    const auto report = in_place_ ? RepairInPlace(progress.source(), options)
                                  : RepairStore(progress.source(), options);
    progress.Done();
    RETURN_IF_ERROR(report.status());
    const auto topics = CopyTopics(console.file_system, *report);
    RETURN_IF_ERROR(console.out->Write(json_ ? Json(*report, topics)
                                             : Text(*report, topics)));
    return report->lost == 0 ? kExitOk : kExitRefused;
  }

  static std::string Text(const RepairReport& report,
                          const absl::StatusOr<size_t>& topics) {
    Table table({{"SAVED"}, {"MESSAGES", Align::kRight}});
    table.Add({"pending", FormatCount(report.pending)});
    table.Add({"ready", FormatCount(report.ready)});
    table.Add({"cancelled", FormatCount(report.cancelled)});
    std::string out = table.ToString();
    if (report.maybe_twice > 0) {
      Append(&out, "\n", FormatCount(report.maybe_twice),
             " of the pending ones may have been delivered or cancelled "
             "before: the damage hides it\n");
    }
    for (const Finding& finding : report.findings.all()) {
      Append(&out, "\n",
             finding.severity == Severity::kNote ? "note " : "LOST ",
             FindingText(finding));
    }
    Append(&out, "\n", FormatCount(report.lost),
           report.lost == 1 ? " message lost\n" : " messages lost\n");
    Append(&out, "the new store: ", report.out.string(),
           "\nthe old store: ", report.kept.string(), "\n");
    if (!topics.ok()) {
      Append(&out, "the topics that operators made are not copied: ",
             MessageOf(topics.status()), "\n");
    } else if (*topics > 0) {
      Append(&out, "copied too: ", FormatCount(*topics),
             *topics == 1 ? " topic" : " topics", " of operators\n");
    }
    return out;
  }

  static std::string Json(const RepairReport& report,
                          const absl::StatusOr<size_t>& topics) {
    std::string out;
    JsonObject object(&out);
    object.Text("out", report.out.string());
    object.Text("kept", report.kept.string());
    object.Uint("pending", report.pending).Uint("ready", report.ready);
    object.Uint("cancelled", report.cancelled);
    object.Uint("maybe_twice", report.maybe_twice);
    object.Uint("lost", report.lost);
    object.Uint("topics", topics.value_or(0));
    object.Text("topics_failure", MessageOf(topics.status()));
    object.Name("findings");
    AppendFindingsJson(report.findings, &out);
    object.End();
    out.push_back('\n');
    return out;
  }

  std::string dir_, out_;
  StoreOptions options_;
  bool in_place_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeRecoverRepair() {
  return std::make_unique<RecoverRepair>();
}

}  // namespace hourglass
