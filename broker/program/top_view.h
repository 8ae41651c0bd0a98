// File: top_view.h
//
// What `hourglass top` shows of a sample, as text and as a JSON line. Rates and
// percentiles are of the time since the sample before; without one, of all the
// time since the server started, and rates are left out.
//
//   std::string frame = RenderTop(sample, &previous, 80);
//
// Pure functions: no terminal, no clock.
//
// Serves promise 3: lateness can be watched.
#ifndef HOURGLASS_BROKER_PROGRAM_TOP_VIEW_H_
#define HOURGLASS_BROKER_PROGRAM_TOP_VIEW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "broker/program/admin_pages.h"

namespace hourglass {

// Lines of at most `width` characters, without colours.
std::string RenderTop(const TopSample& sample, const TopSample* previous,
                      int width);
// One line.
std::string TopJson(const TopSample& sample, const TopSample* previous);

// A column of an eighth to eight eighths for each value, "·" for none; values
// side by side are added up if there is no room for all.
std::string Columns(const std::vector<uint64_t>& values, int width);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_PROGRAM_TOP_VIEW_H_
