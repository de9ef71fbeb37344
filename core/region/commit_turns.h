// Whose commit is under way: one of each object at a time. Whoever commits several waits until none of them is another's, and then
// has all of them at once, so no two wait for each other.
#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "core/base/mutex.h"

namespace cffs::region {

template <typename Body>
class CommitTurns {
 public:
  using Bodies = std::vector<std::shared_ptr<Body>>;

  // Holds the turn of some bodies, each named once.
  class Turn {
   public:
    Turn(CommitTurns& turns, const Bodies& bodies) : turns_(turns), bodies_(bodies) {
      const MutexLock guard(turns_.mutex_);
      while (turns_.is_any_busy(bodies)) turns_.free_.wait(turns_.mutex_);
      for (const auto& body : bodies) turns_.busy_.insert(body.get());
    }
    ~Turn() {
      {
        const MutexLock guard(turns_.mutex_);
        for (const auto& body : bodies_) turns_.busy_.erase(body.get());
      }
      turns_.free_.notify_all();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    CommitTurns& turns_;
    const Bodies& bodies_;
  };

 private:
  bool is_any_busy(const Bodies& bodies) const CFFS_REQUIRES(mutex_) {
    return std::any_of(bodies.begin(), bodies.end(),
                       [this](const auto& body) CFFS_REQUIRES(mutex_) { return busy_.contains(body.get()); });
  }

  Mutex mutex_;  // leaf
  CondVar free_;
  std::set<const Body*> busy_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs::region
