// Plants one bug after the other into the store, and demands that the
// simulator finds it within 200 seeds, and finds nothing without one.
//
//   planted_test              all of them
//   planted_test NAME         one, with the report of what was found
#include <cstdio>
#include <string>

#include "storage/planted_bug.h"
#include "tests/simulation/planted_bugs.h"
#include "tests/simulation/workers.h"

namespace hourglass {
namespace {

constexpr uint64_t kSeedsMax = 200;

std::string_view planted;

WorkReport Hunt(std::string_view bug) {
  PlantBug(bug);
  WorkOptions options;
  options.seeds = kSeedsMax;
  options.twice_every = 0;
  options.failures_max = 1;
  WorkReport report = RunSeeds(options);
  PlantBug("");
  return report;
}

bool MustFind(std::string_view bug) {
  const WorkReport report = Hunt(bug);
  const bool found = !report.failures.empty();
  std::string what = found ? report.failures.front() : "NOT FOUND";
  std::printf("%-24s %4lu seeds  %.90s\n", std::string(bug).c_str(),
              report.totals.runs, what.substr(0, what.find('\n')).c_str());
  return found;
}

bool MustNotFind(std::string_view feature) {
  const WorkReport report = Hunt(feature);
  std::printf("%-24s %4lu seeds  %s\n",
              feature.empty() ? "(none)" : std::string(feature).c_str(),
              report.totals.runs,
              report.failures.empty() ? "nothing found, as it must be"
                                      : report.failures.front().c_str());
  return report.failures.empty();
}

int Main(int argc, char** argv) {
  if (argc > 1) {
    const WorkReport report = Hunt(argv[1]);
    for (const std::string& failure : report.failures) {
      std::printf("%s\n", failure.c_str());
    }
    return report.failures.empty() ? 1 : 0;
  }
  bool good = MustNotFind("") && MustNotFind(kPlantedFeature);
  for (const std::string_view bug : kPlantedBugs) good &= MustFind(bug);
  return good ? 0 : 1;
}

}  // namespace

void PlantBug(std::string_view name) { planted = name; }
bool PlantedBug(std::string_view name) { return name == planted; }

}  // namespace hourglass

int main(int argc, char** argv) { return hourglass::Main(argc, argv); }
