// File: number_flags.h
//
// Flags for bounds and times, declared alike, with their default shown.
//
//   NumberFlags limits(app, "Limits and tuning of the server");
//   limits.Bytes("--request-bytes-max", &options.request_bytes_max,
//                "largest call");                   // "64MiB", or a number
//   limits.Number("--drain-ms", &options.drain_ms, "MS", "...");
//
// Serves promise 7: every bound can be set, by its name.
#ifndef HOURGLASS_BROKER_PROGRAM_NUMBER_FLAGS_H_
#define HOURGLASS_BROKER_PROGRAM_NUMBER_FLAGS_H_

#include <CLI/CLI.hpp>
#include <string>
#include <utility>

namespace hourglass {

class NumberFlags {
 public:
  // `group`: the heading that they stand under in --help.
  NumberFlags(CLI::App* app, std::string group)
      : app_(app), group_(std::move(group)) {}

  // A size with a unit or without.
  template <typename T>
  void Bytes(const std::string& flag, T* value, const std::string& what) {
    Number(flag, value, "BYTES", what)->transform(CLI::AsSizeValue(false));
  }

  template <typename T>
  CLI::Option* Number(const std::string& flag, T* value,
                      const std::string& type, const std::string& what) {
    return app_->add_option(flag, *value, what)
        ->type_name(type)
        ->group(group_)
        ->capture_default_str();
  }

 private:
  CLI::App* const app_;
  const std::string group_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_PROGRAM_NUMBER_FLAGS_H_
