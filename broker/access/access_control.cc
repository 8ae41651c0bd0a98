#include "broker/access/access_control.h"

#include <utility>

#include "broker/text.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kKept[] = "; the users from before stay";

}  // namespace

absl::Status WrongCredentials(std::string_view key) {
  return absl::UnauthenticatedError(
      Concat("access key \"", key,
             "\": it is not known here, or its secret is another one"));
}

absl::StatusOr<std::unique_ptr<AccessControl>> AccessControl::Open(
    FileSystem* file_system, const Path& path) {
  std::unique_ptr<AccessControl> access(new AccessControl(file_system, path));
  ASSIGN_OR_RETURN(std::string text, access->Read());
  access->seen_ = text;
  RETURN_IF_ERROR(access->Take(std::move(text)));
  return access;
}

std::shared_ptr<const User> AccessControl::Find(std::string_view key) const {
  MutexLock lock(&mu_);
  const auto found = users_.find(key);
  return found == users_.end() ? nullptr : found->second;
}

absl::StatusOr<std::shared_ptr<const User>> AccessControl::Login(
    std::string_view key, std::string_view secret) const {
  std::shared_ptr<const User> user = Find(key);
  if (user != nullptr && SameSecret(user->secret, secret)) return user;
  return WrongCredentials(key);
}

size_t AccessControl::size() const {
  MutexLock lock(&mu_);
  return users_.size();
}

absl::StatusOr<std::string> AccessControl::Read() const {
  ASSIGN_OR_RETURN(const auto file,
                   file_system_->Open(path_, {OpenMode::kRead}));
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  if (size > kAccessFileBytesMax) {
    return absl::InvalidArgumentError(Concat(path_.native(), ": ", size,
                                             " bytes; expected at most ",
                                             kAccessFileBytesMax));
  }
  std::string text(size, '\0');
  ASSIGN_OR_RETURN(const size_t n, file->ReadAt(0, size, text.data()));
  text.resize(n);
  return text;
}

absl::Status AccessControl::Take(std::string text) {
  auto users = ParseAccessFile(text, path_.native());
  last_ = std::move(text);
  RETURN_IF_ERROR(users.status());
  MutexLock lock(&mu_);
  users_ = *std::move(users);
  return absl::OkStatus();
}

std::vector<std::string> AccessControl::Look() {
  std::vector<std::string> said;
  auto text = Read();
  if (!text.ok()) {
    if (std::exchange(unreadable_, true)) return said;
    return {Concat(MessageOf(text.status()), kKept)};
  }
  unreadable_ = false;
  const bool settled = *text == seen_;
  seen_ = *std::move(text);
  if (!settled || seen_ == last_) return said;
  const absl::Status taken = Take(seen_);
  said.push_back(
      taken.ok() ? Concat(path_.native(), ": read again; ", size(), " users")
                 : Concat(MessageOf(taken), kKept));
  return said;
}

}  // namespace hourglass
