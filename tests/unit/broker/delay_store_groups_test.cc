// Consumer groups as the store knows them: single acknowledgements, attempts,
// and two things that happen together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/test_store.h"

namespace hourglass {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class DelayStoreGroupsTest : public testing::Test {
 protected:
  void SetUp() override {
    box_.Open();
    for (int i = 0; i < 20; ++i) box_.Put("m" + std::to_string(i), kDueNow);
  }
  void Reopen() {
    box_.Crash(0);
    box_.Open();
  }

  absl::Status Ack(const std::vector<uint64_t>& at) {
    std::vector<QueueIndex> indexes(at.begin(), at.end());
    std::optional<absl::Status> answer;
    box_.store->AckAsync("t", "g", indexes,
                         [&](absl::Status status) { answer = status; });
    box_.Step();
    return answer.value_or(absl::UnknownError("not answered"));
  }
  absl::Status Note(uint64_t index, uint32_t attempts) {
    std::optional<absl::Status> answer;
    const AttemptCount count{QueueIndex(index), attempts};
    box_.store->NoteAttemptsAsync(
        "t", "g", {&count, 1}, [&](absl::Status status) { answer = status; });
    box_.Step();
    return answer.value_or(absl::UnknownError("not answered"));
  }
  absl::StatusOr<PutResult> PutAndAck(const std::string& body, uint64_t index) {
    absl::StatusOr<PutResult> answer = absl::UnknownError("not answered");
    MessageView view = TestStore::View(body, kDueNow);
    view.topic = "dead";
    box_.store->PutAndAckAsync(
        view, "t", "g", QueueIndex(index),
        [&](absl::StatusOr<PutResult> put) { answer = std::move(put); });
    box_.Step();
    return answer;
  }
  absl::StatusOr<MoveResult> Replace(const Handle& handle,
                                     const MessageView& by) {
    absl::StatusOr<MoveResult> answer = absl::UnknownError("not answered");
    box_.store->ReplaceAsync(handle, by, [&](absl::StatusOr<MoveResult> moved) {
      answer = std::move(moved);
    });
    box_.Step();
    return answer;
  }
  GroupProgress Progress() { return box_.store->GetProgress("t", "g"); }

  TestStore box_;
};

TEST_F(DelayStoreGroupsTest, AcknowledgedInAnyOrderAndDurable) {
  EXPECT_TRUE(Ack({5, 3, 4}).ok());
  EXPECT_TRUE(Ack({0}).ok());
  EXPECT_TRUE(Note(1, 2).ok());
  EXPECT_TRUE(Note(4, 9).ok());  // acknowledged: nobody counts it
  for (int life = 0; life < 3; ++life) {
    const GroupProgress found = Progress();
    EXPECT_EQ(found.next, QueueIndex(1));
    EXPECT_THAT(found.acked, ElementsAre(Pair(QueueIndex(3), QueueIndex(6))));
    EXPECT_THAT(found.attempts, ElementsAre(Pair(QueueIndex(1), 2u)));
    EXPECT_EQ(box_.store->Progress("t", "g"), QueueIndex(1));
    if (life == 1) box_.Advance(2000);  // a checkpoint
    Reopen();
  }
  EXPECT_TRUE(Ack({2, 1}).ok());
  Reopen();
  EXPECT_TRUE(Progress() == GroupProgress(QueueIndex(6)));
  EXPECT_THAT(box_.store->Groups(), ElementsAre(Pair("t", "g")));
}

TEST_F(DelayStoreGroupsTest, AWatermarkClosesGapsToo) {
  EXPECT_TRUE(Ack({5, 7}).ok());
  EXPECT_TRUE(box_.store->CommitProgress("t", "g", QueueIndex(5)).ok());
  EXPECT_EQ(Progress().next, QueueIndex(6));
  EXPECT_TRUE(box_.store->CommitProgress("t", "g", QueueIndex(3)).ok());
  EXPECT_EQ(Progress().next, QueueIndex(6));
}

TEST_F(DelayStoreGroupsTest, AnswersOnlyWhenDurable) {
  bool answered = false;
  const QueueIndex index(4);
  box_.store->AckAsync("t", "g", {&index, 1},
                       [&](const absl::Status&) { answered = true; });
  EXPECT_FALSE(answered);
  box_.fs->FailAfter(MemoryOp::kSync, 1, absl::DataLossError("bad"), true);
  box_.store->Step();
  EXPECT_TRUE(answered);
  Reopen();
  EXPECT_THAT(Progress().acked, IsEmpty());
}

TEST_F(DelayStoreGroupsTest, ManyCallsAreOneGroupOfTheLog) {
  const uint64_t before = box_.store->Stats().groups;
  int answered = 0;
  for (uint64_t i = 0; i < 20; ++i) {
    const QueueIndex index(19 - i);
    box_.store->AckAsync("t", "g", {&index, 1},
                         [&](const absl::Status& status) {
                           EXPECT_TRUE(status.ok()) << status;
                           ++answered;
                         });
  }
  box_.Step();
  EXPECT_EQ(answered, 20);
  EXPECT_EQ(box_.store->Stats().groups, before + 1);
}

TEST_F(DelayStoreGroupsTest, RefusesWhatDoesNotExist) {
  EXPECT_TRUE(absl::IsInvalidArgument(Ack({20})));
  EXPECT_TRUE(absl::IsInvalidArgument(Ack({UINT64_MAX})));
  EXPECT_TRUE(absl::IsInvalidArgument(Note(20, 1)));
  EXPECT_TRUE(absl::IsInvalidArgument(PutAndAck("x", 20).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(PutAndAck("x", UINT64_MAX).status()));
  EXPECT_TRUE(Progress() == GroupProgress());
}

TEST_F(DelayStoreGroupsTest, TheNumberOfRangesIsBounded) {
  box_.store.reset();
  box_.options.group_marks_max = 2;
  box_.Open();
  EXPECT_TRUE(Ack({5}).ok());
  EXPECT_TRUE(Ack({7}).ok());
  const absl::Status full = Ack({9});
  EXPECT_TRUE(absl::IsResourceExhausted(full));
  EXPECT_THAT(std::string(full.message()), HasSubstr("group_marks_max"));
  EXPECT_TRUE(absl::IsResourceExhausted(PutAndAck("x", 9).status()));
  EXPECT_EQ(box_.store->EndOfReady("dead"), QueueIndex(0));
  EXPECT_TRUE(Ack({8}).ok()) << "makes one longer";
  EXPECT_TRUE(Ack({6}).ok()) << "makes two to one";
  EXPECT_TRUE(Ack({10}).ok());
  EXPECT_TRUE(Note(1, 1).ok());
  EXPECT_TRUE(Note(2, 1).ok());
  EXPECT_TRUE(Note(2, 2).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Note(3, 1)));
  EXPECT_TRUE(Ack({0, 1, 2, 3, 4}).ok()) << "closes the gap";
  EXPECT_EQ(Progress().next, QueueIndex(9));
}

TEST_F(DelayStoreGroupsTest, ABoundThatShrankStillOpens) {
  EXPECT_TRUE(Ack({3, 5, 7, 9}).ok());
  box_.options.group_marks_max = 1;
  Reopen();
  EXPECT_EQ(Progress().acked.size(), 4u);
  EXPECT_TRUE(absl::IsResourceExhausted(Ack({11})));
  EXPECT_TRUE(Ack({4}).ok());
}

// --- two things at once
// --------------------------------------------------------

TEST_F(DelayStoreGroupsTest, PutAndAckIsBothOrNeither) {
  EXPECT_TRUE(PutAndAck("dead 3", 3).ok());
  EXPECT_TRUE(absl::IsNotFound(PutAndAck("dead 3 again", 3).status()));
  box_.fs->FailAfter(MemoryOp::kSync, 1, absl::DataLossError("bad"), true);
  EXPECT_FALSE(PutAndAck("dead 4", 4).ok());
  Reopen();
  EXPECT_THAT(box_.Ready("dead"), ElementsAre("dead 3"));
  EXPECT_THAT(Progress().acked,
              ElementsAre(Pair(QueueIndex(3), QueueIndex(4))));
}

// Every part of the group that the disk may have kept.
TEST_F(DelayStoreGroupsTest, PutAndAckIsAtomicWhateverTheDiskKeeps) {
  box_.store.reset();
  box_.options.sync = SyncPolicy::kOs;
  box_.Open();
  EXPECT_TRUE(PutAndAck(std::string(20'000, 'x'), 4).ok());
  int both = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    auto fs = box_.fs->CrashClone(seed, seed % 2 == 0 ? 95 : 70);
    StoreOptions options = box_.options;
    options.file_system = fs.get();
    auto store = DelayStore::Open(box_.dir, options);
    ASSERT_TRUE(store.ok()) << store.status();
    const bool put = (*store)->EndOfReady("dead") > QueueIndex(0);
    const bool acked = (*store)->GetProgress("t", "g").IsAcked(QueueIndex(4));
    EXPECT_EQ(put, acked);
    both += put ? 1 : 0;
    store->reset();
  }
  EXPECT_GT(both, 0);
  EXPECT_LT(both, 60);
}

TEST_F(DelayStoreGroupsTest, ADelayedMessageMayFollowToo) {
  MessageView view = TestStore::View("retry", box_.InMs(5000));
  std::optional<absl::StatusOr<PutResult>> answer;
  box_.store->PutAndAckAsync(
      view, "t", "g", QueueIndex(0),
      [&](absl::StatusOr<PutResult> put) { answer = std::move(put); });
  box_.Step();
  ASSERT_TRUE(answer && answer->ok());
  EXPECT_FALSE((*answer)->handle.IsNone());
  Reopen();
  EXPECT_EQ(Progress().next, QueueIndex(1));
  EXPECT_EQ(box_.store->Stats().pending_messages, 1u);
}

TEST_F(DelayStoreGroupsTest, ReplaceHasTheAnswersOfReschedule) {
  const Handle half = box_.Put("half", box_.InMs(60'000));
  const MessageView whole = TestStore::View("whole", kDueNow);
  const auto replaced = Replace(half, whole);
  ASSERT_TRUE(replaced.ok()) << replaced.status();
  EXPECT_EQ(replaced->answer, CancelAnswer::kCancelled);
  EXPECT_TRUE(replaced->handle.IsNone());
  EXPECT_TRUE(absl::IsNotFound(Replace(half, whole).status()));
  EXPECT_EQ(Replace(Handle(), whole)->answer, CancelAnswer::kNeverExisted);
  const Handle soon = box_.Put("soon", box_.InMs(100));
  box_.Advance(200);
  EXPECT_EQ(Replace(soon, whole)->answer, CancelAnswer::kAlreadyDelivered);
  Reopen();
  box_.Advance(61'000);
  const auto ready = box_.Ready();
  EXPECT_EQ(std::count(ready.begin(), ready.end(), "whole"), 1);
  EXPECT_EQ(std::count(ready.begin(), ready.end(), "half"), 0);
}

TEST_F(DelayStoreGroupsTest, AReplacementHasAHandleOfItsOwn) {
  const Handle first = box_.Put("first", box_.InMs(60'000));
  MessageView later = TestStore::View("later", box_.InMs(120'000));
  later.topic = "other";
  later.id = "id of its own";
  const auto replaced = Replace(first, later);
  ASSERT_TRUE(replaced.ok()) << replaced.status();
  EXPECT_EQ(replaced->handle.due_ms(), box_.InMs(120'000));
  EXPECT_EQ(box_.Cancel(replaced->handle), CancelAnswer::kCancelled);
  MessageView bad = later;
  bad.topic = "";
  EXPECT_TRUE(absl::IsInvalidArgument(Replace(first, bad).status()));
}

TEST_F(DelayStoreGroupsTest, LogFilesAreKeptForTheFirstThatIsNotAcknowledged) {
  box_.store.reset();
  box_.options.retention_ms = 1;
  box_.Open();
  for (int i = 0; i < 40; ++i) box_.Put(std::string(20'000, 'x'), kDueNow);
  std::vector<uint64_t> all;
  for (uint64_t i = 0; i < 60; ++i) {
    if (i != 2) all.push_back(i);
  }
  ASSERT_TRUE(Ack(all).ok());
  box_.Advance(10'000);
  EXPECT_EQ(box_.store->FirstReady("t"), QueueIndex(0));
  ASSERT_TRUE(Ack({2}).ok());
  for (int i = 0; i < 3; ++i) {
    box_.Advance(2000);
    box_.Put("next", kDueNow);
    ASSERT_TRUE(box_.store->CommitProgress("t", "g", QueueIndex(61 + i)).ok());
  }
  EXPECT_GT(box_.store->FirstReady("t"), QueueIndex(2));
}

}  // namespace
}  // namespace hourglass
