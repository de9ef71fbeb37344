// Where room, or descriptors, run short: what the engine gives up by itself before a call fails.
#include "core/fs/engine.h"

namespace cffs {

std::size_t Engine::drop_cached_objects() {
  return composites_.close_idle() + blobs_.close_idle() + table_->close_idle_values();
}

Result<SpaceInfo> Engine::statfs() { return space_.space(); }

// What was removed gives its room back with the commit only: who is short of room does not wait for the next.
bool Engine::give_back_removed(std::uint64_t cost) {
  constexpr std::uint64_t kGarbageMin = 8u << 20;  // less is not worth the time that the caller waits
  // Who asks for far more than there is gets it from nobody: backups and those who follow go on. Else he waits neither for these to have
  // moved on, nor for a backup to let go of what it holds.
  const bool may_help = cost == 0 || space_.is_possible(cost);
  const bool kept = may_help && publishing_.give_up();
  const bool held = (may_help && moments_.give_up()) || kept;
  const bool parted = nameless_.parting.await();
  const bool emptied = table_->empty_values(kGarbageMin) || !table_->dead_values().empty();
  const bool removed = (parted || emptied || !removals_.empty()) && commit().has_value();
  return table_->compact_garbage(kGarbageMin, [] { return true; }) || removed || held;
}

}  // namespace cffs
