// A store in a pool whose writer may end at any operation, as a CrashStore is one of objects: it shows each operation of the engine's
// on the pool before it happens, and fails on demand.
//
// What removes objects in the background does so when it gets to it: a state's number leads to the same workload and the same cut, and to
// what of that had been done by then.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/object/object_store.h"
#include "tests/pool/memory_pool.h"

namespace cffs::test {

class CrashPool {
 public:
  using Medium = PoolMedium;
  static constexpr bool kOutlivesTheProcess = false;
  CrashPool();  // formatted
  explicit CrashPool(Medium medium);
  ~CrashPool();
  CrashPool(const CrashPool&) = delete;
  CrashPool& operator=(const CrashPool&) = delete;

  ObjectStore& objects() { return *store_; }
  // As those of a CrashStore. objects() is another one after revive().
  void on_change(std::function<void(const std::string& what)> told);
  Medium medium();
  void kill();
  void revive();
  // The nth operation is refused; is done, and its answer is an error.
  void fail_sync(std::uint64_t n) { pool_->refuse_change(n); }
  void tear_write(std::uint64_t n) { pool_->misanswer_change(n); }

 private:
  void open();

  std::shared_ptr<MemoryPool> pool_;
  std::unique_ptr<ObjectStore> store_;
  std::optional<Medium> at_end_;  // of the process that was killed
  std::function<void(const std::string&)> told_;
};

}  // namespace cffs::test
