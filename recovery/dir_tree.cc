#include "recovery/dir_tree.h"

#include <string>

#include "storage/status_macros.h"

namespace hourglass {

absl::Status RemoveTree(FileSystem* fs, const Path& dir) {
  ASSIGN_OR_RETURN(const bool exists, fs->Exists(dir));
  if (!exists) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto names, fs->List(dir));
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const bool is_dir, fs->IsDirectory(dir / name));
    RETURN_IF_ERROR(is_dir ? RemoveTree(fs, dir / name)
                           : fs->Remove(dir / name));
  }
  return fs->RemoveDir(dir);
}

absl::Status Touch(FileSystem* fs, const Path& path) {
  ASSIGN_OR_RETURN(const auto file, fs->Open(path, {OpenMode::kCreate}));
  RETURN_IF_ERROR(file->Sync());
  return fs->SyncDir(path.parent_path());
}

}  // namespace hourglass
