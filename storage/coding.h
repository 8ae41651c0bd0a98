// File: coding.h
//
// Little-endian integers and varints in and out of bytes. Every format of
// Hourglass is written and read with these; see docs/formats.md.
//
// Serves promise 5: bytes that are no such value are refused.
#ifndef HOURGLASS_STORAGE_CODING_H_
#define HOURGLASS_STORAGE_CODING_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace hourglass {

static_assert(std::endian::native == std::endian::little,
              "the formats are little-endian and copied as they are");

template <typename T>
inline void PutFixed(char* out, T value) {
  std::memcpy(out, &value, sizeof(T));
}
template <typename T>
inline T GetFixed(const char* in) {
  T value;
  std::memcpy(&value, in, sizeof(T));
  return value;
}
template <typename T>
inline void AppendFixed(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// LEB128, at most 5 bytes. Returns the byte after the last one written.
inline char* PutVarint32(char* out, uint32_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<char>(value);
  return out;
}
inline void AppendVarint32(std::string* out, uint32_t value) {
  char buffer[5];
  out->append(buffer, PutVarint32(buffer, value) - buffer);
}

// The same for 64 bits, at most 10 bytes.
inline void AppendVarint64(std::string* out, uint64_t value) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

// Takes values off the front of `in`. Each returns false, and leaves `in`
// anywhere, when the bytes do not hold such a value.
class Decoder {
 public:
  explicit Decoder(std::string_view in) : in_(in) {}

  template <typename T>
  bool Fixed(T* value) {
    if (in_.size() < sizeof(T)) return false;
    *value = GetFixed<T>(in_.data());
    in_.remove_prefix(sizeof(T));
    return true;
  }
  bool Varint32(uint32_t* value) { return Varint(value); }
  bool Varint64(uint64_t* value) { return Varint(value); }
  bool Bytes(size_t size, std::string_view* value) {
    if (in_.size() < size) return false;
    *value = in_.substr(0, size);
    in_.remove_prefix(size);
    return true;
  }
  // A varint length, then that many bytes.
  bool Prefixed(std::string_view* value) {
    uint32_t size = 0;
    return Varint32(&size) && Bytes(size, value);
  }
  std::string_view rest() const { return in_; }

 private:
  template <typename T>
  bool Varint(T* value) {
    constexpr int kBits = 8 * sizeof(T);
    T result = 0;
    for (int shift = 0; shift < kBits && !in_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(in_[0]);
      in_.remove_prefix(1);
      const int room = kBits - shift;
      if (room < 8 && byte >> room != 0) return false;
      result |= static_cast<T>(byte & 0x7f) << shift;
      if (byte < 0x80) {
        // One spelling of each value: what decodes encodes to the same bytes.
        if (byte == 0 && shift > 0) return false;
        *value = result;
        return true;
      }
    }
    return false;
  }

  std::string_view in_;
};

inline void AppendPrefixed(std::string* out, std::string_view value) {
  AppendVarint32(out, static_cast<uint32_t>(value.size()));
  out->append(value);
}

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_CODING_H_
