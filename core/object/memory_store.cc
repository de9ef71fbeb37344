#include "core/object/memory_store.h"

#include <algorithm>

namespace cffs {
namespace {

class MemoryObject final : public Object {
 public:
  Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override {
    const ReadLock guard(mutex_);
    if (offset >= bytes_.size()) return std::size_t{0};
    const std::size_t n = std::min<std::size_t>(out.size(), bytes_.size() - offset);
    std::copy_n(as_bytes(bytes_).begin() + static_cast<std::ptrdiff_t>(offset), n, out.begin());
    return n;
  }
  Status write_at(std::uint64_t offset, ConstBytes data) override {
    const WriteLock guard(mutex_);
    if (bytes_.size() < offset + data.size()) bytes_.resize(offset + data.size());
    std::copy(data.begin(), data.end(),
              as_writable_bytes(bytes_).begin() + static_cast<std::ptrdiff_t>(offset));
    return {};
  }
  Result<std::uint64_t> append(ConstBytes data) override {
    const WriteLock guard(mutex_);
    const std::uint64_t at = bytes_.size();
    bytes_.append(reinterpret_cast<const char*>(data.data()), data.size());
    return at;
  }
  Status truncate(std::uint64_t size) override {
    const WriteLock guard(mutex_);
    bytes_.resize(size);
    return {};
  }
  Status punch_hole(std::uint64_t offset, std::uint64_t length) override {
    const WriteLock guard(mutex_);
    const std::uint64_t end = std::min<std::uint64_t>(bytes_.size(), offset + length);
    if (offset < end) std::fill_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), end - offset, '\0');
    return {};
  }
  Status allocate(std::uint64_t, std::uint64_t) override { return {}; }
  Result<ObjectInfo> info() const override {
    const ReadLock guard(mutex_);
    return ObjectInfo{bytes_.size(), bytes_.size()};
  }
  Result<std::uint64_t> next_data(std::uint64_t offset) const override {
    const ReadLock guard(mutex_);
    return std::min<std::uint64_t>(offset, bytes_.size());
  }
  Result<std::uint64_t> next_hole(std::uint64_t) const override {
    const ReadLock guard(mutex_);
    return bytes_.size();
  }
  Status sync() override { return {}; }
  void prefetch(std::uint64_t, std::uint64_t) const override {}

 private:
  mutable SharedMutex mutex_;
  std::string bytes_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace

// Who uses the store; outlives it where a lock does.
struct MemoryHolders {
  Mutex mutex;
  std::string owner CFFS_GUARDED_BY(mutex);  // empty: nobody who writes
  int readers CFFS_GUARDED_BY(mutex) = 0;
  int followers CFFS_GUARDED_BY(mutex) = 0;
};

namespace {

class MemoryLock final : public StoreLock {
 public:
  MemoryLock(std::shared_ptr<MemoryHolders> holders, bool reads)
      : holders_(std::move(holders)), reads_(reads) {}
  ~MemoryLock() override {
    const MutexLock guard(holders_->mutex);
    if (reads_) {
      --holders_->readers;
    } else {
      holders_->owner.clear();
    }
  }

 private:
  const std::shared_ptr<MemoryHolders> holders_;
  const bool reads_;
};

class MemoryFollower final : public StoreLock {
 public:
  explicit MemoryFollower(std::shared_ptr<MemoryHolders> holders) : holders_(std::move(holders)) {
    const MutexLock guard(holders_->mutex);
    ++holders_->followers;
  }
  ~MemoryFollower() override {
    const MutexLock guard(holders_->mutex);
    --holders_->followers;
  }

 private:
  const std::shared_ptr<MemoryHolders> holders_;
};

}  // namespace

std::shared_ptr<Object> make_memory_object() { return std::make_shared<MemoryObject>(); }

MemoryStore::MemoryStore() : holders_(std::make_shared<MemoryHolders>()) {}

Result<std::shared_ptr<Object>> MemoryStore::create(std::string_view name, Create how) {
  const MutexLock guard(mutex_);
  auto& slot = objects_[std::string(name)];
  if (slot && how == Create::exclusive) return fail(EEXIST, std::string(name));
  if (!slot) slot = std::make_shared<MemoryObject>();
  if (how == Create::truncate) CFFS_TRY_VOID(slot->truncate(0));
  return slot;
}

Result<std::shared_ptr<Object>> MemoryStore::open(std::string_view name) {
  const MutexLock guard(mutex_);
  const auto it = objects_.find(name);
  if (it == objects_.end()) return fail(ENOENT, std::string(name));
  return it->second;
}

Status MemoryStore::remove(std::string_view name) {
  const MutexLock guard(mutex_);
  const auto it = objects_.find(name);
  if (it == objects_.end()) return fail(ENOENT, std::string(name));
  objects_.erase(it);
  return {};
}

Status MemoryStore::rename(std::string_view from, std::string_view to) {
  const MutexLock guard(mutex_);
  const auto it = objects_.find(from);
  if (it == objects_.end()) return fail(ENOENT, std::string(from));
  auto moved = std::move(it->second);
  objects_.erase(it);
  objects_[std::string(to)] = std::move(moved);
  return {};
}

Result<bool> MemoryStore::exists(std::string_view name) {
  const MutexLock guard(mutex_);
  return objects_.find(name) != objects_.end();
}

Result<std::vector<std::string>> MemoryStore::list(std::string_view folder) {
  const MutexLock guard(mutex_);
  const std::string prefix = folder.empty() ? std::string() : std::string(folder) + "/";
  std::vector<std::string> names;
  for (auto it = objects_.lower_bound(prefix); it != objects_.end() && it->first.starts_with(prefix); ++it) {
    names.push_back(it->first);
  }
  return names;
}

Result<SpaceInfo> MemoryStore::space() {
  constexpr std::uint64_t kTotal = std::uint64_t{1} << 40;
  return SpaceInfo{kTotal, available_.load(), available_.load(), 0, 0};
}

Result<std::unique_ptr<StoreLock>> MemoryStore::lock(std::string_view owner) {
  const MutexLock guard(holders_->mutex);
  if (!holders_->owner.empty()) return fail(EBUSY, holders_->owner);
  if (holders_->readers > 0) return fail(EBUSY, kSomebodyReads);
  holders_->owner = owner;
  return std::unique_ptr<StoreLock>(std::make_unique<MemoryLock>(holders_, false));
}

Result<std::unique_ptr<StoreLock>> MemoryStore::lock_for_reading() {
  const MutexLock guard(holders_->mutex);
  if (!holders_->owner.empty()) return fail(EBUSY, holders_->owner);
  ++holders_->readers;
  return std::unique_ptr<StoreLock>(std::make_unique<MemoryLock>(holders_, true));
}

Result<std::unique_ptr<StoreLock>> MemoryStore::follow() {
  return std::unique_ptr<StoreLock>(std::make_unique<MemoryFollower>(holders_));
}

bool MemoryStore::followed() {
  const MutexLock guard(holders_->mutex);
  return holders_->followers > 0;
}

}  // namespace cffs
