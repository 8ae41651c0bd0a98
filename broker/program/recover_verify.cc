// `hourglass recover verify`: reads everything and says what is wrong.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "broker/program/recover_commands.h"
#include "broker/program/terminal.h"
#include "broker/text/json_text.h"
#include "broker/text/text.h"
#include "recovery/verify.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kFooter[] =
    R"(Reads every file: checksums, chains, counts, and whether log, hours, queues and
checkpoint say the same. Writes nothing; works on a read-only file system.

Examples:
  hourglass recover verify /var/lib/hourglass
  hourglass recover verify /var/lib/hourglass --json | jq .findings

Exit codes: 0 sound; 1 damaged; 2 could not run.)";

// Longer tables are for machines.
constexpr size_t kRowsMax = 60;

class RecoverVerify final : public Command {
 public:
  std::string_view name() const override { return "verify"; }

  void Declare(CLI::App* app) override {
    app->description("Reads everything and says what is damaged");
    app->footer(kFooter);
    DeclareDir(app, &dir_);
    app->add_flag("--all", all_, "list every file, also where all is well");
    app->add_flag("--json", json_, "print one JSON object");
  }

  int Run(const Console& console) override {
    const absl::StatusOr<int> exit_code = Verify(console);
    if (exit_code.ok()) return *exit_code;
    return RecoverFailed(console, dir_, exit_code.status());
  }

 private:
  absl::StatusOr<int> Verify(const Console& console) {
    Diagnostics diagnostics(console.err);
    ReadProgress progress(console, &diagnostics, "verify", dir_);
    const auto report = VerifyStore(progress.source());
    progress.Done();
    RETURN_IF_ERROR(report.status());
    const std::string out =
        json_ ? Json(*report, progress) : Text(*report, progress);
    RETURN_IF_ERROR(console.out->Write(out));
    return report->sound() ? kExitOk : kExitRefused;
  }

  std::string Text(const VerifyReport& report,
                   const ReadProgress& progress) const {
    std::string out = Files(report);
    for (const Finding& finding : report.findings.all()) {
      Append(&out, "\n",
             finding.severity == Severity::kDamage ? "DAMAGE " : "note   ",
             FindingText(finding));
    }
    if (report.findings.left_out() > 0) {
      Append(&out, "\n... and ", FormatCount(report.findings.left_out()),
             " more findings\n");
    }
    Append(&out, "\n", Summary(report, progress));
    return out;
  }

  std::string Files(const VerifyReport& report) const {
    Table table({{"FILE"},
                 {"KIND"},
                 {"BYTES", Align::kRight},
                 {"RECORDS", Align::kRight},
                 {"DAMAGE", Align::kRight}});
    size_t rows = 0, hidden = 0;
    for (const FileReport& file : report.files) {
      if (!all_ && rows >= kRowsMax && file.damaged == 0) {
        ++hidden;
        continue;
      }
      ++rows;
      table.Add({Printable(file.file, 120), file.kind, FormatCount(file.bytes),
                 FormatCount(file.records),
                 file.damaged == 0 ? "-" : FormatCount(file.damaged)});
    }
    std::string out = table.ToString();
    if (hidden > 0) {
      Append(&out, "... and ", FormatCount(hidden),
             " files without damage; --all lists them\n");
    }
    return out;
  }

  std::string Summary(const VerifyReport& report,
                      const ReadProgress& progress) const {
    const uint64_t ms = std::max<int64_t>(progress.elapsed_ms(), 1);
    std::string out =
        Concat(FormatCount(report.files.size()), " files, ",
               FormatBytes(progress.bytes()), " read in ", ms, " ms (",
               FormatBytes(progress.bytes() * 1000 / ms), "/s); ",
               FormatCount(report.pending_messages), " messages pending\n");
    if (report.sound()) {
      Append(&out, "sound\n");
      return out;
    }
    const uint64_t lost = report.findings.lost_messages();
    Append(&out, "damaged: ", FormatCount(report.findings.damages()),
           " findings, ", FormatCount(lost),
           lost == 1 ? " message" : " messages", " cannot be read\n",
           "to repair: hourglass recover repair ", dir_, " --out NEW_DIR\n");
    return out;
  }

  static void AppendFiles(const VerifyReport& report, std::string* out) {
    out->push_back('[');
    for (const FileReport& file : report.files) {
      if (out->back() != '[') out->push_back(',');
      JsonObject object(out);
      object.Text("file", file.file).Text("kind", file.kind);
      object.Uint("bytes", file.bytes).Uint("records", file.records);
      object.Uint("damaged", file.damaged);
      object.End();
    }
    out->push_back(']');
  }

  std::string Json(const VerifyReport& report,
                   const ReadProgress& progress) const {
    std::string out;
    JsonObject object(&out);
    object.Text("dir", dir_).Text("store", report.id.ToHex());
    object.Bool("sound", report.sound());
    object.Uint("damages", report.findings.damages());
    object.Uint("messages_lost", report.findings.lost_messages());
    object.Uint("messages_pending", report.pending_messages);
    object.Uint("bytes_read", progress.bytes());
    object.Int("elapsed_ms", progress.elapsed_ms());
    object.Name("files");
    AppendFiles(report, &out);
    object.Name("findings");
    AppendFindingsJson(report.findings, &out);
    object.End();
    out.push_back('\n');
    return out;
  }

  std::string dir_;
  bool all_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeRecoverVerify() {
  return std::make_unique<RecoverVerify>();
}

}  // namespace hourglass
