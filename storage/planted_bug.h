// File: planted_bug.h
//
// Places where the simulator's tests break the store on purpose, to see that
// the simulator notices.
//
//   if (!PlantedBug("ack_before_sync")) RETURN_IF_ERROR(log->Sync());
//
// In the product this is a constant, and nothing of it is compiled. Only
// tests/simulation/planted_test is built with HOURGLASS_PLANTED_BUGS (CMake
// option of the same name), which compiles the files that have such places
// once more for itself; there, tests/simulation/planted_bugs.h lists the names
// and says which is active.
//
// Threads: any.
//
// Serves all promises: shows that a broken one is noticed.
#ifndef HOURGLASS_STORAGE_PLANTED_BUG_H_
#define HOURGLASS_STORAGE_PLANTED_BUG_H_

#include <string_view>

namespace hourglass {

#ifdef HOURGLASS_PLANTED_BUGS
bool PlantedBug(std::string_view name);
#else
consteval bool PlantedBug(std::string_view) { return false; }
#endif

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_PLANTED_BUG_H_
