// File: dir_tree.h
//
// Directories as a whole: for what a store, or a repair of one, makes and
// takes away again.
//
// Threads: functions only.
//
// Serves promise 2: directories are made and removed durably.
#ifndef HOURGLASS_RECOVERY_DIR_TREE_H_
#define HOURGLASS_RECOVERY_DIR_TREE_H_

#include "absl/status/status.h"
#include "hourglass/file_system.h"

namespace hourglass {

// Removes `dir` and all below it; OK if there is none. Not synced.
absl::Status RemoveTree(FileSystem* fs, const Path& dir);

// Makes an empty file, durable with its name.
absl::Status Touch(FileSystem* fs, const Path& path);

}  // namespace hourglass

#endif  // HOURGLASS_RECOVERY_DIR_TREE_H_
