// File: group_item.h
//
// What a group remembers of a message that it has read and that is not
// acknowledged. Not the body: that is read again when it is handed out again.
//
//   held ----> picked -> leased -> acking -> (gone)
//              ^           |
//   returned --+           +-> waiting -> returned
//                          +-> dying -> (gone, into the dead letters)
//
// Threads: under the lock of its GroupQueue.
//
// Serves promise 7: memory for what is leased, not for the backlog.
#ifndef HOURGLASS_BROKER_GROUPS_GROUP_ITEM_H_
#define HOURGLASS_BROKER_GROUPS_GROUP_ITEM_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/container/btree_map.h"
#include "broker/groups/group_timers.h"
#include "hourglass/types.h"

namespace hourglass {

enum class ItemState : uint8_t {
  kHeld,      // FIFO: read, but its message group is busy
  kPicked,    // about to be handed out
  kLeased,    // a client has it
  kAcking,    // being acknowledged; nobody gets it
  kWaiting,   // before its next attempt
  kReturned,  // to be handed out before what is new
  kDying,     // on its way to the dead letters
};

struct GroupItem;

// FIFO: the messages of one message group that were read and are not done.
struct MessageGroup {
  std::string name;
  absl::btree_map<QueueIndex, GroupItem*> open;
  size_t out = 0;       // of them, neither held, waiting nor returned
  bool queued = false;  // waits to be served
};

struct GroupItem {
  QueueIndex index;
  ItemState state = ItemState::kPicked;
  bool auto_renew = false;
  uint32_t attempts = 0;  // handed out so often
  uint64_t lease = 0;     // number of the lease; 0: none
  int64_t lease_ms = 0;
  int64_t first_ns = 0;  // when this attempt began
  int64_t until_ns = 0;  // when the lease ends
  MessageGroup* message_group = nullptr;
  std::string client_id;   // if auto_renew
  std::string attempt_id;  // FIFO
  GroupTimer timer;

  // A client, or the server, has it in hand.
  bool IsOut() const {
    return state == ItemState::kPicked || state == ItemState::kLeased ||
           state == ItemState::kAcking || state == ItemState::kDying;
  }
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_GROUPS_GROUP_ITEM_H_
