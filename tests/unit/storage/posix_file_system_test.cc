// What only the real file system can show: the errors of the operating system
// and locks between processes. The rest is in file_system_test.cc.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/filesystem/operations.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "hourglass/file_system.h"

namespace hourglass {
namespace {

using ::testing::HasSubstr;

class PosixFileSystemTest : public ::testing::Test {
 protected:
  PosixFileSystemTest() {
    std::string name = ::testing::TempDir() + "/hourglass_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << name;
    dir_ = name;
  }
  ~PosixFileSystemTest() override {
    boost::filesystem::permissions(dir_, boost::filesystem::owner_all);
    boost::filesystem::remove_all(dir_);
  }

  FileSystem* const fs_ = RealFileSystem();
  Path dir_;
};

// Writes to /dev/full fail as on a full disk.
TEST_F(PosixFileSystemTest, AFullDisk) {
  auto file = fs_->Open("/dev/full", {OpenMode::kReadWrite});
  ASSERT_TRUE(file.ok()) << file.status();
  const absl::Status full = (*file)->WriteAt(0, "x");
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_EQ(full.message(), "write /dev/full: No space left on device");
}

// Address 0 of no process can be read: a file that answers with EIO.
TEST_F(PosixFileSystemTest, AnInputOutputError) {
  auto file = fs_->Open("/proc/self/mem", {OpenMode::kRead});
  ASSERT_TRUE(file.ok()) << file.status();
  char byte;
  const absl::Status bad = (*file)->ReadAt(0, 1, &byte).status();
  EXPECT_TRUE(absl::IsDataLoss(bad)) << bad;
  EXPECT_THAT(std::string(bad.message()),
              HasSubstr("read /proc/self/mem: Input/output error"));
}

// The kernel hands out files of /proc in pieces.
TEST_F(PosixFileSystemTest, ReadsOnAfterAShortRead) {
  auto file = fs_->Open("/proc/self/smaps", {OpenMode::kRead});
  ASSERT_TRUE(file.ok()) << file.status();
  std::string out(4 << 20, '\0');
  const size_t size = *(*file)->ReadAt(0, out.size(), out.data());
  EXPECT_GT(size, 8192u);
  EXPECT_EQ(*(*file)->ReadAt(size, 1 << 16, out.data()), 0u);
}

// At the limit of a file's size the first write is short, the second fails.
TEST_F(PosixFileSystemTest, WritesOnAfterAShortWrite) {
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 6000;
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  auto file = fs_->Open(dir_ / "f", {OpenMode::kCreate});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status status = (*file)->WriteAt(0, std::string(10000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, handler);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(*(*file)->Size(), 6000u);
}

TEST_F(PosixFileSystemTest, TooManyOpenFiles) {
  // Copies: without descriptors the sanitizers cannot check a `this`.
  FileSystem* const fs = fs_;
  const Path dir = dir_;
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 3;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const absl::Status status = fs->Open(dir / "f", {OpenMode::kCreate}).status();
  const absl::Status listed = fs->List(dir).status();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_TRUE(absl::IsResourceExhausted(listed)) << listed;
}

TEST_F(PosixFileSystemTest, PermissionDenied) {
  // Root may write everywhere, so be nobody for a moment.
  constexpr uid_t kNobody = 65534;
  const uid_t before = ::geteuid();
  if (before == 0 && ::seteuid(kNobody) != 0) {
    GTEST_SKIP() << "root may write everywhere and cannot be left";
  }
  boost::system::error_code ignored;
  boost::filesystem::permissions(
      dir_, boost::filesystem::owner_read | boost::filesystem::owner_exe,
      ignored);
  const absl::Status file = fs_->Open(dir_ / "f", {OpenMode::kCreate}).status();
  const absl::Status made = fs_->CreateDir(dir_ / "d");
  const absl::Status lock = fs_->Lock(dir_ / "lock").status();
  ASSERT_EQ(::seteuid(before), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(file)) << file;
  EXPECT_TRUE(absl::IsPermissionDenied(made)) << made;
  EXPECT_TRUE(absl::IsPermissionDenied(lock)) << lock;
}

TEST_F(PosixFileSystemTest, NamesThatCannotBe) {
  const Path longer = dir_ / std::string(300, 'x');
  const absl::Status status = fs_->Open(longer, {OpenMode::kCreate}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

// Runs in a child process; its exit status says what Lock answered.
int LockInChild(const Path& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = RealFileSystem()->Lock(path);
    ::_exit(lock.ok() ? 0 : absl::IsFailedPrecondition(lock.status()) ? 1 : 2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST_F(PosixFileSystemTest, LocksOutOtherProcesses) {
  {
    auto lock = fs_->Lock(dir_ / "lock");
    ASSERT_TRUE(lock.ok());
    EXPECT_EQ(LockInChild(dir_ / "lock"), 1);
  }
  // Released by us, and by the child that ended while it held it.
  EXPECT_EQ(LockInChild(dir_ / "lock"), 0);
  EXPECT_EQ(LockInChild(dir_ / "lock"), 0);
}

// A store that starts a program must not hand its files and lock over to it.
TEST_F(PosixFileSystemTest, FilesAreClosedOnExec) {
  auto file = fs_->Open(dir_ / "f", {OpenMode::kCreate});
  auto lock = fs_->Lock(dir_ / "lock");
  auto direct = fs_->Open(dir_ / "g", {OpenMode::kCreate, true});
  ASSERT_TRUE(file.ok() && lock.ok() && direct.ok());
  int found = 0;
  for (int fd = 3; fd < 256; ++fd) {
    char target[4096];
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    const ssize_t n = ::readlink(link.c_str(), target, sizeof(target));
    if (n < 0) continue;
    if (std::string(target, n).find(dir_.filename().native()) ==
        std::string::npos) {
      continue;
    }
    ++found;
    EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0) << target;
  }
  EXPECT_EQ(found, 3);
}

// Where the device refuses O_DIRECT the file works all the same.
TEST_F(PosixFileSystemTest, DirectFallsBackOnMemoryFileSystems) {
  if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no /dev/shm";
  const Path path = "/dev/shm/hourglass_" + std::to_string(::getpid());
  auto file = fs_->Open(path, {OpenMode::kCreate, /*direct=*/true});
  ASSERT_TRUE(file.ok()) << file.status();
  alignas(512) char block[512] = {'x'};
  EXPECT_TRUE((*file)->WriteAt(0, {block, sizeof(block)}).ok());
  EXPECT_TRUE((*file)->Sync().ok());
  EXPECT_EQ(*(*file)->ReadAt(0, sizeof(block), block), sizeof(block));
  EXPECT_TRUE(absl::IsAlreadyExists(
      fs_->Open(path, {OpenMode::kCreate, true}).status()));
  EXPECT_TRUE(fs_->Remove(path).ok());
}

}  // namespace
}  // namespace hourglass
