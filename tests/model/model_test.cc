// The whole store beside a slow, obvious model, over many random life
// stories. See model_run.h for what a story is, model.h for what is true.
//
//   HOURGLASS_MODEL_SEED=n        replays one story
//   HOURGLASS_MODEL_OPERATIONS=n  how many operations in all (a sanitizer's
//                                 build takes fewer)
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/model/model_run.h"

namespace hourglass {
namespace {

constexpr int kOperationsOfAStory = 4000;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(ModelTest, StoreDoesWhatTheModelDoes) {
  const uint64_t wanted =
      FromEnvironment("HOURGLASS_MODEL_OPERATIONS", 1'000'000);
  const uint64_t only = FromEnvironment("HOURGLASS_MODEL_SEED", 0);
  ModelRun::Totals sum;
  int failures = 0;
  const uint64_t failures_max = FromEnvironment("HOURGLASS_MODEL_FAILURES", 1);
  for (uint64_t seed = only == 0 ? 1 : only; sum.operations < wanted; ++seed) {
    ModelRun run(seed, kOperationsOfAStory);
    const std::string wrong = run.Run();
    EXPECT_EQ(wrong, "");
    if (!wrong.empty() && ++failures >= static_cast<int>(failures_max)) return;
    const ModelRun::Totals& one = run.totals();
    sum.operations += one.operations;
    sum.lives += one.lives;
    sum.crashes += one.crashes;
    sum.faults += one.faults;
    sum.delivered += one.delivered;
    sum.cancelled += one.cancelled;
    sum.moved += one.moved;
    sum.checkpoints += one.checkpoints;
    sum.late += one.late;
    sum.overdue_steps += one.overdue_steps;
    sum.hours_removed += one.hours_removed;
    sum.settled += one.settled;
    sum.log_files_removed += one.log_files_removed;
    if (only != 0) break;
  }
  std::printf(
      "%lu operations, %lu lives, %lu crashes, %lu with faults, %lu delivered, "
      "%lu cancelled, %lu moved, %lu checkpoints, %lu late, %lu overdue steps, "
      "%lu hours removed, %lu settled, %lu with log removed\n",
      sum.operations, sum.lives, sum.crashes, sum.faults, sum.delivered,
      sum.cancelled, sum.moved, sum.checkpoints, sum.late, sum.overdue_steps,
      sum.hours_removed, sum.settled, sum.log_files_removed);
}

}  // namespace
}  // namespace hourglass
