// File: disk_image.h
//
// The files below one directory of a MemoryFileSystem, as bytes: taken once,
// damaged, and put on a fresh disk for each trial of a damage test.
//
//   DiskImage image = DiskImage::Of(&fs, "/store");
//   image.files["/store/a.log"][17] ^= 1;
//   auto damaged = image.NewDisk();
#ifndef HOURGLASS_TESTS_SUPPORT_DISK_IMAGE_H_
#define HOURGLASS_TESTS_SUPPORT_DISK_IMAGE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/memory_file_system.h"

namespace hourglass {

struct DiskImage {
  static DiskImage Of(MemoryFileSystem* fs, const Path& dir);
  std::unique_ptr<MemoryFileSystem> NewDisk() const;

  std::vector<Path> dirs;  // parents first
  std::map<std::string, std::string> files;
};

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SUPPORT_DISK_IMAGE_H_
