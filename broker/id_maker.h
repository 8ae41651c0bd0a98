// File: id_maker.h
//
// Ids for messages that come without one: 15 characters, 35 random bits drawn
// when the store is opened and a 40-bit counter, in base32. Short enough for
// std::string to hold without an allocation.
//
// Threads: any.
//
// Serves promise 2: no two messages of a store share an id.
#ifndef HOURGLASS_BROKER_ID_MAKER_H_
#define HOURGLASS_BROKER_ID_MAKER_H_

#include <atomic>
#include <cstdint>
#include <string>

namespace hourglass {

class IdMaker {
 public:
  explicit IdMaker(uint64_t entropy) : prefix_(entropy) {}

  std::string Next() {
    std::string id(15, '0');
    uint64_t prefix = prefix_;
    uint64_t count = count_.fetch_add(1, std::memory_order_relaxed);
    for (int i = 6; i >= 0; --i, prefix >>= 5) id[i] = kDigits[prefix & 31];
    for (int i = 14; i >= 7; --i, count >>= 5) id[i] = kDigits[count & 31];
    return id;
  }

 private:
  static constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuv";
  const uint64_t prefix_;
  std::atomic<uint64_t> count_{0};
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_ID_MAKER_H_
