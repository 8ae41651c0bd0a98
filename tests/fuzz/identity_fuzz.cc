// The file that says what a directory is.
#include <string>
#include <string_view>

#include "storage/checksum.h"
#include "storage/coding.h"
#include "storage/identity.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/memory_file_system.h"

namespace hourglass {
namespace {

FUZZ_TARGET(std::string_view data) {
  if (data.empty()) return;
  const bool sealed = data[0] & 1;
  std::string file(data.substr(1));
  if (sealed && file.size() >= kIdentityBytes) {
    const size_t at = kIdentityBytes - 8;
    PutFixed<uint64_t>(file.data() + at,
                       HashBytes(std::string_view(file).substr(0, at)));
  }
  MemoryFileSystem fs;
  const Path dir = "/store";
  FUZZ_CHECK(fs.CreateDir(dir).ok());
  fs.SetContent(dir / kIdentityFileName, file);
  const auto identity = ReadIdentity(&fs, dir);
  if (!identity.ok()) return;
  FUZZ_CHECK(WriteIdentity(&fs, dir, *identity).ok());
  const auto again = ReadIdentity(&fs, dir);
  FUZZ_CHECK(again.ok() && *again == *identity);
}

}  // namespace
}  // namespace hourglass
