// File: commit_log_fixture.h
//
// A commit log with small files on a disk in memory, for its tests.
#ifndef HOURGLASS_TESTS_SUPPORT_COMMIT_LOG_FIXTURE_H_
#define HOURGLASS_TESTS_SUPPORT_COMMIT_LOG_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "storage/commit_log.h"
#include "tests/support/log_script.h"
#include "tests/support/memory_file_system.h"

namespace hourglass {

inline constexpr uint64_t kFileBytes = 16u << 10;

inline CommitLogOptions Options(uint64_t segment_bytes = kFileBytes) {
  CommitLogOptions options;
  options.segment_bytes = segment_bytes;
  return options;
}

class CommitLogTest : public testing::Test {
 protected:
  // One group of one record that fills `bytes` of the log.
  absl::Status AppendBytes(uint64_t bytes) {
    return script_.Append(
        {std::string(bytes - kGroupHeaderBytes - kRecordHeaderBytes, 'x')});
  }
  std::vector<std::string> Names() { return *fs_.List(kTestLogDir); }

  MemoryFileSystem fs_;
  LogScript script_{&fs_};
};

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SUPPORT_COMMIT_LOG_FIXTURE_H_
