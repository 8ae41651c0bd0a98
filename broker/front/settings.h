// File: settings.h
//
// What a client is told in answer to its Settings. Every field here is there
// because some client does not start, or does not send, without it
// (docs/protocol.md, "Telemetry").
//
//   *command.mutable_settings() = AnswerSettings(asked, options);
//
// Serves promise 4: a client that asks for its settings gets whole ones.
#ifndef HOURGLASS_BROKER_FRONT_SETTINGS_H_
#define HOURGLASS_BROKER_FRONT_SETTINGS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "broker/front/caller.h"
#include "broker/front/front_options.h"
#include "broker/front/verdict.h"

namespace hourglass {

// UNRECOGNIZED_CLIENT_TYPE for kinds of clients that are not served.
Verdict CheckSettings(const proto::Settings& asked);

bool IsProducer(const proto::Settings& settings);
// Whether a message group has one batch out at a time. `asked`: what its
// consumers want.
bool KeepsOrder(std::string_view group, bool asked,
                const FrontOptions& options);

// The waits before the next attempts of a message; those that users of the
// protocol know: 1 s, 5 s, 10 s, 30 s, 1 min, ... 2 h.
const std::vector<int64_t>& RetryWaitsMs();

proto::Settings AnswerSettings(const proto::Settings& asked, Dialect dialect,
                               const FrontOptions& options);

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_SETTINGS_H_
