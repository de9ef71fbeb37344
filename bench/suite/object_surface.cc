#include "bench/suite/object_surface.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "bench/suite/session.h"
#include "core/backend/store_at.h"

namespace cffs::bench {
namespace {

class ObjectsInStore final : public ObjectSurface {
 public:
  explicit ObjectsInStore(const Rig& rig) : rig_(rig) {}
  std::int64_t write(std::uint64_t id, std::span<const char> data, bool fresh) override {
    auto object =
        fresh ? store_->create(name_of(id), ObjectStore::Create::exclusive) : store_->open(name_of(id));
    if (!object) return -object.error().errno_value;
    if (const Status done = (*object)->write_at(0, std::as_bytes(data)); !done)
      return -done.error().errno_value;
    if (!rig_.syncs_itself()) {
      if (const Status done = (*object)->sync(); !done) return -done.error().errno_value;
    }
    return static_cast<std::int64_t>(data.size());
  }
  std::int64_t read(std::uint64_t id, std::span<char> into) override {
    auto object = store_->open(name_of(id));
    if (!object) return -object.error().errno_value;
    const auto n = (*object)->read_at(0, std::as_writable_bytes(into));
    return n ? static_cast<std::int64_t>(*n) : -n.error().errno_value;
  }
  std::int64_t remove(std::uint64_t id) override {
    const Status done = store_->remove(name_of(id));
    return done ? 0 : -done.error().errno_value;
  }
  void let_go() override { store_.reset(); }
  Status reopen() override {
    CFFS_TRY(store_, open_store_at(rig_.is_objects() ? rig_.store_path() : rig_.directory() + "/store"));
    return {};
  }

 private:
  static std::string name_of(std::uint64_t id) { return "o" + std::to_string(id); }
  const Rig& rig_;
  std::unique_ptr<ObjectStore> store_;
};

class ObjectsInFiles final : public ObjectSurface {
 public:
  explicit ObjectsInFiles(Rig& rig) : rig_(rig) {}
  std::int64_t write(std::uint64_t id, std::span<const char> data, bool fresh) override {
    replay::Target& target = rig_.target();
    const std::int64_t file = target.open(name_of(id), fresh ? O_WRONLY | O_CREAT | O_EXCL : O_WRONLY, 0644);
    if (file < 0) return file;
    std::int64_t n = target.write(file, 0, data);
    if (n >= 0 && !rig_.syncs_itself())
      n = std::min<std::int64_t>(n, target.fsync(file, false) < 0 ? -EIO : n);
    (void)target.close(file);
    return n;
  }
  std::int64_t read(std::uint64_t id, std::span<char> into) override {
    replay::Target& target = rig_.target();
    const std::int64_t file = target.open(name_of(id), O_RDONLY, 0);
    if (file < 0) return file;
    const std::int64_t n = target.read(file, 0, into);
    (void)target.close(file);
    return n;
  }
  std::int64_t remove(std::uint64_t id) override { return rig_.target().unlink(name_of(id)); }
  void let_go() override {}
  Status reopen() override { return {}; }

 private:
  static std::string name_of(std::uint64_t id) { return "objects/o" + std::to_string(id); }
  Rig& rig_;
};

Status make_directory(Rig& rig, const std::string& name) {
  const std::int64_t made = rig.target().mkdir(name, 0755);
  return made == -EEXIST ? Status() : must(made, name);
}

}  // namespace

bool keeps_objects(const Rig& rig) {
  return rig.is_native() || rig.is_objects() || rig.name().starts_with("dir:");
}

Result<std::unique_ptr<ObjectSurface>> objects_in_store(Rig& rig) {
  if (!rig.is_objects()) CFFS_TRY_VOID(make_directory(rig, "store"));
  std::unique_ptr<ObjectSurface> objects = std::make_unique<ObjectsInStore>(rig);
  CFFS_TRY_VOID(objects->reopen());
  return objects;
}

Result<std::unique_ptr<ObjectSurface>> objects_in_files(Rig& rig) {
  CFFS_TRY_VOID(make_directory(rig, "objects"));
  std::unique_ptr<ObjectSurface> objects = std::make_unique<ObjectsInFiles>(rig);
  return objects;
}

}  // namespace cffs::bench
