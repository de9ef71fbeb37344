#include "fusefs/kernel_cache.h"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "core/base/thread.h"
#include "core/base/within_memory.h"
#include "fusefs/wire.h"

namespace cffs {
namespace {

// As in linux/fuse.h of Linux 6.18, which headers here may not have yet.
constexpr std::int32_t kNotifyPrune = 9;
struct PruneOut {
  std::uint32_t count = 0, padding = 0;
  std::uint64_t spare = 0;
};

constexpr std::size_t kAtOnce = 512;    // inodes in a notification
constexpr int kOften = 1, kSeldom = 5;  // seconds
constexpr int kNever = 0;

}  // namespace

KernelCache::~KernelCache() {
  {
    const MutexLock guard(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status KernelCache::begin() {
  if (most_ == 0) return {};
  CFFS_TRY(thread_, make_thread("the thread that bounds the kernel's cache", [this] { run(); }));
  return {};
}

void KernelCache::run() {
  MutexLock guard(mutex_);
  for (int pause = kSeldom; pause != kNever && !stopping_;) {
    const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(pause);
    while (!stopping_ && wake_.wait_until(mutex_, due)) {
    }
    if (stopping_) return;
    guard.unlock();
    pause = within_memory([this] { return Result<int>(look()); }).value_or(kOften);
    guard.lock();
  }
}

int KernelCache::look() {
  std::size_t known = fs_.known_inodes();
  if (known < most_ / 2) return kSeldom;
  if (known <= most_) return kOften;
  // An eighth more than there must: not a few with every look. Each that sleeps is asked for once; those in use stay.
  const std::size_t enough = most_ - most_ / 8;
  for (std::size_t asked = 0; asked < known && fs_.known_inodes() > enough;) {
    {
      const MutexLock guard(mutex_);
      if (stopping_) return kOften;
    }
    const std::vector<InodeId> sleepers = fs_.some_asleep(kAtOnce);
    if (sleepers.empty()) break;
    if (!ask_to_forget(sleepers)) return kNever;
    asked += sleepers.size();
  }
  return kOften;
}

bool KernelCache::ask_to_forget(const std::vector<InodeId>& inodes) const {
  PruneOut prune;
  prune.count = static_cast<std::uint32_t>(inodes.size());
  std::vector<std::uint64_t> nodes(inodes.size());
  std::transform(inodes.begin(), inodes.end(), nodes.begin(), [](InodeId ino) { return ino.value; });
  const ConstBytes pieces[] = {
      {reinterpret_cast<const std::byte*>(&prune), sizeof prune},
      {reinterpret_cast<const std::byte*>(nodes.data()), nodes.size() * sizeof nodes[0]}};
  return notify_raw(session_, kNotifyPrune, pieces) || errno != EINVAL;
}

}  // namespace cffs
