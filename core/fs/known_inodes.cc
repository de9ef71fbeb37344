#include "core/fs/known_inodes.h"

#include <bit>
#include <new>
#include <utility>

#include "core/base/error.h"

namespace cffs {
namespace {

constexpr std::size_t kSmallest = 8;  // entries
constexpr unsigned kBits = 64;

}  // namespace

const KnownInode* KnownInodes::find(InodeId ino) const {
  if (size_ == 0) return nullptr;
  for (std::size_t at = home_of(ino.value);; at = (at + 1) & (capacity_ - 1)) {
    const KnownInode& there = slots_[at];
    if (there.state == KnownInode::State::none) return nullptr;
    if (there.number == ino.value) return &there;
  }
}

void KnownInodes::make_room() {
  if ((size_ + 1) * 4 <= capacity_ * 3) return;
  const std::size_t larger = capacity_ == 0 ? kSmallest : capacity_ * 2;
  rebuild(std::make_unique<KnownInode[]>(larger), larger);
}

void KnownInodes::rebuild(std::unique_ptr<KnownInode[]> slots, std::size_t capacity) {
  const auto before = std::exchange(slots_, std::move(slots));
  const std::size_t had = std::exchange(capacity_, capacity);
  shift_ = kBits - static_cast<unsigned>(std::countr_zero(capacity));
  for (std::size_t i = 0; i < had; ++i) {
    if (before[i].state == KnownInode::State::none) continue;
    std::size_t at = home_of(before[i].number);
    while (slots_[at].state != KnownInode::State::none) at = (at + 1) & (capacity_ - 1);
    slots_[at] = before[i];
  }
}

KnownInode& KnownInodes::insert(InodeId ino) {
  CFFS_INVARIANT((size_ + 1) * 4 <= capacity_ * 3);
  std::size_t at = home_of(ino.value);
  while (slots_[at].state != KnownInode::State::none) at = (at + 1) & (capacity_ - 1);
  slots_[at] = KnownInode();
  slots_[at].number = ino.value & (kInodeLimit - 1);
  slots_[at].state = KnownInode::State::awake;
  ++size_;
  return slots_[at];
}

// Whoever is behind the gap and would rather be in it, or before it, moves up.
void KnownInodes::erase(KnownInode& there) {
  const std::size_t mask = capacity_ - 1;
  std::size_t gap = static_cast<std::size_t>(&there - slots_.get());
  for (std::size_t at = (gap + 1) & mask; slots_[at].state != KnownInode::State::none; at = (at + 1) & mask) {
    const std::size_t home = home_of(slots_[at].number);
    if (((at - home) & mask) < ((at - gap) & mask)) continue;  // its home is behind the gap
    slots_[gap] = slots_[at];
    gap = at;
  }
  slots_[gap] = KnownInode();
  --size_;
  constexpr std::size_t kEmpty = 8;  // one in so many is used
  if (capacity_ <= kSmallest || size_ * kEmpty > capacity_) return;
  // A forget cannot fail: without memory the table stays as large as it is.
  const std::size_t smaller = capacity_ / 4 < kSmallest ? kSmallest : capacity_ / 4;
  if (auto* const slots = new (std::nothrow) KnownInode[smaller])
    rebuild(std::unique_ptr<KnownInode[]>(slots), smaller);
}

void KnownInodes::some_asleep(std::size_t& hand, std::size_t most, std::vector<InodeId>& into) const {
  for (std::size_t looked = 0; looked < capacity_ && most > 0; ++looked, ++hand) {
    if (hand >= capacity_) hand = 0;
    const KnownInode& there = slots_[hand];
    if (there.state == KnownInode::State::none || there.is_awake() || there.sleeping_children > 0) continue;
    into.push_back(there.ino());
    --most;
  }
}

}  // namespace cffs
