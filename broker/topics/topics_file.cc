#include "broker/topics/topics_file.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "broker/text.h"
#include "broker/topics/topic_name.h"
#include "storage/checksum.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr std::string_view kMagic = "HOURGLASS-TOPICS ";
constexpr size_t kChecksumLineBytes = sizeof("checksum 0123456789abcdef");

std::string ChecksumLine(std::string_view body) {
  return absl::StrCat("checksum ", absl::Hex(HashBytes(body), absl::kZeroPad16),
                      "\n");
}

std::string Encode(const KeptTopics& topics) {
  std::string text = Concat(kMagic, kTopicsFileVersion, "\n");
  for (const auto& [name, kinds] : topics) {
    Append(&text, name, " ", kinds.ToString(), "\n");
  }
  text += ChecksumLine(text);
  return text;
}

absl::Status Damaged(const Path& path, std::string_view why) {
  return absl::DataLossError(Concat(
      path.native(), " is damaged: ", why,
      "; put a copy of it back, or move it away and make the topics again: "
      "no message depends on it"));
}

std::string_view TakeLine(std::string_view* text) {
  const size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end == text->npos ? text->size() : end + 1);
  return line;
}

absl::Status CheckVersion(std::string_view line, const Path& path) {
  uint32_t version = 0;
  if (!line.starts_with(kMagic) ||
      !absl::SimpleAtoi(ToAbsl(line.substr(kMagic.size())), &version)) {
    return Damaged(path, "it does not begin with HOURGLASS-TOPICS 1");
  }
  if (version == kTopicsFileVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(
      Concat(path.native(), ": the file has format version ", version,
             ", this program reads version ", kTopicsFileVersion));
}

absl::StatusOr<KeptTopics> Decode(std::string_view text, const Path& path) {
  if (text.size() < kChecksumLineBytes) return Damaged(path, "it is too short");
  const std::string_view stored = text.substr(text.size() - kChecksumLineBytes);
  std::string_view body = text.substr(0, text.size() - stored.size());
  // Before the version: a flipped bit of it must be called damage.
  if (stored != ChecksumLine(body) || !body.ends_with('\n')) {
    return Damaged(path, "its checksum is not that of its content");
  }
  RETURN_IF_ERROR(CheckVersion(TakeLine(&body), path));
  KeptTopics topics;
  for (int number = 2; !body.empty(); ++number) {
    const std::string_view line = TakeLine(&body);
    const std::string name(line.substr(0, line.find(' ')));
    const auto kinds =
        TopicKinds::Parse(line.substr(std::min(name.size() + 1, line.size())));
    // What is written again as it was read is what was meant.
    const bool fine = kinds.ok() && !name.empty() && IsNameText(name) &&
                      line == Concat(name, " ", kinds->ToString()) &&
                      (topics.empty() || topics.rbegin()->first < name);
    if (!fine) {
      return Damaged(path, Concat("line ", number, " is no topic with kinds"));
    }
    topics.emplace_hint(topics.end(), name, *kinds);
  }
  return topics;
}

// A temporary file of an earlier attempt may be there.
absl::Status RemoveIfThere(FileSystem* fs, const Path& path) {
  const absl::Status removed = fs->Remove(path);
  return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
}

absl::Status WriteSynced(FileSystem* fs, const Path& path,
                         std::string_view content) {
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file,
                   fs->Open(path, {OpenMode::kCreate}));
  RETURN_IF_ERROR(file->WriteAt(0, content));
  return file->Sync();
}

}  // namespace

absl::StatusOr<KeptTopics> ReadTopicsFile(FileSystem* fs, const Path& dir) {
  const Path path = dir / kTopicsFileName;
  const auto file = fs->Open(path, {OpenMode::kRead});
  if (absl::IsNotFound(file.status())) return KeptTopics();
  RETURN_IF_ERROR(file.status());
  ASSIGN_OR_RETURN(const uint64_t size, (*file)->Size());
  if (size > kTopicsFileBytesMax) {
    return Damaged(path, Concat("it has ", size, " bytes; expected at most ",
                                kTopicsFileBytesMax));
  }
  std::string text(size, '\0');
  ASSIGN_OR_RETURN(const size_t read,
                   (*file)->ReadAt(0, text.size(), text.data()));
  text.resize(read);
  return Decode(text, path);
}

absl::Status WriteTopicsFile(FileSystem* fs, const Path& dir,
                             const KeptTopics& topics) {
  const Path path = dir / kTopicsFileName;
  const Path temporary = dir / Concat(kTopicsFileName, ".tmp");
  RETURN_IF_ERROR(RemoveIfThere(fs, temporary));
  RETURN_IF_ERROR(WriteSynced(fs, temporary, Encode(topics)));
  RETURN_IF_ERROR(fs->Rename(temporary, path));
  return fs->SyncDir(dir);
}

}  // namespace hourglass
