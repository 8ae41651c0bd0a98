// File: backlog.h
//
// Fills a store with messages that wait, for the jobs `backlog` and
// `restart`.
//
// Threads: none of its own.
//
// Measures promise 7: memory and restart with much pending.
#ifndef HOURGLASS_BROKER_BENCH_BACKLOG_H_
#define HOURGLASS_BROKER_BENCH_BACKLOG_H_

#include "absl/status/statusor.h"
#include "broker/bench/session.h"

namespace hourglass {

// RESOURCE_EXHAUSTED, before anything is written, if the disk has no room.
absl::StatusOr<PutTotals> FillBacklog(Session* session);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_BENCH_BACKLOG_H_
