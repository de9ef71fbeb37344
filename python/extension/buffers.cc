#include "python/extension/buffers.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "core/batch/batch_reader.h"

namespace cffs::python {
namespace {

constexpr std::size_t kPage = 4096, kHugePage = 2u << 20;

}  // namespace

void Buffer::Free::operator()(std::byte* memory) const { std::free(memory); }

Buffer::~Buffer() {
  if (const auto pool = pool_.lock()) pool->give_back(std::move(memory_), room_);
}

std::shared_ptr<Buffer> BufferPool::get(std::size_t bytes) {
  if (bytes >= BatchPlan::kMoreThanAny) throw std::bad_alloc();
  {
    const std::lock_guard guard(mutex_);
    // One that fits without wasting half of it.
    const auto fits = [&](const Kept& k) {
      return k.room >= bytes && k.room / 2 <= std::max(bytes, kHugePage);
    };
    if (const auto found = std::find_if(kept_.begin(), kept_.end(), fits); found != kept_.end()) {
      Kept kept = std::move(*found);
      kept_.erase(found);
      kept_bytes_ -= kept.room;
      return std::shared_ptr<Buffer>(new Buffer(weak_from_this(), std::move(kept.memory), kept.room, bytes));
    }
  }
  // In large pages, where the kernel has them: a tenth of the faults.
  const std::size_t unit = bytes >= kHugePage / 2 ? kHugePage : kPage;
  const std::size_t room = (std::max<std::size_t>(bytes, 1) + unit - 1) / unit * unit;
  Buffer::Memory memory(static_cast<std::byte*>(std::aligned_alloc(unit, room)));
  if (!memory) throw std::bad_alloc();
  if (unit == kHugePage) (void)::madvise(memory.get(), room, MADV_HUGEPAGE);
  return std::shared_ptr<Buffer>(new Buffer(weak_from_this(), std::move(memory), room, bytes));
}

void BufferPool::give_back(Buffer::Memory memory, std::size_t room) {
  // In the child of a fork() nobody may come to unlock it.
  const std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard) return;
  if (kept_.size() >= kMostKept || kept_bytes_ + room > kMostKeptBytes) return;  // freed
  kept_bytes_ += room;
  kept_.push_back({std::move(memory), room});
}

}  // namespace cffs::python
