// File: jobs.h
//
// The jobs of `hourglass bench`, one file each. Every one runs on the real
// disk through the store's public interface, and either reports what it
// measured or says why it could not: CANCELLED when it was stopped, DATA_LOSS
// when the counts do not add up.
//
// Measures promises 1, 3, 4 and 7, a job each.
#ifndef HOURGLASS_BROKER_BENCH_JOBS_H_
#define HOURGLASS_BROKER_BENCH_JOBS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "broker/bench/report.h"
#include "broker/bench/session.h"

namespace hourglass {

// How many messages a second become durable. With one producer and one
// message in flight: against the disk's own rate.
absl::StatusOr<Report> RunPutJob(const Bench& bench);
// How long after their due time the messages of one moment are all ready.
absl::StatusOr<Report> RunBurstJob(const Bench& bench);
// How late messages are while as many are put as are delivered.
absl::StatusOr<Report> RunSteadyJob(const Bench& bench);
// What a large backlog costs in memory and on the disk.
absl::StatusOr<Report> RunBacklogJob(const Bench& bench);
// How long after kill -9 a store with a backlog accepts and delivers.
absl::StatusOr<Report> RunRestartJob(const Bench& bench);
// How many cancels by handle a second become durable.
absl::StatusOr<Report> RunCancelJob(const Bench& bench);

// The process that RunRestartJob kills.
absl::Status RunRestartChild(const Bench& bench);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_BENCH_JOBS_H_
