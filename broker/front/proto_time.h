// File: proto_time.h
//
// Times of the protocol (seconds and nanoseconds, of any size) as our
// milliseconds and back. Absurd values become the nearest sane ones; a part of
// a millisecond is rounded up, since early is worse than late.
//
//   int64_t due_ms = MsOf(system.delivery_timestamp());
//   *system.mutable_invisible_duration() = DurationOfMs(30'000);
//
// Serves promise 3: never early, by no rounding either.
#ifndef HOURGLASS_BROKER_FRONT_PROTO_TIME_H_
#define HOURGLASS_BROKER_FRONT_PROTO_TIME_H_

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <algorithm>
#include <cstdint>

namespace hourglass {

// Far beyond every limit, and safe to add two of.
inline constexpr int64_t kProtoMsMax = int64_t{1} << 60;

namespace proto_time_internal {

inline int64_t Ms(int64_t seconds, int64_t nanos) {
  constexpr int64_t kSecondsMax = kProtoMsMax / 1000;
  if (seconds >= kSecondsMax) return kProtoMsMax;
  if (seconds <= -kSecondsMax) return -kProtoMsMax;
  const int64_t whole = nanos / 1'000'000;
  return seconds * 1000 + whole + (nanos % 1'000'000 > 0 ? 1 : 0);
}

template <typename T>
T Of(int64_t ms) {
  T time;
  int64_t seconds = ms / 1000;
  int64_t rest = ms % 1000;
  if (rest < 0) {
    rest += 1000;
    --seconds;
  }
  time.set_seconds(seconds);
  time.set_nanos(static_cast<int32_t>(rest * 1'000'000));
  return time;
}

}  // namespace proto_time_internal

inline int64_t MsOf(const google::protobuf::Timestamp& time) {
  return proto_time_internal::Ms(time.seconds(), time.nanos());
}
inline int64_t MsOf(const google::protobuf::Duration& time) {
  return proto_time_internal::Ms(time.seconds(), time.nanos());
}
inline google::protobuf::Timestamp TimestampOfMs(int64_t ms) {
  return proto_time_internal::Of<google::protobuf::Timestamp>(ms);
}
// `ms` must not be negative.
inline google::protobuf::Duration DurationOfMs(int64_t ms) {
  return proto_time_internal::Of<google::protobuf::Duration>(ms);
}

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_PROTO_TIME_H_
