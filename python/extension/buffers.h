// Memory for batches. What Python gets are memoryviews of it; it is used again once the last of them is gone, so that a loop over
// millions of files does not have the kernel make and clear its pages again and again.
//
// Thread safety: everything.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/bytes.h"

namespace cffs::python {

class BufferPool;

class Buffer {
 public:
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Bytes bytes() const { return {memory_.get(), size_}; }

 private:
  friend class BufferPool;
  struct Free {
    void operator()(std::byte* memory) const;
  };
  using Memory = std::unique_ptr<std::byte[], Free>;
  Buffer(std::weak_ptr<BufferPool> pool, Memory memory, std::size_t room, std::size_t size)
      : pool_(std::move(pool)), memory_(std::move(memory)), room_(room), size_(size) {}
  const std::weak_ptr<BufferPool> pool_;
  Memory memory_;
  const std::size_t room_, size_;
};

class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  // Its contents are not set. std::bad_alloc.
  std::shared_ptr<Buffer> get(std::size_t bytes);

 private:
  friend class Buffer;
  static constexpr std::size_t kMostKept = 8;
  static constexpr std::size_t kMostKeptBytes = 256u << 20;
  struct Kept {
    Buffer::Memory memory;
    std::size_t room = 0;
  };
  void give_back(Buffer::Memory memory, std::size_t room);

  std::mutex mutex_;
  std::vector<Kept> kept_;
  std::size_t kept_bytes_ = 0;
};

}  // namespace cffs::python
