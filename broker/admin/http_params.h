// File: http_params.h
//
// What stands in a query string, read strictly: a value that is not
// understood is named, with what would be right.
//
//   HttpParams params(request.query);
//   ASSIGN_OR_RETURN(const int64_t from_ms, params.Moment("from", 0, now_ms));
//   RETURN_IF_ERROR(params.Unknown());   // a misspelt name is refused
//
// Threads: none of its own.
//
// Serves promise 4: a wish that is not understood is not half carried out.
#ifndef HOURGLASS_BROKER_ADMIN_HTTP_PARAMS_H_
#define HOURGLASS_BROKER_ADMIN_HTTP_PARAMS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hourglass {

class HttpParams {
 public:
  explicit HttpParams(const std::map<std::string, std::string>& query)
      : query_(query) {}

  std::string Text(const std::string& name);  // "" if it is not there
  // As `list --from`: "2026-11-21T03:00:00Z", "now", "1h", UTC milliseconds.
  absl::StatusOr<int64_t> Moment(const std::string& name, int64_t otherwise,
                                 int64_t now_ms);
  absl::StatusOr<uint64_t> Count(const std::string& name, uint64_t otherwise,
                                 uint64_t max);
  // "1h", or "-1h".
  absl::StatusOr<int64_t> SignedDuration(const std::string& name);
  absl::StatusOr<bool> Flag(const std::string& name);

  // INVALID_ARGUMENT naming the first name that nobody asked for.
  absl::Status Unknown() const;

 private:
  const std::map<std::string, std::string>& query_;
  std::set<std::string> asked_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_ADMIN_HTTP_PARAMS_H_
