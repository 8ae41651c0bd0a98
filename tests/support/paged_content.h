// File: paged_content.h
//
// The bytes of one file on a simulated disk, twice: as readers see them, and
// as a power loss would leave them. Pages are shared between the two and
// between a disk and its clones until they are written, so Sync() and cloning
// cost a pointer per changed page and not a copy of the file.
//
//   PagedContent content;
//   content.Write(0, "abc");
//   content.Sync();
//   content.Write(3, "def");
//   SplitMix64 rng(1);
//   content.AfterCrash(&rng, 0);  // holds "abc"
//
// Threads: none; the owner locks.
#ifndef HOURGLASS_TESTS_SUPPORT_PAGED_CONTENT_H_
#define HOURGLASS_TESTS_SUPPORT_PAGED_CONTENT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace hourglass {

inline constexpr size_t kMemoryPageBytes = 4096;
inline constexpr size_t kMemorySectorBytes = 512;

// A random sequence that is the same on every machine and library.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}

  uint64_t Next();
  uint64_t Uniform(uint64_t n) { return Next() % n; }
  bool Percent(int percent) { return static_cast<int>(Uniform(100)) < percent; }

 private:
  uint64_t state_;
};

// What a power loss does to what was not synced. Every page, size and sector
// draws for itself.
struct PowerLoss {
  int keep_percent = 50;
  int torn_percent = 10;     // of the changed pages: sector by sector
  int garbage_percent = 30;  // of the lost sectors of a torn page
  // False: a sector that was being written may be trashed as a whole, with
  // bytes in it that were synced long ago.
  bool powersafe_overwrite = true;
};

struct PowerLossCounts {
  uint64_t pages_lost = 0;
  uint64_t pages_kept = 0;
  uint64_t pages_torn = 0;
  uint64_t sectors_garbage = 0;   // in bytes that were being written
  uint64_t sectors_trashed = 0;   // in bytes beside them
  uint64_t sizes_lost = 0;        // grown or cut, and undone
  uint64_t pages_grown_zero = 0;  // size kept, content not
};

class PagedContent {
 public:
  uint64_t size() const { return size_; }
  // What the disk has set aside for this file.
  uint64_t reserved_bytes() const { return reserved_pages_ * kMemoryPageBytes; }

  size_t Read(uint64_t offset, size_t size, char* out) const;
  void Write(uint64_t offset, std::string_view data);
  void Reserve(uint64_t offset, uint64_t size);
  void Resize(uint64_t size);

  // How many bytes of [offset, offset + size), from its start, can be written
  // when the disk has `free_bytes` left.
  uint64_t Fitting(uint64_t offset, uint64_t size, uint64_t free_bytes) const;

  void Sync();
  // What the kernel does when a sync fails: the changed pages count as clean
  // from now on though they never reached the disk.
  void ForgetDirty();

  // ... or the cache drops them, and reads show what the disk has.
  void Revert();
  // The kernel writes one changed page back on its own account; `choice`
  // picks it. False if there is none.
  bool WriteBack(uint64_t choice);
  bool dirty() const { return !dirty_pages_.empty() || size_ != durable_size_; }

  // Damage at rest, past all caches: overwrites bytes of the cached and the
  // durable version, as far as each reaches, and marks nothing as changed.
  void Damage(uint64_t offset, std::string_view bytes);

  // As AfterCrash, but with all that `how` says.
  PagedContent AfterPowerLoss(const PowerLoss& how, SplitMix64* rng,
                              PowerLossCounts* counts) const;

  // What is there after a power loss. Of what was not synced each page is
  // kept, torn at a sector boundary, or lost; 0 loses all, 100 keeps all.
  PagedContent AfterCrash(SplitMix64* rng, int keep_percent) const;

 private:
  using Page = std::array<char, kMemoryPageBytes>;
  using PagePtr = std::shared_ptr<Page>;  // null reads as zeros
  struct Slot {
    PagePtr cached;
    PagePtr durable;
    bool dirty = false;
    bool reserved = false;
  };

  static size_t PageCount(uint64_t size) {
    return (size + kMemoryPageBytes - 1) / kMemoryPageBytes;
  }
  static PagePtr CrashedPage(const Slot& slot, SplitMix64* rng,
                             int keep_percent);
  template <typename PageAfter>
  PagedContent Crashed(uint64_t size, PageAfter page_after) const;
  static PagePtr TornPage(const Slot& slot, const PowerLoss& how,
                          SplitMix64* rng, PowerLossCounts* counts);
  void GrowTo(uint64_t size);
  void MarkDirty(size_t page);
  void ReservePage(Slot* slot);
  Page* WritablePage(size_t page);
  void ZeroTail(uint64_t from);
  void DropPages(size_t from);
  uint64_t CrashedSize(SplitMix64* rng, int keep_percent) const;

  // Bytes of the last cached page behind `size_` are zeros, always.
  std::vector<Slot> slots_;
  std::vector<size_t> dirty_pages_;
  uint64_t size_ = 0;
  uint64_t durable_size_ = 0;
  uint64_t reserved_pages_ = 0;
};

}  // namespace hourglass

#endif  // HOURGLASS_TESTS_SUPPORT_PAGED_CONTENT_H_
