#include "storage/queue_format.h"

#include <gtest/gtest.h>

#include <set>

namespace hourglass {
namespace {

TEST(QueueFormat, PlainTopicsKeepTheirNames) {
  EXPECT_EQ(QueueDirName("orders"), "orders");
  EXPECT_EQ(QueueDirName("Orders_v2.eu-west"), "Orders_v2.eu-west");
}

TEST(QueueFormat, EverythingElseIsEscaped) {
  EXPECT_EQ(QueueDirName("a/b"), "a%2Fb");
  EXPECT_EQ(QueueDirName("%RETRY%group"), "%25RETRY%25group");
  EXPECT_EQ(QueueDirName("a~b c"), "a%7Eb%20c");
  EXPECT_EQ(QueueDirName(std::string_view("\0\xff", 2)), "%00%FF");
}

TEST(QueueFormat, ALeadingDotNeverNamesAnotherDirectory) {
  EXPECT_EQ(QueueDirName("."), "%2E");
  EXPECT_EQ(QueueDirName(".."), "%2E.");
  EXPECT_EQ(QueueDirName("../other"), "%2E.%2Fother");
  EXPECT_EQ(QueueDirName("a..b"), "a..b");
}

TEST(QueueFormat, LongNamesAreCutAndStayDistinct) {
  EXPECT_EQ(QueueDirName(std::string(200, 'x')), std::string(200, 'x'));
  std::set<std::string> names;
  for (char last = 'a'; last <= 'z'; ++last) {
    const std::string topic = std::string(254, '/') + last;
    const std::string name = QueueDirName(topic);
    EXPECT_EQ(name.size(), kQueueDirNameBytesMax);
    EXPECT_EQ(name[kQueueDirNameBytesMax - 17], '~');
    names.insert(name);
  }
  EXPECT_EQ(names.size(), 26u);
}

TEST(QueueFormat, FileNamesSortByIndexAndComeBack) {
  EXPECT_EQ(QueueFileName(QueueIndex(1048576)), "00000000000001048576.queue");
  for (const uint64_t first : {uint64_t{0}, uint64_t{7}, ~uint64_t{0}}) {
    const auto parsed = ParseQueueFileName(QueueFileName(QueueIndex(first)));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->value(), first);
  }
}

TEST(QueueFormat, OtherFileNamesAreRefused) {
  for (const char* name :
       {"", ".queue", "1.queue", "0000000000000000000x.queue",
        "+0000000000000000001.queue", " 0000000000000000001.queue",
        "00000000000000000001.queuex", "00000000000000000001.log",
        "99999999999999999999.queue", "000000000000000000001.queue"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseQueueFileName(name).status()))
        << name;
  }
}

TEST(QueueFormat, HeaderComesBack) {
  QueueHeader header{StoreId{}, std::string(kQueueTopicBytesMax, 't'),
                     QueueIndex(42)};
  header.store.bytes.fill('s');
  const std::string bytes = EncodeQueueHeader(header);
  ASSERT_EQ(bytes.size(), kQueueHeaderBytes);
  const auto decoded = DecodeQueueHeader(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->store, header.store);
  EXPECT_EQ(decoded->topic, header.topic);
  EXPECT_EQ(decoded->first, header.first);
}

TEST(QueueFormat, HeaderOfAnotherPlaceIsNamed) {
  const QueueHeader header{StoreId{}, "orders", QueueIndex(42)};
  const std::string bytes = EncodeQueueHeader(header);
  EXPECT_TRUE(CheckQueueHeader(bytes, header).ok());

  QueueHeader other = header;
  other.store.bytes.fill('z');
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckQueueHeader(bytes, other)));
  other = header;
  other.topic = "order";
  EXPECT_TRUE(absl::IsDataLoss(CheckQueueHeader(bytes, other)));
  other = header;
  other.first = QueueIndex(43);
  EXPECT_TRUE(absl::IsDataLoss(CheckQueueHeader(bytes, other)));
}

TEST(QueueFormat, EntryIsBoundToStoreTopicAndIndex) {
  StoreId other_store;
  other_store.bytes.fill('z');
  const QueueSeal seal(StoreId{}, "orders");
  const QueueEntry entry{LogOffset(4096), 300, 77};
  char bytes[kQueueEntryBytes];
  EncodeQueueEntry(seal, QueueIndex(5), entry, bytes);

  QueueEntry decoded;
  ASSERT_TRUE(DecodeQueueEntry(seal, QueueIndex(5), bytes, &decoded));
  EXPECT_EQ(decoded, entry);
  EXPECT_FALSE(DecodeQueueEntry(seal, QueueIndex(6), bytes, &decoded));
  EXPECT_FALSE(DecodeQueueEntry(QueueSeal(StoreId{}, "order"), QueueIndex(5),
                                bytes, &decoded));
  EXPECT_FALSE(DecodeQueueEntry(QueueSeal(other_store, "orders"), QueueIndex(5),
                                bytes, &decoded));
}

}  // namespace
}  // namespace hourglass
