// File: fuzz.h
//
// What the fuzz targets share. A target is a function that takes any bytes
// and must come back: no crash, no undefined behaviour, no endless loop, and
// what it asserts must hold. Built twice:
//
//   * with clang's libFuzzer, AddressSanitizer and UBSan: `make fuzz`
//   * with a plain main that runs the kept corpus once (replay_main.cc): part
//     of `make test`, so that what was found once stays found
//
//   FUZZ_TARGET(std::string_view data) {
//     auto message = DecodeMessage(data);
//     FUZZ_CHECK(...);
//   }
//
// Checksums stop a fuzzer at the door. So the targets of sealed formats read
// the first byte as a choice: the bytes as they are, or with every seal made
// right again, which is what a forger or a colliding checksum would give.
//
// Threads: none.
#ifndef HOURGLASS_TESTS_FUZZ_FUZZ_H_
#define HOURGLASS_TESTS_FUZZ_FUZZ_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

// A condition that no input may break.
#define FUZZ_CHECK(condition)                                              \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                        \
    }                                                                      \
  } while (false)

#define FUZZ_TARGET(parameter)                                               \
  static void FuzzOne(parameter);                                            \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) { \
    FuzzOne({reinterpret_cast<const char*>(bytes), size});                   \
    return 0;                                                                \
  }                                                                          \
  static void FuzzOne(parameter)

#endif  // HOURGLASS_TESTS_FUZZ_FUZZ_H_
