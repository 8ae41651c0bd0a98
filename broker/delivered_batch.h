// File: delivered_batch.h
//
// Due messages with their bodies, on the way from the hand to the writer.
//
// Serves promise 2: what will be marked delivered together.
#ifndef HOURGLASS_BROKER_DELIVERED_BATCH_H_
#define HOURGLASS_BROKER_DELIVERED_BATCH_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wheel/delivery_marks.h"
#include "wheel/due_entry.h"

namespace hourglass {

struct DeliveredBatch {
  struct Item {
    DueEntry entry;
    std::string_view payload;  // points into `arena`
    uint64_t payload_hash = 0;
  };
  DeliveryMarks::Token token = 0;
  std::vector<Item> items;         // in delivery order
  std::vector<std::string> arena;  // raw bytes read from the DelayLogs
  size_t payload_bytes = 0;
  // The host's sink has the messages: write marks without payload.
  bool mark_only = false;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_DELIVERED_BATCH_H_
