// Who was told attributes last, so that a change of them knows whether somebody may be about to remember the old ones.
//
// The kernel remembers attributes for as long as it is told, which is for ever. After most changes it marks that they changed; not so
// where a name in a directory comes or goes, a file is renamed, gets or loses an extended attribute or an allocation that leaves its
// size, or pages of a mapping are written: there it forgets what it knows, but an answer from before the change, to somebody who
// stands still between being answered and remembering, is remembered after it, and times (a directory's nlink, too) stay wrong. A
// notification (FUSE_NOTIFY_INVAL_INODE) makes the kernel drop such an answer, and forget one that it has remembered already. It
// costs a system call, so it is sent only where somebody other than who makes the change was told in the last seconds: a program that
// is alone never meets it. Directories are told apart, for they change with every name; files are not, for such changes are rare.
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

// Thread safety: everything. Two directories may share a receipt, and all files do: then there is a notification too many.
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
  void told(InodeId directory, pid_t task, std::uint16_t at = now()) { note(slot_of(directory), task, at); }
  // Those of some file are, by its number or by its name.
  void told_of_file(pid_t task, std::uint16_t at = now()) { note(files_, task, at); }

  // Whether somebody other than `task`, who has changed the directory, may remember what was before.
  bool may_be_late(InodeId directory, pid_t task, std::uint16_t at = now()) const {
    return late(slot_of(directory), task, at);
  }
  // The same of any file.
  bool file_may_be_late(pid_t task, std::uint16_t at = now()) const { return late(files_, task, at); }

 private:
  struct Receipt {
    pid_t task = 0;              // who was told last: numbers have 22 bits
    std::uint16_t at = 0;        // when, seconds
    std::uint16_t other_at = 0;  // when somebody else was
    bool any = false;
  };
  using Slot = std::atomic<std::uint64_t>;
  static constexpr std::size_t kSlots = 4096;

  static void note(Slot& slot, pid_t task, std::uint16_t at) {
    std::uint64_t before = slot.load(std::memory_order_relaxed);
    for (;;) {
      Receipt receipt = unpack(before);
      if (!receipt.any) receipt.at = receipt.other_at = static_cast<std::uint16_t>(at - kLate - 1);
      // Of two who come all the time, both are known for this second: nothing to write, and no cache line to fight for.
      const bool another = receipt.task != task;
      if (receipt.any && receipt.at == at && (receipt.other_at == at || (!another && task != 0))) return;
      if (another) receipt.other_at = receipt.at;
      if (task == 0) receipt.other_at = at;
      receipt = {task, at, receipt.other_at, true};
      if (slot.compare_exchange_weak(before, pack(receipt), std::memory_order_relaxed)) return;
    }
  }
  static bool late(const Slot& slot, pid_t task, std::uint16_t at) {
    const Receipt receipt = unpack(slot.load(std::memory_order_relaxed));
    if (!receipt.any) return false;
    const std::uint16_t other_at = receipt.task == task ? receipt.other_at : receipt.at;
    return static_cast<std::uint16_t>(at - other_at) <= kLate;
  }

  static std::uint64_t pack(const Receipt& r) {
    return std::uint64_t{r.any} << 63 | std::uint64_t{static_cast<std::uint32_t>(r.task)} << 32 |
           std::uint64_t{r.at} << 16 | r.other_at;
  }
  static Receipt unpack(std::uint64_t bits) {
    return {static_cast<pid_t>(bits >> 32 & 0x7fffffff), static_cast<std::uint16_t>(bits >> 16),
            static_cast<std::uint16_t>(bits), bits >> 63 != 0};
  }
  Slot& slot_of(InodeId directory) { return slots_[directory.value % kSlots]; }
  const Slot& slot_of(InodeId directory) const { return slots_[directory.value % kSlots]; }

  std::array<Slot, kSlots> slots_{};
  Slot files_{};
};

}  // namespace cffs::fuse
