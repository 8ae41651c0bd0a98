// File: random.h
//
// Random numbers as an argument: the same seed gives the same numbers on
// every machine and with every library, so a simulation can be run again.
//
//   Random random(seed);
//   uint64_t die = 1 + random.Uniform(6);
//
// Not for secrets: xoshiro256**, seeded by splitmix64.
//
// Threads: none; each user owns one. SystemEntropy may be called from any.
//
// Serves all promises: chance is an argument, so a failure can be replayed.
#ifndef HOURGLASS_STORAGE_RANDOM_H_
#define HOURGLASS_STORAGE_RANDOM_H_

#include <array>
#include <cstdint>

namespace hourglass {

class Random {
 public:
  explicit Random(uint64_t seed);

  uint64_t Next();
  // Every number below `n` with the same chance. `n` must not be 0.
  uint64_t Uniform(uint64_t n);

 private:
  std::array<uint64_t, 4> state_;
};

// While it lives, SystemEntropy on this thread comes from `seed`: then ids,
// and with them every checksum, are the same in every run. Not nested.
class EntropyFromSeed {
 public:
  explicit EntropyFromSeed(uint64_t seed);
  ~EntropyFromSeed();
  EntropyFromSeed(const EntropyFromSeed&) = delete;
  EntropyFromSeed& operator=(const EntropyFromSeed&) = delete;

 private:
  Random random_;
};

// 64 bits from the operating system. The process ends if it has none: there
// is no honest way on without.
uint64_t SystemEntropy();

// Seeded by the operating system.
Random SystemRandom();

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_RANDOM_H_
