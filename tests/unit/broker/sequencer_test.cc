#include "broker/sequencer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "recovery/open_store.h"
#include "storage/checksum.h"
#include "storage/message_codec.h"
#include "tests/support/test_store.h"

namespace hourglass {
namespace {

class SequencerTest : public testing::Test {
 protected:
  SequencerTest() : staging_(1u << 30) {
    auto state = OpenStore(box_.dir, box_.options, IfMissing::kCreate);
    EXPECT_TRUE(state.ok()) << state.status();
    state_ = *std::move(state);
    sequencer_ = std::make_unique<Sequencer>(state_.get(), &staging_);
    group_ = std::make_unique<CommitGroup>(state_->salt);
  }

  void StagePut(const std::string& body, int64_t due_ms) {
    MessageView view = TestStore::View(body, due_ms);
    view.id = "id";
    std::string payload;
    EncodeMessage(view, &payload);
    Op op;
    op.kind = Op::Kind::kPut;
    op.due_ms = due_ms;
    op.id = "id";
    op.id_hash = IdHash("id");
    op.payload_bytes = static_cast<uint32_t>(payload.size());
    op.payload_hash = HashBytes(payload);
    ASSERT_TRUE(staging_.Push(std::move(op), payload));
  }
  void StageCancel(const Handle& handle) {
    Op op;
    op.kind = Op::Kind::kCancel;
    op.handle = handle;
    ASSERT_TRUE(staging_.Push(std::move(op), ""));
  }

  void Fill() {
    staging_.Drain(&sequencer_->batches());
    group_->Clear();
    const absl::Status status =
        sequencer_->Fill(group_.get(), box_.clock.NowMs());
    EXPECT_TRUE(status.ok()) << status;
  }

  TestStore box_;
  Staging staging_;
  std::unique_ptr<StoreState> state_;
  std::unique_ptr<Sequencer> sequencer_;
  std::unique_ptr<CommitGroup> group_;
};

TEST_F(SequencerTest, NumbersTheMessagesOfEachHour) {
  StagePut("a", box_.InMs(10));
  StagePut("b", box_.InMs(kMsPerHour));
  StagePut("c", box_.InMs(20));
  StagePut("now", kDueNow);
  Fill();
  ASSERT_EQ(group_->puts.size(), 4u);
  EXPECT_EQ(group_->puts[0].result.handle.number, RecordNumber(1));
  EXPECT_EQ(group_->puts[1].result.handle.number, RecordNumber(1));
  EXPECT_EQ(group_->puts[2].result.handle.number, RecordNumber(2));
  EXPECT_TRUE(group_->puts[3].result.handle.IsNone());
  EXPECT_EQ(group_->builder.records(), 4u);
  EXPECT_EQ(group_->ready_messages, 1u);
  EXPECT_EQ(sequencer_->earliest_due_ms(), box_.InMs(10));
  EXPECT_FALSE(sequencer_->HasWork());
}

TEST_F(SequencerTest, SaysWhenNothingIsDue) {
  StagePut("now", kDueNow);
  Fill();
  EXPECT_EQ(sequencer_->earliest_due_ms(), std::numeric_limits<int64_t>::max());
}

TEST_F(SequencerTest, AHandleIsSealedInEveryField) {
  StagePut("a", box_.InMs(10));
  Fill();
  const Handle handle = group_->puts[0].result.handle;
  EXPECT_EQ(handle.seal, HandleSeal(state_->salt, handle));
  EXPECT_NE(handle.seal, HandleSeal(state_->salt + 1, handle));
  for (int field = 0; field < 4; ++field) {
    Handle other = handle;
    if (field == 0) other.hour = other.hour + 1;
    if (field == 1) ++other.number;
    if (field == 2) ++other.ms_into_hour;
    if (field == 3) ++other.id_hash;
    EXPECT_NE(handle.seal, HandleSeal(state_->salt, other)) << field;
  }
}

TEST_F(SequencerTest, ACancelAndADeliveryHaveOneWinner) {
  StagePut("a", box_.InMs(10));
  StagePut("b", box_.InMs(10));
  Fill();
  const Handle a = group_->puts[0].result.handle;
  const Handle b = group_->puts[1].result.handle;
  state_->ledger.Claim(a.hour, a.number);  // the hand took it
  StageCancel(a);
  StageCancel(b);
  StageCancel(b);
  Fill();
  ASSERT_EQ(group_->ops.size(), 3u);
  EXPECT_EQ(group_->ops[0].result.answer, CancelAnswer::kAlreadyDelivered);
  EXPECT_EQ(group_->ops[1].result.answer, CancelAnswer::kCancelled);
  EXPECT_EQ(group_->ops[2].result.answer, CancelAnswer::kCancelled);
  EXPECT_EQ(group_->builder.records(), 1u) << "one Cancel record is enough";
  EXPECT_FALSE(state_->ledger.Claim(b.hour, b.number));
}

TEST_F(SequencerTest, AnswersOfOthersStayWhenOneGroupIsFull) {
  const std::string body(30'000, 'x');
  for (int i = 0; i < 20; ++i) StagePut(body, kDueNow);
  size_t puts = 0;
  int groups = 0;
  while (true) {
    Fill();
    if (group_->puts.empty()) break;
    puts += group_->puts.size();
    ++groups;
    EXPECT_LE(group_->builder.end() - group_->builder.start(),
              box_.options.log_segment_bytes);
  }
  EXPECT_EQ(puts, 20u);
  EXPECT_GE(groups, 3);
}

TEST_F(SequencerTest, RefusingOpsKeepsDeliveredBatches) {
  auto batch = std::make_unique<DeliveredBatch>();
  sequencer_->Add(std::move(batch));
  StagePut("a", kDueNow);
  staging_.Drain(&sequencer_->batches());
  EXPECT_GT(staging_.bytes(), 0u);
  sequencer_->FailOps(absl::ResourceExhaustedError("full"));
  EXPECT_EQ(staging_.bytes(), 0u);
  EXPECT_TRUE(sequencer_->HasWork());
  sequencer_->FailAll(absl::UnavailableError("stopped"));
  EXPECT_FALSE(sequencer_->HasWork());
}

}  // namespace
}  // namespace hourglass
