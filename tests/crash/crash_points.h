// File: crash_points.h
//
// The names of all crash points (storage/crash_point.h), and what a kill at
// each of them leaves behind. Only in the program hourglass_crash.
//
// The environment says where it is to end:
//
//   HOURGLASS_CRASH_AT=log.file_named:2       the second time it comes there
//   HOURGLASS_CRASH_REPORT=/tmp/reached       gets the name as a line before
//
// A name that is in the code and not in this list, or is asked for and not in
// this list, ends the program with exit code 70.
//
// Threads: any.
//
// Serves promises 1 and 2: shows that they hold wherever the program ends.
#ifndef HOURGLASS_TESTS_CRASH_CRASH_POINTS_H_
#define HOURGLASS_TESTS_CRASH_CRASH_POINTS_H_

#include <span>
#include <string_view>

namespace hourglass {

struct CrashPointName {
  std::string_view name;
  std::string_view leaves;
};

std::span<const CrashPointName> CrashPoints();

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_CRASH_CRASH_POINTS_H_
