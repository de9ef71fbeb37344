// Who was told a directory's attributes last, so that a change of it knows whether somebody may be about to remember the old ones.
//
// The kernel remembers attributes for as long as it is told, which is for ever. It forgets a directory's when a name in it comes or goes,
// but does not mark that they changed: an answer from before the change, to somebody who stands still between being answered and
// remembering, is remembered after it, and nlink and times stay wrong. A notification (FUSE_NOTIFY_INVAL_INODE, sent before the change
// is answered) makes the kernel drop such an answer too. It costs a system call, so it is sent only where somebody other than
// who makes the change was told in the last seconds: a program that is alone never meets it.
//
// Told comes first, then the attributes are read under the node's lock; a change takes that lock, then asks. So it finds who read
// before it.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "core/base/ids.h"

namespace cffs::fuse {

// Thread safety: everything. Two directories may share a slot: then there is a notification too many.
class AttributeReceipts {
 public:
  // Seconds that nobody takes from being answered to remembering.
  static constexpr std::uint16_t kLate = 3;

  static std::uint16_t now() {
    timespec t{};
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return static_cast<std::uint16_t>(t.tv_sec);
  }

  // The directory's attributes are about to be read for `task`; 0: one whose number is not known here.
  void told(InodeId directory, pid_t task, std::uint16_t at = now()) {
    std::atomic<std::uint64_t>& slot = slot_of(directory);
    Receipt receipt = unpack(slot.load(std::memory_order_relaxed));
    if (receipt.task != task) receipt.other_at = receipt.at;
    if (!receipt.any) receipt.other_at = static_cast<std::uint16_t>(at - kLate - 1);
    if (task == 0) receipt.other_at = at;
    receipt.task = task;
    receipt.at = at;
    receipt.any = true;
    slot.store(pack(receipt), std::memory_order_relaxed);
  }

  // Whether somebody other than `task`, who has changed the directory, may remember what was before.
  bool may_be_late(InodeId directory, pid_t task, std::uint16_t at = now()) const {
    const Receipt receipt = unpack(slot_of(directory).load(std::memory_order_relaxed));
    if (!receipt.any) return false;
    const std::uint16_t other_at = receipt.task == task ? receipt.other_at : receipt.at;
    return static_cast<std::uint16_t>(at - other_at) <= kLate;
  }

 private:
  struct Receipt {
    pid_t task = 0;              // who was told last: numbers have 22 bits
    std::uint16_t at = 0;        // when, seconds
    std::uint16_t other_at = 0;  // when somebody else was
    bool any = false;
  };
  static constexpr std::size_t kSlots = 4096;

  static std::uint64_t pack(const Receipt& r) {
    return std::uint64_t{r.any} << 63 | std::uint64_t{static_cast<std::uint32_t>(r.task)} << 32 |
           std::uint64_t{r.at} << 16 | r.other_at;
  }
  static Receipt unpack(std::uint64_t bits) {
    return {static_cast<pid_t>(bits >> 32 & 0x7fffffff), static_cast<std::uint16_t>(bits >> 16),
            static_cast<std::uint16_t>(bits), bits >> 63 != 0};
  }
  std::atomic<std::uint64_t>& slot_of(InodeId ino) { return slots_[ino.value % kSlots]; }
  const std::atomic<std::uint64_t>& slot_of(InodeId ino) const { return slots_[ino.value % kSlots]; }

  std::array<std::atomic<std::uint64_t>, kSlots> slots_{};
};

}  // namespace cffs::fuse
