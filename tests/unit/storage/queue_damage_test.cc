// Every damage a small queue file can have: each bit, each length, entries
// and files in the wrong place. Each must be reported, none delivered.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "storage/consume_queue.h"
#include "storage/queue_format.h"
#include "tests/support/disk_image.h"

namespace hourglass {
namespace {

const Path kRoot = "/queues";
constexpr char kFile[] = "/queues/orders/00000000000000000000.queue";
constexpr char kSecondFile[] = "/queues/orders/00000000000000000003.queue";

StoreId TestStore() {
  StoreId id;
  for (size_t i = 0; i < kStoreIdBytes; ++i) id.bytes[i] = char(i);
  return id;
}

// The worked example of docs/formats/consume_queue.md.
const std::vector<QueueEntry> kEntries = {{LogOffset(560), 300, 0},
                                          {LogOffset(1072), 300, 0x11223344},
                                          {LogOffset(4144), 260, 0}};

// Three entries a file.
std::unique_ptr<QueueTable> Open(MemoryFileSystem* fs) {
  return std::make_unique<QueueTable>(fs, kRoot, TestStore(),
                                      QueueOptions{.entries_per_file = 3});
}

void AppendAll(QueueTable* table, std::string_view topic) {
  for (const QueueEntry& entry : kEntries) {
    ASSERT_TRUE(table->Append(topic, entry).ok());
  }
}

void Checkpoint(QueueTable* table) {
  const auto changes = table->TakeChanges();
  ASSERT_TRUE(changes.ok()) << changes.status();
  ASSERT_TRUE(table->SyncFiles(*changes).ok());
}

// "orders" with two full files, "other" with one.
DiskImage MakeImage() {
  MemoryFileSystem fs;
  const auto table = Open(&fs);
  AppendAll(table.get(), "orders");
  AppendAll(table.get(), "orders");
  AppendAll(table.get(), "other");
  Checkpoint(table.get());
  return DiskImage::Of(&fs, kRoot);
}

// What a start and a consumer of entries [from, 6) of "orders" get to see.
absl::Status RestoreAndRead(const DiskImage& image, uint64_t from = 0) {
  const auto fs = image.NewDisk();
  const auto table = Open(fs.get());
  const absl::Status restored =
      table->Restore({{"orders", {QueueIndex(0), QueueIndex(6)}},
                      {"other", {QueueIndex(0), QueueIndex(3)}}});
  if (!restored.ok()) return restored;
  const auto read = table->Read("orders", QueueIndex(from), 100);
  if (!read.ok()) return read.status();
  EXPECT_EQ(read->size(), 6 - from);
  for (size_t i = 0; i < read->size(); ++i) {
    EXPECT_EQ((*read)[i], kEntries[(from + i) % 3]) << "delivered " << i;
  }
  return absl::OkStatus();
}

TEST(QueueDamage, AnIntactImageReads) {
  const absl::Status status = RestoreAndRead(MakeImage());
  EXPECT_TRUE(status.ok()) << status;
}

TEST(QueueDamage, EveryFlippedBitIsReported) {
  DiskImage image = MakeImage();
  std::string& content = image.files.at(kFile);
  ASSERT_EQ(content.size(), 512u + 3 * 24);
  for (size_t bit = 0; bit < content.size() * 8; ++bit) {
    content[bit / 8] ^= static_cast<char>(1 << bit % 8);
    const absl::Status status = RestoreAndRead(image);
    EXPECT_TRUE(absl::IsDataLoss(status)) << "bit " << bit << ": " << status;
    content[bit / 8] ^= static_cast<char>(1 << bit % 8);
  }
}

TEST(QueueDamage, AReportNamesFileOrEntry) {
  DiskImage image = MakeImage();
  image.files.at(kFile)[512 + 24 + 3] ^= 1;
  const std::string message(RestoreAndRead(image).message());
  EXPECT_NE(message.find("/queues/orders"), std::string::npos) << message;
  EXPECT_NE(message.find("entry 1 "), std::string::npos) << message;
}

TEST(QueueDamage, EntriesBehindADamagedOneCanBeRead) {
  DiskImage image = MakeImage();
  image.files.at(kFile)[512] ^= 1;
  EXPECT_TRUE(absl::IsDataLoss(RestoreAndRead(image, 0)));
  EXPECT_TRUE(RestoreAndRead(image, 1).ok());
}

TEST(QueueDamage, EveryTruncationIsReported) {
  const DiskImage intact = MakeImage();
  for (const char* file : {kFile, kSecondFile}) {
    for (size_t size = 0; size < intact.files.at(file).size(); ++size) {
      DiskImage image = intact;
      image.files[file].resize(size);
      const absl::Status status = RestoreAndRead(image);
      EXPECT_TRUE(absl::IsDataLoss(status)) << file << " cut to " << size;
    }
  }
}

// Truncation while the store runs: no Restore to notice the length.
TEST(QueueDamage, ATruncationUnderARunningStoreIsReported) {
  for (size_t size = 0; size < 512 + 3 * 24; ++size) {
    MemoryFileSystem fs;
    const auto table = Open(&fs);
    AppendAll(table.get(), "orders");
    Checkpoint(table.get());
    fs.SetContent(kFile, fs.Content(kFile).substr(0, size));
    const auto read = table->Read("orders", QueueIndex(0), 3);
    EXPECT_TRUE(absl::IsDataLoss(read.status())) << "cut to " << size;
  }
}

TEST(QueueDamage, BytesBehindTheLastEntryAreCutOff) {
  for (const size_t extra : {1, 23, 24, 100}) {
    DiskImage image = MakeImage();
    image.files.at(kSecondFile).append(extra, 'x');
    EXPECT_TRUE(RestoreAndRead(image).ok()) << extra;
  }
}

TEST(QueueDamage, SwappedAndDuplicatedEntriesAreReported) {
  const DiskImage intact = MakeImage();
  for (size_t a = 0; a < 3; ++a) {
    for (size_t b = 0; b < 3; ++b) {
      if (a == b) continue;
      DiskImage image = intact;
      std::string& content = image.files.at(kFile);
      const std::string at_a = content.substr(512 + 24 * a, 24);
      const std::string at_b = content.substr(512 + 24 * b, 24);
      content.replace(512 + 24 * b, 24, at_a);  // a stands twice
      EXPECT_TRUE(absl::IsDataLoss(RestoreAndRead(image))) << a << " " << b;
      content.replace(512 + 24 * a, 24, at_b);  // and now they are swapped
      EXPECT_TRUE(absl::IsDataLoss(RestoreAndRead(image))) << a << " " << b;
    }
  }
}

TEST(QueueDamage, AZeroedEntryIsReported) {
  for (size_t entry = 0; entry < 3; ++entry) {
    DiskImage image = MakeImage();
    image.files.at(kFile).replace(512 + 24 * entry, 24, 24, '\0');
    EXPECT_TRUE(absl::IsDataLoss(RestoreAndRead(image))) << entry;
  }
}

// The entries of two files or topics are the same but for their place.
TEST(QueueDamage, AFileInAnothersPlaceIsReported) {
  const DiskImage intact = MakeImage();
  DiskImage image = intact;
  image.files[kFile] = intact.files.at(kSecondFile);
  EXPECT_TRUE(absl::IsDataLoss(RestoreAndRead(image)));
  image.files[kFile] =
      intact.files.at("/queues/other/00000000000000000000.queue");
  EXPECT_TRUE(absl::IsDataLoss(RestoreAndRead(image)));
}

TEST(QueueDamage, EntriesOfAnotherFileAreReported) {
  const DiskImage intact = MakeImage();
  for (const char* from :
       {kSecondFile, "/queues/other/00000000000000000000.queue"}) {
    DiskImage image = intact;
    image.files[kFile] = intact.files.at(kFile).substr(0, 512) +
                         intact.files.at(from).substr(512);
    EXPECT_TRUE(absl::IsDataLoss(RestoreAndRead(image))) << from;
  }
}

TEST(QueueDamage, AMissingFileIsReported) {
  for (const char* file : {kFile, kSecondFile}) {
    DiskImage image = MakeImage();
    image.files.erase(file);
    EXPECT_TRUE(absl::IsDataLoss(RestoreAndRead(image))) << file;
  }
}

TEST(QueueDamage, AFileOfAnotherStoreIsRefused) {
  DiskImage image = MakeImage();
  StoreId other;
  other.bytes.fill('o');
  image.files[kFile].replace(
      0, 512, EncodeQueueHeader({other, "orders", QueueIndex(0)}));
  const absl::Status status = RestoreAndRead(image);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_NE(std::string(status.message()).find(other.ToHex()),
            std::string::npos);
}

TEST(QueueDamage, NothingIsAppendedToADamagedFile) {
  DiskImage image = MakeImage();
  image.files.at(kFile)[9] ^= 1;  // in the header
  const auto fs = image.NewDisk();
  const auto table = Open(fs.get());
  ASSERT_TRUE(
      table->Restore({{"orders", {QueueIndex(0), QueueIndex(2)}}}).ok());
  ASSERT_TRUE(table->Append("orders", kEntries[2]).ok());
  EXPECT_TRUE(absl::IsDataLoss(table->TakeChanges().status()));
}

TEST(QueueDamage, TheGoldenFileIsWhatIsWritten) {
  const std::string path = absl::StrCat(HOURGLASS_GOLDEN_DIR, "/topic.queue");
  const std::string written = MakeImage().files.at(kFile);
  if (std::getenv("HOURGLASS_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << written;
  }
  std::ifstream in(path, std::ios::binary);
  std::stringstream golden;
  golden << in.rdbuf();
  EXPECT_EQ(golden.str(), written)
      << path << ": the format changed; old stores cannot be read";
}

}  // namespace
}  // namespace hourglass
