// File: finding.h
//
// What the offline tool has to say about a store, as data: the program makes
// tables and JSON of it, tests look at the fields.
//
//   Finding finding;
//   finding.file = "hours/2026-11-21T03.delaylog";
//   finding.record = 17;
//   finding.offset = 5120;
//   finding.what = "the frame's checksum is wrong";
//   finding.means = "1 message due 2026-11-21T03:12:07.000Z cannot be read";
//
// Ownership: plain values. Threads: none of its own.
//
// Limitations: `ids` holds the first ids only; `messages` counts them all.
//
// Keeps promise 5: damage has a place and a meaning.
#ifndef HOURGLASS_RECOVERY_FINDING_H_
#define HOURGLASS_RECOVERY_FINDING_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hourglass {

enum class Severity {
  kNote,    // worth knowing; the store is sound all the same
  kDamage,  // something is not as it was written
};

struct Finding {
  static constexpr size_t kIdsMax = 100;

  Severity severity = Severity::kDamage;
  std::string file = {};                // below the store's directory
  std::optional<uint64_t> record = {};  // number or index of the first one
  std::optional<uint64_t> record_last = {};
  std::optional<uint64_t> offset = {};  // byte in the file
  std::string what = {};                // what is wrong
  std::string means = {};               // what that is for messages
  uint64_t messages = 0;                // that cannot be read any more
  std::vector<std::string> ids = {};    // of them, where readable
};

struct FileReport {
  std::string file;
  std::string kind;  // "identity", "commit log", "delay log", ...
  uint64_t bytes = 0;
  uint64_t records = 0;  // intact ones
  uint64_t damaged = 0;  // findings of damage
};

class FindingList {
 public:
  // Findings of one store are kept up to this many; all are counted.
  static constexpr size_t kKeptMax = 10'000;

  void Add(Finding finding) {
    if (finding.severity == Severity::kDamage) ++damages_;
    lost_messages_ += finding.messages;
    if (all_.size() < kKeptMax) {
      all_.push_back(std::move(finding));
    } else {
      ++left_out_;
    }
  }
  void Note(std::string file, std::string what, std::string means = "") {
    Add({.severity = Severity::kNote,
         .file = std::move(file),
         .what = std::move(what),
         .means = std::move(means)});
  }
  void Damage(std::string file, std::string what, std::string means = "") {
    Add({.file = std::move(file),
         .what = std::move(what),
         .means = std::move(means)});
  }

  const std::vector<Finding>& all() const { return all_; }
  uint64_t damages() const { return damages_; }
  uint64_t lost_messages() const { return lost_messages_; }
  uint64_t left_out() const { return left_out_; }

 private:
  std::vector<Finding> all_;
  uint64_t damages_ = 0;
  uint64_t lost_messages_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_RECOVERY_FINDING_H_
