// File: file_mode.h
//
// Who may read a file of this machine, for files with secrets in them.
//
//   if (IsOpenToAll("/etc/hourglass/access.toml")) Warn(...);
//
// Limitations: of real files only; a FileSystem of another kind knows no
// users.
//
// Serves promise 5: what is wrong with a file is said.
#ifndef HOURGLASS_STORAGE_FILE_MODE_H_
#define HOURGLASS_STORAGE_FILE_MODE_H_

#include "hourglass/file_system.h"

namespace hourglass {

// True if every user of the machine may read or change it; no if it is not
// there.
bool IsOpenToAll(const Path& path);

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_FILE_MODE_H_
