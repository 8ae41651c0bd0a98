// File: console.h
//
// What a command touches of the world outside the store: lines in, text out,
// the signals that ask it to stop. The machine's own is in posix_console.h;
// tests give strings (tests/support/string_console.h).
//
// Errors of LineSource and Output are ABORTED and name the stream.
//
// Threads: LineSource by one thread; Output by one thread; StopSignal and
// Diagnostics by any.
//
// Serves promise 5: errors go where people look.
#ifndef HOURGLASS_BROKER_PROGRAM_CONSOLE_H_
#define HOURGLASS_BROKER_PROGRAM_CONSOLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "broker/client/admin_client.h"
#include "broker/client/broker_client.h"
#include "hourglass/clock.h"
#include "hourglass/delay_store.h"
#include "hourglass/file_system.h"
#include "storage/mutex.h"

namespace hourglass {

// Input, line by line.
class LineSource {
 public:
  enum class Got {
    kLine,     // a line, without its end
    kTooLong,  // a line longer than asked for was skipped
    kEnd,      // there is no more
    kStopped,  // somebody asked to stop
  };
  virtual ~LineSource() = default;
  virtual absl::StatusOr<Got> Next(std::string* line, size_t bytes_max) = 0;
};

// Somewhere to write to. OK from Write means the reader can have it: nothing
// is kept back in a buffer.
class Output {
 public:
  virtual ~Output() = default;
  virtual absl::Status Write(std::string_view text) = 0;
  // Colours, bars and progress are for people only.
  virtual bool IsTerminal() const { return false; }
  virtual int columns() const { return 80; }
};

// Whether somebody (a signal, the other half of `pipe`) asked to stop.
class StopSignal {
 public:
  virtual ~StopSignal() = default;
  virtual bool requested() const = 0;
  // Also wakes a LineSource that waits.
  virtual void Request() = 0;
};

// Everything that is said on stderr. Messages of several threads do not mix,
// and the progress line gives way to them.
class Diagnostics {
 public:
  explicit Diagnostics(Output* err) : err_(err) {}

  // One line; `text` has no end of line.
  void Say(std::string_view text);
  // Replaces the progress line; "" removes it. Nothing unless a terminal.
  void Progress(std::string_view text);
  bool IsTerminal() const { return err_->IsTerminal(); }

 private:
  Mutex mu_;
  Output* const err_;
  size_t progress_length_ ABSL_GUARDED_BY(mu_) = 0;
};

// DelayStore::Open or OpenExisting, or a test's own store.
using StoreOpener = std::function<absl::StatusOr<std::unique_ptr<DelayStore>>(
    const Path& dir, const StoreOptions& options, bool create)>;

// ConnectBroker and ConnectAdmin, or a test's own.
using BrokerConnector =
    std::function<absl::StatusOr<std::unique_ptr<BrokerClient>>(
        const BrokerClientOptions& options)>;
using AdminConnector =
    std::function<absl::StatusOr<std::unique_ptr<AdminClient>>(
        const AdminClientOptions& options)>;

struct Console {
  LineSource* in = nullptr;
  Output* out = nullptr;
  Output* err = nullptr;
  StopSignal* stop = nullptr;
  Clock* clock = nullptr;
  FileSystem* file_system = nullptr;
  StoreOpener open;
  BrokerConnector connect;
  AdminConnector connect_admin;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_PROGRAM_CONSOLE_H_
