// Contents that somebody is about to write, so that two who come to the same at once do not both (docs/DEDUPLICATION.md).
//
// Whoever finds a content claimed sets the file aside until the claim ends, and then finds the content in the store, or nobody's. Who waits
// holds no claim, so that no two wait for each other. In memory alone: as many as files are being loaded at a time.
#pragma once

#include <set>
#include <vector>

#include "core/base/mutex.h"
#include "core/table/key.h"

namespace cffs {

class ContentClaims {
 public:
  // What one of those who write claims; ended with it.
  class Held {
   public:
    explicit Held(ContentClaims& claims) : claims_(claims) {}
    ~Held();
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

    enum class Answer { anothers, taken, had_already };
    Answer claim(Key content);
    // It need not be written after all.
    void give_up(Key content);

   private:
    ContentClaims& claims_;
    std::set<Key> keys_;
  };

  // Until none of these is claimed. The caller holds no claim.
  void wait_for(const std::vector<Key>& contents) CFFS_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  CondVar ended_;
  std::set<Key> claimed_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
