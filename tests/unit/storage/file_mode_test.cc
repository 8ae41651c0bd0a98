#include "storage/file_mode.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace hourglass {
namespace {

TEST(FileMode, OpenToAllIsReadableOrWritableByOthers) {
  const std::string path = testing::TempDir() + "file_mode_test.toml";
  std::ofstream(path) << "secret";
  for (const mode_t mode : {0600, 0640, 0660, 0644, 0602, 0604}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_EQ(IsOpenToAll(path), (mode & 06) != 0) << mode;
  }
  ASSERT_EQ(::unlink(path.c_str()), 0);
  EXPECT_FALSE(IsOpenToAll(path));
}

}  // namespace
}  // namespace hourglass
