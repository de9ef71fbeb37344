// Composites that somebody is at work on, so that who would change them otherwise leaves them for later.
#pragma once

#include <set>
#include <utility>

#include "core/base/ids.h"
#include "core/base/mutex.h"

namespace cffs {

// Thread safety: everything; a leaf mutex. Of one kind of work only one is at a composite at a time.
class CompositesAtWork {
 public:
  // The work lasts as long as this does, which must go before what it was begun at.
  class Mark {
   public:
    ~Mark() {
      if (all_ != nullptr) all_->end(id_);
    }
    Mark(Mark&& other) noexcept : all_(std::exchange(other.all_, nullptr)), id_(other.id_) {}
    Mark& operator=(Mark&& other) noexcept {
      std::swap(all_, other.all_);
      std::swap(id_, other.id_);
      return *this;
    }
    CompositeId id() const { return id_; }

   private:
    friend class CompositesAtWork;
    Mark(CompositesAtWork& all, CompositeId id) : all_(&all), id_(id) {}

    CompositesAtWork* all_;
    CompositeId id_;
  };

  [[nodiscard]] Mark begin(CompositeId id) {
    const MutexLock guard(mutex_);
    ids_.insert(id);
    return Mark(*this, id);
  }
  bool has(CompositeId id) const {
    const MutexLock guard(mutex_);
    return ids_.contains(id);
  }

 private:
  void end(CompositeId id) {
    const MutexLock guard(mutex_);
    ids_.erase(id);
  }

  mutable Mutex mutex_;  // leaf
  std::set<CompositeId> ids_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
