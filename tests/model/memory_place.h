// A place for backups in memory: what the former one has is copied, and counted.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "core/backup/backup_place.h"
#include "core/object/memory_store.h"

namespace cffs::test {

class MemoryPlace final : public BackupPlace {
 public:
  // A new store of its own, as each backup begins with, or one of the test's.
  void begin(std::unique_ptr<ObjectStore> fresh = std::make_unique<MemoryStore>()) {
    fresh_ = std::move(fresh);
    kept.clear();
  }
  ObjectStore& fresh() override { return *fresh_; }
  ObjectStore* former() override { return former_.get(); }
  Status keep(const std::string& name) override {
    CFFS_TRY(const auto from, former_->open(name));
    CFFS_TRY(const std::string bytes, read_whole(*from));
    CFFS_TRY(const auto to, fresh_->create(".kept", ObjectStore::Create::truncate));
    CFFS_TRY_VOID(to->write_at(0, as_bytes(bytes)));
    CFFS_TRY_VOID(fresh_->rename(".kept", name));
    kept.insert(name);
    return {};
  }
  Status switch_over() override {
    former_ = std::move(fresh_);
    return {};
  }
  std::string description() const override { return "the backup in memory"; }
  // The backup that there is.
  ObjectStore& store() { return *former_; }

  std::set<std::string> kept;

 private:
  std::unique_ptr<ObjectStore> fresh_, former_;
};

}  // namespace cffs::test
