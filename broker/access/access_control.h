// File: access_control.h
//
// Who may do what on a server, from a file that may change while it runs.
//
//   ASSIGN_OR_RETURN(auto access, AccessControl::Open(file_system, path));
//   if (std::shared_ptr<const User> user = access->Find(key)) ...
//   ...
//   for (const std::string& said : access->Look()) log(said);  // each second
//
// A change of the file is taken when two looks in a row have seen the same
// bytes, so that half a file that is being written is not taken for a whole
// one. A file that is wrong, or gone, changes nothing and is reported, once.
//
// A user that is taken away has no right in calls that begin later; what
// waits, waits on.
//
// Ownership: the file system is the caller's and outlives this.
//
// Threads: Find from any; Look from one.
//
// Serves promise 4: what was refused, and why, is said.
#ifndef HOURGLASS_BROKER_ACCESS_ACCESS_CONTROL_H_
#define HOURGLASS_BROKER_ACCESS_ACCESS_CONTROL_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "broker/access/access_file.h"
#include "hourglass/file_system.h"
#include "storage/mutex.h"

namespace hourglass {

class AccessControl {
 public:
  // INVALID_ARGUMENT if the file is wrong; else what reading it answered.
  static absl::StatusOr<std::unique_ptr<AccessControl>> Open(
      FileSystem* file_system, const Path& path);

  // Null if there is no such user.
  std::shared_ptr<const User> Find(std::string_view key) const;
  // UNAUTHENTICATED, in the same words whether the key or the secret is wrong.
  absl::StatusOr<std::shared_ptr<const User>> Login(
      std::string_view key, std::string_view secret) const;

  // Reads the file again; what an operator should be told, if anything.
  std::vector<std::string> Look();
  size_t size() const;

 private:
  AccessControl(FileSystem* file_system, Path path)
      : file_system_(file_system), path_(std::move(path)) {}

  absl::StatusOr<std::string> Read() const;
  absl::Status Take(std::string text);

  FileSystem* const file_system_;
  const Path path_;
  std::string seen_;         // at the look before
  std::string last_;         // what was taken, or refused, last
  bool unreadable_ = false;  // was said

  mutable Mutex mu_;
  Users users_ ABSL_GUARDED_BY(mu_);
};

// What is told to somebody whose key or secret is wrong.
absl::Status WrongCredentials(std::string_view key);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_ACCESS_ACCESS_CONTROL_H_
