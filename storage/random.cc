// The only place of Hourglass that asks the machine for randomness.
#include "storage/random.h"

#include <sys/random.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace hourglass {
namespace {

thread_local Random* seeded = nullptr;  // see EntropyFromSeed

// Spreads a seed, however poor, over a whole state.
uint64_t SplitMix(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

Random::Random(uint64_t seed) {
  for (uint64_t& word : state_) word = SplitMix(&seed);
}

uint64_t Random::Next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t Random::Uniform(uint64_t n) {
  // The numbers below 2^64 mod n would favour the small remainders.
  const uint64_t reject_below = -n % n;
  uint64_t value = Next();
  while (value < reject_below) value = Next();
  return value % n;
}

EntropyFromSeed::EntropyFromSeed(uint64_t seed) : random_(seed) {
  seeded = &random_;
}

EntropyFromSeed::~EntropyFromSeed() { seeded = nullptr; }

uint64_t SystemEntropy() {
  if (seeded != nullptr) return seeded->Next();
  uint64_t value = 0;
  ssize_t n;
  do {
    n = ::getrandom(&value, sizeof(value), 0);
  } while (n < 0 && errno == EINTR);
  if (n != sizeof(value)) {
    std::perror("hourglass: getrandom");
    std::abort();
  }
  return value;
}

Random SystemRandom() { return Random(SystemEntropy()); }

}  // namespace hourglass
