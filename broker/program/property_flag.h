// File: property_flag.h
//
// The flag --property NAME=VALUE of the commands that make a message.
//
//   if (auto error = AddProperties(flags.properties, &message)) return error;
#ifndef HOURGLASS_BROKER_PROGRAM_PROPERTY_FLAG_H_
#define HOURGLASS_BROKER_PROGRAM_PROPERTY_FLAG_H_

#include <optional>
#include <string>
#include <vector>

#include "broker/text/json_lines.h"
#include "hourglass/message.h"

namespace hourglass {

// Names the first one without a "=".
std::optional<InputError> AddProperties(const std::vector<std::string>& flags,
                                        Message* message);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_PROGRAM_PROPERTY_FLAG_H_
