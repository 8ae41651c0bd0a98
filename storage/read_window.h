// File: read_window.h
//
// A stretch of a file in memory, for readers that go forward: what is asked
// for next is mostly there, and what was read already is not read twice.
//
//   std::string_view View(uint64_t offset, size_t bytes) {
//     if (!window_.Has(offset, bytes)) {
//       const ReadWindow::Gap gap = window_.MoveTo(offset, bytes);
//       window_.Got(ReadAt(gap.offset, gap.bytes, gap.out));
//     }
//     return window_.View(offset, bytes);
//   }
//
// Ownership: views are good until the next MoveTo. Threads: one.
//
// Limitations: memory grows to the largest stretch ever asked for.
//
// Serves promise 7: bounded memory, few reads.
#ifndef HOURGLASS_STORAGE_READ_WINDOW_H_
#define HOURGLASS_STORAGE_READ_WINDOW_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace hourglass {

class ReadWindow {
 public:
  // What is to be read, and where to.
  struct Gap {
    uint64_t offset = 0;
    size_t bytes = 0;
    char* out = nullptr;
  };

  // Reads at least `bytes_min` at a time.
  explicit ReadWindow(size_t bytes_min) : bytes_min_(bytes_min) {}

  bool Has(uint64_t offset, size_t bytes) const {
    return offset >= offset_ && offset + bytes <= offset_ + bytes_;
  }

  // From now on the window begins at `offset`. What it has of that is kept;
  // the gap is the rest.
  Gap MoveTo(uint64_t offset, size_t bytes) {
    Reserve(std::max(bytes, bytes_min_));
    size_t kept = 0;
    if (offset >= offset_ && offset < offset_ + bytes_) {
      kept = offset_ + bytes_ - offset;
      std::memmove(memory_.get(), memory_.get() + (offset - offset_), kept);
    }
    offset_ = offset;
    bytes_ = kept;
    return {offset + kept, capacity_ - kept, memory_.get() + kept};
  }
  // So much of the gap was read.
  void Got(size_t bytes) { bytes_ += bytes; }

  // Shorter than asked for where the window ends.
  std::string_view View(uint64_t offset, size_t bytes) const {
    const std::string_view all(memory_.get(), bytes_);
    return all.substr(std::min<size_t>(offset - offset_, all.size()), bytes);
  }

 private:
  void Reserve(size_t wanted) {
    if (wanted <= capacity_) return;
    auto bigger = std::make_unique_for_overwrite<char[]>(wanted);
    if (bytes_ > 0) std::memcpy(bigger.get(), memory_.get(), bytes_);
    memory_ = std::move(bigger);
    capacity_ = wanted;
  }

  const size_t bytes_min_;
  std::unique_ptr<char[]> memory_;
  size_t capacity_ = 0;
  uint64_t offset_ = 0;
  size_t bytes_ = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_READ_WINDOW_H_
