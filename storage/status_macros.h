// File: status_macros.h
//
// RETURN_IF_ERROR(expr): leaves the function with the error of `expr`.
// ASSIGN_OR_RETURN(auto x, expr): binds the value of a StatusOr, or leaves.
//
// Serves promise 5: no error is dropped on the way up.
#ifndef HOURGLASS_STORAGE_STATUS_MACROS_H_
#define HOURGLASS_STORAGE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define HG_CONCAT_INNER(a, b) a##b
#define HG_CONCAT(a, b) HG_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expr)                                               \
  do {                                                                      \
    if (absl::Status hg_status = (expr); !hg_status.ok()) return hg_status; \
  } while (false)

#define ASSIGN_OR_RETURN(lhs, expr) \
  HG_ASSIGN_OR_RETURN(HG_CONCAT(hg_or_, __LINE__), lhs, expr)
#define HG_ASSIGN_OR_RETURN(tmp, lhs, expr) \
  auto tmp = (expr);                        \
  if (!tmp.ok()) return tmp.status();       \
  lhs = *std::move(tmp)

#endif  // HOURGLASS_STORAGE_STATUS_MACROS_H_
