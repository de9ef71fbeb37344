// Records of composites whose bytes somebody reads though no row names them any more: of files without a name that are in use. Nobody may
// take those bytes from the medium (core/reorganise/punching.h), and the composite keeps its name (removals.h): not each of them has a handle. A record may have been another file's: the number of its own tells nothing.
//
// Any thread. Pins must not outlive what they came from.
#pragma once

#include <map>
#include <utility>

#include "core/base/mutex.h"
#include "core/table/inode.h"

namespace cffs {

class RecordPins {
 public:
  class Pin {
   public:
    Pin() = default;
    Pin(RecordPins& of, const Extent& extent) : of_(&of), record_{extent.composite, extent.slot} {
      of.add(record_);
    }
    ~Pin() { reset(); }
    Pin(Pin&& other) noexcept : of_(std::exchange(other.of_, nullptr)), record_(other.record_) {}
    Pin& operator=(Pin&& other) noexcept {
      std::swap(of_, other.of_);
      std::swap(record_, other.record_);
      return *this;
    }
    void reset() {
      if (of_ != nullptr) of_->remove(record_);
      of_ = nullptr;
    }

   private:
    RecordPins* of_ = nullptr;
    std::pair<CompositeId, std::uint32_t> record_;
  };

  bool holds(CompositeId composite, std::uint32_t slot) const {
    const MutexLock guard(mutex_);
    return pins_.contains({composite, slot});
  }

  bool holds_any(CompositeId composite) const {
    const MutexLock guard(mutex_);
    const auto it = pins_.lower_bound({composite, 0});
    return it != pins_.end() && it->first.first == composite;
  }

 private:
  using Record = std::pair<CompositeId, std::uint32_t>;
  void add(const Record& record) {
    const MutexLock guard(mutex_);
    ++pins_[record];
  }
  void remove(const Record& record) {
    const MutexLock guard(mutex_);
    const auto it = pins_.find(record);
    if (it != pins_.end() && --it->second == 0) pins_.erase(it);
  }

  mutable Mutex mutex_;  // leaf
  std::map<Record, std::uint64_t> pins_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
