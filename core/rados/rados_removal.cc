// Objects of a store in a Ceph pool that no name names any more: their pieces go once that is durable.
#include "core/rados/rados_store.h"

namespace cffs {

using rados::Body;

void RadosStore::nameless(ObjectId id) {
  const auto at = known_.find(id);
  if (at != known_.end() && at->second.handles > 0) {
    at->second.is_removed = true;  // until the last handle goes
    return;
  }
  Gone gone{id, nullptr};
  if (at != known_.end()) {
    gone.body = at->second.body;
    known_.erase(at);
    --idle_;
  }
  gone_.push_back(std::move(gone));
  reaper_wake_.notify_all();
}

void RadosStore::reap() {
  for (;;) {
    Gone gone;
    {
      const MutexLock guard(mutex_);
      reaping_ = false;
      reaper_wake_.notify_all();
      while (gone_.empty() && !reaper_ends_) reaper_wake_.wait(mutex_);
      // What is left has its notes, for whoever opens the store next.
      if (gone_.empty() || pool_->is_shut_out() || leaves_the_rest_.load()) {
        gone_.clear();
        if (reaper_ends_) return;
        continue;
      }
      gone = std::move(gone_.front());
      gone_.pop_front();
      reaping_ = true;
    }
    // Pieces go when nobody can find their object after a crash any more; else the note stays, for whoever opens the store next.
    if (!names_.wait()) continue;
    if (gone.body == nullptr) {
      auto body = Body::load_to_remove(shared_, gone.id);
      if (!body) continue;
      gone.body = std::move(*body);
    }
    if (gone.body->remove_pieces(leaves_the_rest_)) names_.forget(gone.id);
  }
}

void RadosStore::end_reaping() {
  {
    const MutexLock guard(mutex_);
    reaper_ends_ = true;
    reaper_wake_.notify_all();
  }
  if (reaper_.joinable()) reaper_.join();
}

}  // namespace cffs
