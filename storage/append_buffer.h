// File: append_buffer.h
//
// Bytes that wait to be written to the end of a file. Grows in powers of two,
// never clears what it hands out, and gives its memory back when told to:
// what std::string would do with one needless fill and no promise on the
// last.
//
//   std::memcpy(buffer.Extend(size), data, size);
//   file->WriteAt(end, buffer.view());
//   buffer.Clear();
//
// Threads: none of its own.
//
// Serves promise 7: what it holds is bounded by its owner.
#ifndef HOURGLASS_STORAGE_APPEND_BUFFER_H_
#define HOURGLASS_STORAGE_APPEND_BUFFER_H_

#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace hourglass {

class AppendBuffer {
 public:
  // Makes the buffer longer by `size` bytes and returns the first of them,
  // for the caller to fill. Pointers given out before are no longer valid.
  char* Extend(size_t size) {
    if (size > capacity_ - size_) Grow(size_ + size);
    char* start = data_.get() + size_;
    size_ += size;
    return start;
  }
  std::string_view view() const { return {data_.get(), size_}; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  void Clear() { size_ = 0; }

  // Frees the memory of an empty buffer if it is more than `keep_bytes`.
  void Trim(size_t keep_bytes) {
    if (size_ != 0 || capacity_ <= keep_bytes) return;
    data_.reset();
    capacity_ = 0;
  }

 private:
  static constexpr size_t kCapacityMin = 4096;

  void Grow(size_t needed) {
    const size_t capacity =
        needed < kCapacityMin ? kCapacityMin : std::bit_ceil(needed);
    auto data = std::make_unique_for_overwrite<char[]>(capacity);
    if (size_ > 0) std::memcpy(data.get(), data_.get(), size_);
    data_ = std::move(data);
    capacity_ = capacity;
  }

  std::unique_ptr<char[]> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_APPEND_BUFFER_H_
