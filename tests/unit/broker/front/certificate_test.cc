#include "broker/front/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/memory_file_system.h"

namespace hourglass {
namespace {

using ::testing::HasSubstr;

struct Kept {
  MemoryFileSystem fs;
  VirtualClock clock{1'795'230'000'000};
  const Path dir = "/d/tls";

  Kept() { EXPECT_TRUE(fs.CreateDir("/d").ok()); }
  absl::StatusOr<Certificate> Get() {
    return KeptCertificate(&fs, &clock, dir, {"10.0.0.7", "queue.example"});
  }
};

TEST(Certificate, MadeOnceAndKept) {
  Kept kept;
  const auto first = kept.Get();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(first->chain_pem, HasSubstr("BEGIN CERTIFICATE"));
  EXPECT_THAT(first->key_pem, HasSubstr("PRIVATE KEY"));
  const auto second = kept.Get();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->chain_pem, first->chain_pem);
  EXPECT_EQ(second->key_pem, first->key_pem);
}

TEST(Certificate, ItOutlivesALossOfPower) {
  Kept kept;
  const auto first = kept.Get();
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(kept.fs.SyncDir("/").ok());
  auto after = kept.fs.CrashClone(1, 0);
  const auto second = KeptCertificate(after.get(), &kept.clock, kept.dir, {});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->chain_pem, first->chain_pem);
}

TEST(Certificate, HalfAPairIsMadeAnew) {
  for (const char* name : {"server.pem", "server.key"}) {
    Kept kept;
    ASSERT_TRUE(kept.Get().ok());
    ASSERT_TRUE(kept.fs.Remove(kept.dir / name).ok());
    EXPECT_TRUE(kept.Get().ok());
    EXPECT_TRUE(kept.Get().ok());
  }
}

TEST(Certificate, DamageIsNamedNotReplaced) {
  Kept kept;
  const auto first = kept.Get();
  ASSERT_TRUE(first.ok());
  kept.fs.SetContent(kept.dir / "server.key", "nonsense");
  auto again = kept.Get();
  EXPECT_TRUE(absl::IsInvalidArgument(again.status()));
  EXPECT_THAT(std::string(again.status().message()), HasSubstr("server.key"));
  kept.fs.SetContent(kept.dir / "server.key", first->key_pem);
  kept.fs.SetContent(kept.dir / "server.pem", "");
  again = kept.Get();
  EXPECT_THAT(std::string(again.status().message()), HasSubstr("server.pem"));
}

TEST(Certificate, AForeignKeyIsNoticed) {
  Kept kept;
  ASSERT_TRUE(kept.Get().ok());
  const auto other = MakeCertificate(&kept.clock, {});
  ASSERT_TRUE(other.ok());
  kept.fs.SetContent(kept.dir / "server.key", other->key_pem);
  const auto again = kept.Get();
  EXPECT_THAT(std::string(again.status().message()),
              HasSubstr("not the key of the certificate"));
}

TEST(Certificate, ADiskThatFailsAtAnyStepLeavesAPairOrNone) {
  for (int step = 1; step < 100; ++step) {
    Kept kept;
    kept.fs.FailAfter(MemoryOp::kAny, step, absl::DataLossError("disk"),
                      /*sticky=*/false);
    if (kept.Get().ok()) return;  // it takes fewer steps than this
    const auto again = kept.Get();
    EXPECT_TRUE(again.ok()) << step << ": " << again.status();
  }
  FAIL() << "no end to the steps";
}

}  // namespace
}  // namespace hourglass
