// File: crash_point.h
//
// Names for the moments between two steps at which a kill is interesting.
//
//   RETURN_IF_ERROR(fs->Rename(temporary, path));
//   CrashPoint("create.identity_renamed");
//   return fs->SyncDir(dir);
//
// In the product this is a constant, and nothing of it is compiled, not even
// the name. Only tests/crash's program hourglass_crash is built with
// HOURGLASS_CRASH_POINTS, which compiles the files that have such places once
// more for itself; there, tests/crash/crash_points.cc lists the names and
// kills the process at the one that the environment asks for.
//
// Threads: any.
//
// Serves promises 1 and 2: shows that they hold wherever the program ends.
#ifndef HOURGLASS_STORAGE_CRASH_POINT_H_
#define HOURGLASS_STORAGE_CRASH_POINT_H_

#include <string_view>

namespace hourglass {

#ifdef HOURGLASS_CRASH_POINTS
void CrashPoint(std::string_view name);
#else
consteval void CrashPoint(std::string_view) {}
#endif

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_CRASH_POINT_H_
