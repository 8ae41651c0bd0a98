// File: checksum.h
//
// The one checksum of Hourglass: XXH3-64, in two steps.
//
//   uint64_t content = HashBytes(payload);        // by whoever has the bytes
//   uint64_t seal = SealAtPlace({store, place...}, content);
//
// The content is hashed once, by the thread that made it; the seal adds where
// the record stands (log offset, or hour and number) for a few nanoseconds
// more, and is what is stored. A record that is intact but stands in the
// wrong place (a misdirected or duplicated block) thus fails its check.
//
// Keeps promise 5: a seal covers content and place.
#ifndef HOURGLASS_STORAGE_CHECKSUM_H_
#define HOURGLASS_STORAGE_CHECKSUM_H_

#include <cstdint>
#include <string_view>

namespace hourglass {

uint64_t HashBytes(std::string_view bytes);

// Mixes up to four facts (place, header fields) into a content hash.
// `salt` is the store's: HashBytes(StoreId::view()).
uint64_t Seal(uint64_t salt, uint64_t place, uint64_t fields,
              uint64_t content_hash);

// Low bits of the hash of a message id: kept in index records and handles.
uint32_t IdHash(std::string_view id);

}  // namespace hourglass

#endif  // HOURGLASS_STORAGE_CHECKSUM_H_
