#include "broker/program/property_flag.h"

#include "broker/text/json_text.h"
#include "broker/text/text.h"

namespace hourglass {

std::optional<InputError> AddProperties(const std::vector<std::string>& flags,
                                        Message* message) {
  for (const std::string& property : flags) {
    const size_t equals = property.find('=');
    if (equals == std::string::npos) {
      return InputError{0, "--property",
                        Concat(Quoted(property), " has no value"),
                        "NAME=VALUE"};
    }
    message->properties.emplace_back(property.substr(0, equals),
                                     property.substr(equals + 1));
  }
  return std::nullopt;
}

}  // namespace hourglass
