// File: planted_bugs.h
//
// The bugs that the simulator must find, and the switch that turns one on.
// See storage/planted_bug.h for where they stand.
//
//   PlantBug("ack_before_sync");
//   WorkReport report = RunSeeds(...);   // has failures
//   PlantBug("");
//
// Threads: set it before any store is open.
#ifndef HOURGLASS_TESTS_SIMULATION_PLANTED_BUGS_H_
#define HOURGLASS_TESTS_SIMULATION_PLANTED_BUGS_H_

#include <string_view>

namespace hourglass {

inline constexpr std::string_view kPlantedBugs[] = {
    "ack_before_sync",       // puts are acknowledged before the log is synced
    "directory_not_synced",  // names of new hour files are never durable
    "checkpoint_before_files",  // a checkpoint of files that were not synced
    "frame_not_verified",       // messages of hours without their checksum
    "record_not_verified",      // records of the log without theirs
    "sync_retried",             // after a failed sync, the next one's OK counts
    "tail_trusted",          // what a failed sync left in the cache is believed
    "tail_not_cut",          // the log goes on behind a torn tail
    "delivered_ignored",     // recovery forgets what was delivered
    "replay_floor_ignored",  // a checkpoint replays too little
    "tombstone_ignored",     // cancelled messages are loaded again
    "late_forgotten",        // messages behind the cursor are lost by a restart
    "hour_unlinked_early",   // an hour goes before the checkpoint that says so
    "heads_not_restored",    // the newest records of a slot are not found
    "progress_before_sync",  // a group's progress is acknowledged too early
    "acked_before_sync",     // single messages are, too
    "acked_ranges_forgotten",  // a checkpoint knows only the watermark
};
// Changes the store's behaviour, and breaks nothing: must not be found.
inline constexpr std::string_view kPlantedFeature = "walk_always";

// "": none.
void PlantBug(std::string_view name);

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SIMULATION_PLANTED_BUGS_H_
