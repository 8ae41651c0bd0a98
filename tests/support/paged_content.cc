#include "tests/support/paged_content.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace hourglass {

uint64_t SplitMix64::Next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

size_t PagedContent::Read(uint64_t offset, size_t size, char* out) const {
  if (offset >= size_) return 0;
  size = std::min<uint64_t>(size, size_ - offset);
  for (size_t done = 0; done < size;) {
    const size_t in_page = (offset + done) % kMemoryPageBytes;
    const size_t n = std::min(size - done, kMemoryPageBytes - in_page);
    const Page* page = slots_[(offset + done) / kMemoryPageBytes].cached.get();
    if (page == nullptr) {
      std::memset(out + done, 0, n);
    } else {
      std::memcpy(out + done, page->data() + in_page, n);
    }
    done += n;
  }
  return size;
}

void PagedContent::Write(uint64_t offset, std::string_view data) {
  if (data.empty()) return;
  GrowTo(offset + data.size());
  while (!data.empty()) {
    const size_t in_page = offset % kMemoryPageBytes;
    const size_t n = std::min(data.size(), kMemoryPageBytes - in_page);
    Page* page = WritablePage(offset / kMemoryPageBytes);
    std::memcpy(page->data() + in_page, data.data(), n);
    offset += n;
    data.remove_prefix(n);
  }
}

void PagedContent::Reserve(uint64_t offset, uint64_t size) {
  if (size == 0) return;
  GrowTo(offset + size);
  const size_t end = PageCount(offset + size);
  for (size_t i = offset / kMemoryPageBytes; i < end; ++i) {
    ReservePage(&slots_[i]);
  }
}

void PagedContent::Resize(uint64_t size) {
  if (size >= size_) {
    GrowTo(size);
    return;
  }
  DropPages(PageCount(size));
  size_ = size;
  ZeroTail(size);
}

uint64_t PagedContent::Fitting(uint64_t offset, uint64_t size,
                               uint64_t free_bytes) const {
  uint64_t free_pages = free_bytes / kMemoryPageBytes;
  const size_t end = PageCount(offset + size);
  for (size_t i = offset / kMemoryPageBytes; i < end; ++i) {
    if (i < slots_.size() && slots_[i].reserved) continue;
    if (free_pages == 0) {
      return std::max<uint64_t>(i * kMemoryPageBytes, offset) - offset;
    }
    --free_pages;
  }
  return size;
}

void PagedContent::Sync() {
  for (const size_t page : dirty_pages_) {
    slots_[page].durable = slots_[page].cached;
    slots_[page].dirty = false;
  }
  dirty_pages_.clear();
  durable_size_ = size_;
  slots_.resize(PageCount(size_));
}

void PagedContent::ForgetDirty() {
  for (const size_t page : dirty_pages_) slots_[page].dirty = false;
  dirty_pages_.clear();
}

void PagedContent::Revert() {
  for (const size_t page : dirty_pages_) {
    Slot& slot = slots_[page];
    slot.cached = slot.durable;
    slot.dirty = false;
    if (slot.cached != nullptr) ReservePage(&slot);
  }
  dirty_pages_.clear();
  size_ = durable_size_;
  if (slots_.size() < PageCount(size_)) slots_.resize(PageCount(size_));
  // A page that a Truncate had cut off may have come back; one beyond the end
  // may not.
  for (size_t i = PageCount(size_); i < slots_.size(); ++i) {
    if (slots_[i].reserved) --reserved_pages_;
  }
  slots_.resize(PageCount(size_));
}

bool PagedContent::WriteBack(uint64_t choice) {
  if (dirty_pages_.empty()) return false;
  const size_t at = choice % dirty_pages_.size();
  Slot& slot = slots_[dirty_pages_[at]];
  slot.durable = slot.cached;
  slot.dirty = false;
  dirty_pages_.erase(dirty_pages_.begin() + static_cast<ptrdiff_t>(at));
  return true;
}

void PagedContent::Damage(uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t in_page = offset % kMemoryPageBytes;
    const size_t n = std::min(bytes.size(), kMemoryPageBytes - in_page);
    if (offset / kMemoryPageBytes >= slots_.size()) return;
    Slot& slot = slots_[offset / kMemoryPageBytes];
    const bool same = slot.cached == slot.durable;
    for (PagePtr* page : {&slot.cached, &slot.durable}) {
      if (page == &slot.durable && same) {
        slot.durable = slot.cached;
        break;
      }
      *page = *page == nullptr ? std::make_shared<Page>()
                               : std::make_shared<Page>(**page);
      std::memcpy((*page)->data() + in_page, bytes.data(), n);
    }
    offset += n;
    bytes.remove_prefix(n);
  }
}

template <typename PageAfter>
PagedContent PagedContent::Crashed(uint64_t size, PageAfter page_after) const {
  PagedContent crashed;
  const size_t pages = PageCount(size);
  crashed.slots_.resize(pages);
  for (size_t i = 0; i < std::min(pages, slots_.size()); ++i) {
    Slot& slot = crashed.slots_[i];
    slot.cached = page_after(slots_[i]);
    // A page cut off by a Truncate that the crash undid.
    if (i >= PageCount(size_)) slot.cached = slots_[i].durable;
    if (slot.cached != nullptr || slots_[i].reserved) {
      crashed.ReservePage(&slot);
    }
  }
  crashed.size_ = size;
  crashed.ZeroTail(size);
  crashed.Sync();
  for (Slot& slot : crashed.slots_) slot.durable = slot.cached;
  return crashed;
}

PagedContent PagedContent::AfterCrash(SplitMix64* rng, int keep_percent) const {
  return Crashed(CrashedSize(rng, keep_percent), [&](const Slot& slot) {
    return CrashedPage(slot, rng, keep_percent);
  });
}

PagedContent PagedContent::AfterPowerLoss(const PowerLoss& how, SplitMix64* rng,
                                          PowerLossCounts* counts) const {
  const uint64_t size = CrashedSize(rng, how.keep_percent);
  if (size != size_) ++counts->sizes_lost;
  return Crashed(size, [&](const Slot& slot) -> PagePtr {
    if (!slot.dirty) return slot.durable;
    if (rng->Percent(how.torn_percent)) {
      ++counts->pages_torn;
      return TornPage(slot, how, rng, counts);
    }
    if (rng->Percent(how.keep_percent)) {
      ++counts->pages_kept;
      return slot.cached;
    }
    ++counts->pages_lost;
    if (slot.durable == nullptr && size > durable_size_) {
      ++counts->pages_grown_zero;
    }
    return slot.durable;
  });
}

// A disk writes whole sectors, in any order. One that was hit in the middle
// holds anything in the bytes that were being written; where overwriting is
// not powersafe, also in those beside them. Bytes that are written again with
// what they hold already do not change: a sector is old or new.
PagedContent::PagePtr PagedContent::TornPage(const Slot& slot,
                                             const PowerLoss& how,
                                             SplitMix64* rng,
                                             PowerLossCounts* counts) {
  static const Page kZeros{};
  const char* const before =
      slot.durable == nullptr ? kZeros.data() : slot.durable->data();
  const char* const after =
      slot.cached == nullptr ? kZeros.data() : slot.cached->data();
  auto torn = std::make_shared<Page>();
  for (size_t at = 0; at < kMemoryPageBytes; at += kMemorySectorBytes) {
    char* const out = torn->data() + at;
    const bool kept = rng->Percent(how.keep_percent);
    std::memcpy(out, (kept ? after : before) + at, kMemorySectorBytes);
    size_t first = 0;
    size_t end = kMemorySectorBytes;
    while (first < end && before[at + first] == after[at + first]) ++first;
    if (first == end) continue;  // not written, or nothing new
    while (before[at + end - 1] == after[at + end - 1]) --end;
    if (kept || !rng->Percent(how.garbage_percent)) continue;
    if (how.powersafe_overwrite) {
      ++counts->sectors_garbage;
    } else {
      ++counts->sectors_trashed;
      first = 0;
      end = kMemorySectorBytes;
    }
    for (; first < end; ++first) out[first] = static_cast<char>(rng->Next());
  }
  return torn;
}

PagedContent::PagePtr PagedContent::CrashedPage(const Slot& slot,
                                                SplitMix64* rng,
                                                int keep_percent) {
  if (!slot.dirty) return slot.durable;
  const bool kept = rng->Percent(keep_percent);
  if (keep_percent <= 0 || keep_percent >= 100 || rng->Uniform(8) != 0) {
    return kept ? slot.cached : slot.durable;
  }
  // Torn: a disk writes sectors whole, but not pages.
  auto torn = std::make_shared<Page>();
  for (size_t at = 0; at < kMemoryPageBytes; at += kMemorySectorBytes) {
    const PagePtr& from =
        rng->Percent(keep_percent) ? slot.cached : slot.durable;
    if (from == nullptr) continue;
    std::memcpy(torn->data() + at, from->data() + at, kMemorySectorBytes);
  }
  return torn;
}

uint64_t PagedContent::CrashedSize(SplitMix64* rng, int keep_percent) const {
  if (size_ == durable_size_) return size_;
  if (rng->Percent(keep_percent)) return size_;
  if (size_ > durable_size_ && rng->Percent(keep_percent)) {
    return durable_size_ + rng->Uniform(size_ - durable_size_);
  }
  return durable_size_;
}

void PagedContent::GrowTo(uint64_t size) {
  if (size <= size_) return;
  size_ = size;
  const size_t pages = PageCount(size);
  if (slots_.size() < pages) slots_.resize(pages);
}

void PagedContent::MarkDirty(size_t page) {
  if (slots_[page].dirty) return;
  slots_[page].dirty = true;
  dirty_pages_.push_back(page);
}

void PagedContent::ReservePage(Slot* slot) {
  if (slot->reserved) return;
  slot->reserved = true;
  ++reserved_pages_;
}

PagedContent::Page* PagedContent::WritablePage(size_t page) {
  MarkDirty(page);
  Slot& slot = slots_[page];
  ReservePage(&slot);
  if (slot.cached == nullptr) {
    slot.cached = std::make_shared<Page>();
  } else if (slot.cached.use_count() > 1) {
    slot.cached = std::make_shared<Page>(*slot.cached);
  }
  return slot.cached.get();
}

// Keeps the invariant that nothing is left behind the end of the file.
void PagedContent::ZeroTail(uint64_t from) {
  const size_t in_page = from % kMemoryPageBytes;
  const size_t page = from / kMemoryPageBytes;
  if (in_page == 0 || slots_[page].cached == nullptr) return;
  std::memset(WritablePage(page)->data() + in_page, 0,
              kMemoryPageBytes - in_page);
}

void PagedContent::DropPages(size_t from) {
  for (size_t i = from; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (slot.reserved) --reserved_pages_;
    slot.reserved = false;
    if (slot.cached == nullptr && slot.durable == nullptr) continue;
    slot.cached = nullptr;
    MarkDirty(i);
  }
}

}  // namespace hourglass
