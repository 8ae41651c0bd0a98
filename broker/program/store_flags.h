// File: store_flags.h
//
// The flags that every command with a store has: --data, and every option of
// StoreOptions under its own name (`body_bytes_max` is --body-bytes-max), so
// that a status which names an option names the flag, too.
//
//   StoreFlags flags;
//   flags.Declare(app);
//   ...
//   return flags.WithStore(console, StoreFlags::Mode::kExisting,
//                          [](DelayStore& store) -> absl::StatusOr<int> {...});
//
// Keeps promise 1: the sync policy is chosen by name, never by accident.
#ifndef HOURGLASS_BROKER_PROGRAM_STORE_FLAGS_H_
#define HOURGLASS_BROKER_PROGRAM_STORE_FLAGS_H_

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "broker/program/console.h"
#include "hourglass/options.h"

namespace CLI {
class App;
}  // namespace CLI

namespace hourglass {

// Groups of flags in --help; their environment variables carry no command
// name (HOURGLASS_DATA), those of all others do (HOURGLASS_PIPE_TOPIC).
inline constexpr char kStoreGroup[] = "Store";
inline constexpr char kLimitsGroup[] = "Limits and tuning of the store";

class StoreFlags {
 public:
  enum class Mode { kCreate, kExisting };

  void Declare(CLI::App* app);

  // What the flags say, with the console's clock and file system.
  absl::StatusOr<StoreOptions> Options(const Console& console) const;

  // Opens the store, runs `work`, closes the store. Returns what `work`
  // returned, or says what failed and returns kExitFailed.
  int WithStore(const Console& console, Mode mode,
                const std::function<absl::StatusOr<int>(DelayStore&)>& work);

  const std::string& data() const { return data_; }

 private:
  void DeclareLimits(CLI::App* app);
  void DeclareTuning(CLI::App* app);

  std::string data_;
  std::string sync_ = "sync";
  StoreOptions options_;
};

// "hourglass: DIR: what", without naming DIR twice.
std::string FailureLine(std::string_view dir, const absl::Status& status);
// Says it on stderr; returns kExitFailed.
int Fail(const Console& console, std::string_view dir,
         const absl::Status& status);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_PROGRAM_STORE_FLAGS_H_
