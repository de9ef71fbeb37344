// Room that a thread keeps from one use to the next: to have it from the system anew each time takes a fault for each page.
#pragma once

#include <cstddef>
#include <memory>

#include "core/base/bytes.h"

namespace cffs {

// For a thread_local object.
class ThreadRoom {
 public:
  // What is in it is arbitrary, and what was given before is worth nothing.
  Bytes of(std::size_t size) {
    if (capacity_ < size) {
      capacity_ = 0;
      memory_.reset();  // first, so that there are never two
      memory_ = std::make_unique_for_overwrite<std::byte[]>(size);
      capacity_ = size;
    }
    return {memory_.get(), size};
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t capacity_ = 0;
};

}  // namespace cffs
