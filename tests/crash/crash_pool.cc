#include "tests/crash/crash_pool.h"

#include <stdexcept>
#include <utility>

#include "core/rados/rados_store.h"
#include "tests/passing_object.h"

namespace cffs::test {
namespace {

using Told = std::function<void(const std::string&)>;

// Threads of the engine's and of LevelDB's, of which one runs at a time: only their operations are shown.
thread_local bool is_shown = false;

RadosAddress address() { return *RadosAddress::parse("rados:cffs/crash"); }

// LevelDB's log: whose appends are what its work is stepped by (stepped_work.h), long before they reach the pool.
class ShownLog final : public PassingObject {
 public:
  ShownLog(std::shared_ptr<Object> below, std::string name, const Told& told)
      : PassingObject(std::move(below)), name_(std::move(name)), told_(told) {}
  Status write_at(std::uint64_t offset, ConstBytes data) override {
    show();
    return below_->write_at(offset, data);
  }
  Result<std::uint64_t> append(ConstBytes data) override {
    show();
    return below_->append(data);
  }

 private:
  void show() {
    is_shown = true;
    if (told_) told_("write " + name_);
  }
  const std::string name_;
  const Told& told_;
};

class ShownStore final : public ObjectStore {
 public:
  ShownStore(std::unique_ptr<RadosStore> below, const Told& told) : below_(std::move(below)), told_(told) {}

  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override {
    is_shown = true;
    CFFS_TRY(auto object, below_->create(name, how));
    return shown(std::move(object), name);
  }
  Result<std::shared_ptr<Object>> open(std::string_view name) override {
    is_shown = true;
    CFFS_TRY(auto object, below_->open(name));
    return shown(std::move(object), name);
  }
  Status remove(std::string_view name) override {
    is_shown = true;
    return below_->remove(name);
  }
  Status rename(std::string_view from, std::string_view to) override {
    is_shown = true;
    return below_->rename(from, to);
  }
  Result<bool> exists(std::string_view name) override { return below_->exists(name); }
  Result<std::vector<std::string>> list(std::string_view folder) override { return below_->list(folder); }
  Status sync_names() override { return below_->sync_names(); }
  Status sync_everything() override { return below_->sync_everything(); }
  Result<SpaceInfo> space() override { return below_->space(); }
  Result<std::unique_ptr<StoreLock>> lock(std::string_view owner) override { return below_->lock(owner); }
  Result<std::unique_ptr<StoreLock>> lock_for_reading() override { return below_->lock_for_reading(); }
  bool followed() override { return below_->followed(); }
  bool outlives_the_process() const override { return below_->outlives_the_process(); }
  std::string description() const override { return below_->description(); }

 private:
  std::shared_ptr<Object> shown(std::shared_ptr<Object> object, std::string_view name) const {
    if (!name.starts_with("table/") || !name.ends_with(".log")) return object;
    return std::make_shared<ShownLog>(std::move(object), std::string(name), told_);
  }
  const std::unique_ptr<RadosStore> below_;
  const Told& told_;
};

}  // namespace

CrashPool::CrashPool() : pool_(MemoryPool::make()) {
  pool_->use();
  if (!RadosStore::format(address())) throw std::runtime_error("no store can be made in the pool");
  open();
}

CrashPool::CrashPool(Medium medium) : pool_(MemoryPool::make(std::move(medium))) { open(); }

CrashPool::~CrashPool() { pool_->on_change(nullptr); }

void CrashPool::open() {
  pool_->use();
  auto opened = RadosStore::open(address(), false);
  if (!opened) throw std::runtime_error(opened.error().message());
  store_ = std::make_unique<ShownStore>(std::move(*opened), told_);
  pool_->on_change([this](const std::string& what) {
    if (is_shown && told_) told_(what);
  });
}

void CrashPool::on_change(std::function<void(const std::string&)> told) {
  is_shown = true;
  told_ = std::move(told);
}

CrashPool::Medium CrashPool::medium() { return pool_->medium(); }

// What is on its way gets there; what its end writes does not.
void CrashPool::kill() {
  at_end_ = medium();
  at_end_->sync_everything();
  pool_->shut_out_all();
}

void CrashPool::revive() {
  store_.reset();
  pool_ = MemoryPool::make(std::move(*at_end_));
  at_end_.reset();
  open();
}

}  // namespace cffs::test
