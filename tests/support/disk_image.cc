#include "tests/support/disk_image.h"

#include <gtest/gtest.h>

namespace hourglass {
namespace {

void Collect(MemoryFileSystem* fs, const Path& dir, DiskImage* image) {
  image->dirs.push_back(dir);
  const auto names = fs->List(dir);
  ASSERT_TRUE(names.ok()) << names.status();
  for (const std::string& name : *names) {
    const Path path = dir / name;
    if (*fs->IsDirectory(path)) {
      Collect(fs, path, image);
    } else {
      image->files[path.string()] = fs->Content(path);
    }
  }
}

}  // namespace

DiskImage DiskImage::Of(MemoryFileSystem* fs, const Path& dir) {
  DiskImage image;
  Collect(fs, dir, &image);
  return image;
}

std::unique_ptr<MemoryFileSystem> DiskImage::NewDisk() const {
  auto fs = std::make_unique<MemoryFileSystem>();
  for (const Path& dir : dirs) {
    EXPECT_TRUE(fs->CreateDir(dir).ok()) << dir;
    EXPECT_TRUE(fs->SyncDir(dir.parent_path()).ok()) << dir;
  }
  for (const auto& [path, content] : files) fs->SetContent(path, content);
  return fs;
}

}  // namespace hourglass
