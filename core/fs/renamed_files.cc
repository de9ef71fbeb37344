#include "core/fs/renamed_files.h"

namespace cffs {
namespace {

constexpr std::size_t kMostYoung = 16'384;  // a name or two of 100 bytes each: 2 MB

}  // namespace

void RenamedFiles::follow(bool wanted) {
  wanted_.store(wanted, std::memory_order_relaxed);
  if (wanted) return;
  const MutexLock guard(mutex_);
  young_.clear();
  old_.clear();
  fresh_ = 0;
}

void RenamedFiles::note(InodeId ino, InodeId directory, std::string_view name) {
  if (!wanted_.load(std::memory_order_relaxed)) return;
  const MutexLock guard(mutex_);
  const auto [it, added] = young_.try_emplace(ino);
  if (added || !it->second.fresh) ++fresh_;
  it->second = {{directory, std::string(name)}, true};
  if (young_.size() < kMostYoung) return;
  old_ = std::exchange(young_, {});
  fresh_ = 0;  // so many at once: a regrouping finds them
}

std::optional<EntryName> RenamedFiles::place_of(InodeId ino) const {
  const MutexLock guard(mutex_);
  for (const Places* const places : {&young_, &old_}) {
    if (const auto it = places->find(ino); it != places->end()) return it->second.at;
  }
  return {};
}

std::vector<RenamedFiles::Renamed> RenamedFiles::take() {
  std::vector<Renamed> taken;
  const MutexLock guard(mutex_);
  if (fresh_ == 0) return taken;
  for (const auto& [ino, place] : young_) {
    if (place.fresh) taken.emplace_back(ino, place.at);
  }
  for (auto& [ino, place] : young_)
    place.fresh = false;  // where memory runs out before, nobody has taken any
  fresh_ = 0;
  return taken;
}

void RenamedFiles::put_back(const std::vector<InodeId>& renamed) {
  const MutexLock guard(mutex_);
  for (const InodeId ino : renamed) put_back(ino);
}

void RenamedFiles::put_back(const std::vector<Renamed>& renamed) {
  const MutexLock guard(mutex_);
  for (const auto& [ino, at] : renamed) put_back(ino);
}

void RenamedFiles::put_back(InodeId ino) {
  const auto it = young_.find(ino);
  if (it == young_.end() || it->second.fresh) return;  // forgotten, or renamed again
  it->second.fresh = true;
  ++fresh_;
}

bool RenamedFiles::nothing_new() const {
  const MutexLock guard(mutex_);
  return fresh_ == 0;
}

std::size_t RenamedFiles::waiting() const {
  const MutexLock guard(mutex_);
  return fresh_;
}

}  // namespace cffs
