// What a request and what bytes cost on the medium: measured once, by small and large reads past the memory in one composite, on a
// thread of its own.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "core/base/mutex.h"
#include "core/composite/read_ahead.h"
#include "core/object/object_store.h"

namespace cffs {

class MediumMeasure {
 public:
  using Open = std::function<Result<std::shared_ptr<Object>>(CompositeId)>;
  MediumMeasure(Open open, ReadAhead& read_ahead) : open_(std::move(open)), read_ahead_(read_ahead) {}
  ~MediumMeasure() { stop(); }

  // Measures in that composite, of kMeasurable bytes at least, and tells the read-ahead. Returns at once; where no thread can be
  // had, or the composite cannot be read, nothing is told. Only the first call does anything.
  void begin(CompositeId composite);
  // For good; returns when nothing is read any more.
  void stop();

 private:
  void measure(CompositeId composite);
  // Nanoseconds that it took to read so many bytes; nullopt: they could not be read.
  static std::optional<std::uint64_t> time_of(const Object& object, std::uint64_t offset, Bytes out);

  const Open open_;
  ReadAhead& read_ahead_;
  std::atomic<bool> stopped_{false};

  Mutex mutex_;  // leaf
  bool begun_ CFFS_GUARDED_BY(mutex_) = false;
  std::thread thread_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
