// Reads the composite that a reader will come to next, on a thread of its own: at leisure, and beside what is asked for.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "core/base/mutex.h"
#include "core/composite/read_ahead.h"
#include "core/object/object_store.h"

namespace cffs {

class NextComposite {
 public:
  using Open = std::function<Result<std::shared_ptr<Object>>(CompositeId)>;
  NextComposite(ObjectStore& store, Open open, ReadAhead& read_ahead)
      : store_(store), open_(std::move(open)), read_ahead_(read_ahead) {}
  ~NextComposite() { stop(); }

  struct Wanted {
    CompositeId current;
    int direction = 1;  // to higher numbers; -1: to lower ones
    unsigned count = 1;
    ReaderId reader = 0;
  };
  // Of so many composites with the next numbers in that direction all is read, of which it was not. Returns at once; where much is
  // waiting, or no thread can be had, nothing happens.
  void want(const Wanted& wanted);
  // For good; returns when nothing is read any more.
  void stop();

 private:
  static constexpr std::size_t kMostWaiting = 8;
  void work();
  void read(const Wanted& wanted);
  bool read_one(CompositeId composite, ReaderId reader);
  std::optional<CompositeId> neighbour(CompositeId of, int direction);
  const std::vector<std::uint64_t>& numbers_in(std::uint64_t folder, std::uint64_t current);

  ObjectStore& store_;
  const Open open_;
  ReadAhead& read_ahead_;

  Mutex mutex_;  // leaf
  CondVar wake_;
  std::array<Wanted, kMostWaiting> queue_ CFFS_GUARDED_BY(mutex_);  // a ring
  std::size_t first_ CFFS_GUARDED_BY(mutex_) = 0, waiting_ CFFS_GUARDED_BY(mutex_) = 0;
  bool over_ CFFS_GUARDED_BY(mutex_) = false;
  std::thread thread_ CFFS_GUARDED_BY(mutex_);  // made with the first that is wanted

  // Of the thread alone: what is in the folder that was looked at last.
  std::optional<std::uint64_t> folder_;
  std::vector<std::uint64_t> numbers_;
};

}  // namespace cffs
