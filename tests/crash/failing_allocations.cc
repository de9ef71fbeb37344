#include "tests/crash/failing_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> before_failure{0};  // 0: none fails
std::atomic<bool> goes_on{false}, failed{false};

void* allocate(std::size_t bytes) {
  if (before_failure.load(std::memory_order_relaxed) > 0) {
    const std::int64_t left = before_failure.fetch_sub(1);
    if (left == 1 && goes_on.load()) before_failure.store(1);
    if (left == 1) {
      failed.store(true);
      throw std::bad_alloc();
    }
  }
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace cffs::test {

void fail_allocation(std::int64_t n, bool goes_on_failing) {
  goes_on.store(goes_on_failing);
  failed.store(false);
  before_failure.store(n);
}

bool allocation_failed() { return failed.load(); }

}  // namespace cffs::test
