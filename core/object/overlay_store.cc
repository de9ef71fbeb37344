#include "core/object/overlay_store.h"

#include <algorithm>

#include "core/object/memory_store.h"

namespace cffs {
namespace {

constexpr std::size_t kPiece = 1u << 20;

tl::unexpected<Error> refused(std::string_view name) { return fail(EROFS, std::string(name)); }

Status copy(const Object& from, Object& to) {
  std::string piece(kPiece, '\0');
  for (std::uint64_t at = 0;;) {
    CFFS_TRY(const std::size_t n, from.read_at(at, as_writable_bytes(piece)));
    if (n == 0) return {};
    CFFS_TRY_VOID(to.write_at(at, as_bytes(piece).first(n)));
    at += n;
  }
}

}  // namespace

class OverlayObject final : public Object, public std::enable_shared_from_this<OverlayObject> {
 public:
  // `below` null: a new object.
  OverlayObject(OverlayStore& store, std::string name, std::shared_ptr<Object> below)
      : name_(std::move(name)), store_(store), below_(std::move(below)) {
    if (!below_) own_ = make_memory_object();
  }

  // Called by the store, with its mutex held.
  void forget_content() {
    const WriteLock guard(mutex_);
    own_ = make_memory_object();
  }

  Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override {
    return source()->read_at(offset, out);
  }
  Result<std::optional<std::size_t>> try_read_at(std::uint64_t offset, Bytes out) const override {
    return source()->try_read_at(offset, out);
  }
  Result<std::size_t> read_medium(std::uint64_t offset, Bytes out) const override {
    return source()->read_medium(offset, out);
  }
  std::optional<double> share_in_memory(std::uint64_t offset, std::uint64_t length) const override {
    return source()->share_in_memory(offset, length);
  }
  Status write_at(std::uint64_t offset, ConstBytes data) override {
    CFFS_TRY(const auto own, content());
    return own->write_at(offset, data);
  }
  Result<std::uint64_t> append(ConstBytes data) override {
    CFFS_TRY(const auto own, content());
    return own->append(data);
  }
  Status truncate(std::uint64_t size) override {
    CFFS_TRY(const auto own, content());
    return own->truncate(size);
  }
  Status punch_hole(std::uint64_t offset, std::uint64_t length) override {
    CFFS_TRY(const auto own, content());
    return own->punch_hole(offset, length);
  }
  Status allocate(std::uint64_t offset, std::uint64_t length) override {
    CFFS_TRY(const auto own, content());
    return own->allocate(offset, length);
  }
  Result<ObjectInfo> info() const override { return source()->info(); }
  Result<std::uint64_t> next_data(std::uint64_t offset) const override { return source()->next_data(offset); }
  Result<std::uint64_t> next_hole(std::uint64_t offset) const override { return source()->next_hole(offset); }
  std::shared_ptr<const Object> unchanged() const override {
    const ReadLock guard(mutex_);
    return own_ ? nullptr : below_;
  }
  Status sync() override { return {}; }
  void read_no_further() const override { source()->read_no_further(); }
  void prefetch(std::uint64_t offset, std::uint64_t length) const override {
    source()->prefetch(offset, length);
  }

  std::string name_;  // guarded by the store's mutex; empty: removed

 private:
  std::shared_ptr<Object> source() const {
    const ReadLock guard(mutex_);
    return own_ ? own_ : below_;
  }

  // What may be changed: a copy in memory, made now if need be.
  Result<std::shared_ptr<Object>> content() {
    if (store_.frozen()) return refused(store_.description());
    std::shared_ptr<Object> own;
    {
      const WriteLock guard(mutex_);
      if (own_) return own_;
      own = make_memory_object();
      CFFS_TRY_VOID(copy(*below_, *own));
      own_ = own;
    }
    store_.keep(*this);
    return own;
  }

  OverlayStore& store_;
  const std::shared_ptr<Object> below_;
  mutable SharedMutex mutex_;
  std::shared_ptr<Object> own_ CFFS_GUARDED_BY(mutex_);  // null: what is below
};

void OverlayStore::keep(OverlayObject& object) {
  const MutexLock guard(mutex_);
  if (!object.name_.empty()) own_[object.name_] = object.shared_from_this();
}

Result<OverlayStore::ObjectPtr> OverlayStore::find(const std::string& name) {
  if (const auto it = own_.find(name); it != own_.end()) return it->second;
  if (gone_.contains(name)) return fail(ENOENT, name);
  if (const auto it = open_.find(name); it != open_.end()) {
    if (ObjectPtr held = it->second.lock()) return held;
  }
  CFFS_TRY(auto below, below_.open(name));
  auto object = std::make_shared<OverlayObject>(*this, name, std::move(below));
  if (open_.size() >= purge_at_) {
    std::erase_if(open_, [](const auto& entry) { return entry.second.expired(); });
    purge_at_ = std::max<std::size_t>(1024, 2 * open_.size());
  }
  open_[name] = object;
  return object;
}

Result<std::shared_ptr<Object>> OverlayStore::open(std::string_view name) {
  const MutexLock guard(mutex_);
  CFFS_TRY(ObjectPtr object, find(std::string(name)));
  return std::shared_ptr<Object>(std::move(object));
}

Result<std::shared_ptr<Object>> OverlayStore::create(std::string_view name_view, Create how) {
  if (frozen()) return refused(description());
  const std::string name(name_view);
  const MutexLock guard(mutex_);
  auto there = find(name);
  if (!there && there.error().errno_value != ENOENT && there.error().errno_value != ENOTDIR) {
    return fail(there.error());
  }
  if (there && how == Create::exclusive) return fail(EEXIST, name);
  ObjectPtr object = there ? *there : std::make_shared<OverlayObject>(*this, name, nullptr);
  if (there && how == Create::truncate) object->forget_content();
  if (!there || how == Create::truncate) own_[name] = object;
  return std::shared_ptr<Object>(std::move(object));
}

// What cannot be opened can go all the same.
Status OverlayStore::drop_name(const std::string& name) {
  const auto object = find(name);
  if (!object && !object.error().is_damage()) return fail(object.error());
  if (object) (*object)->name_.clear();
  own_.erase(name);
  open_.erase(name);
  CFFS_TRY(const bool below, below_.exists(name));
  if (below) gone_.insert(name);
  return {};
}

Status OverlayStore::remove(std::string_view name) {
  if (frozen()) return refused(description());
  const MutexLock guard(mutex_);
  return drop_name(std::string(name));
}

Status OverlayStore::rename(std::string_view from_view, std::string_view to_view) {
  if (frozen()) return refused(description());
  const std::string from(from_view), to(to_view);
  const MutexLock guard(mutex_);
  const auto object = find(from);  // what cannot be opened cannot be by another name
  if (!object && !object.error().is_damage()) return fail(object.error());
  if (from == to) return {};
  if (const Status replaced = drop_name(to); !replaced && replaced.error().errno_value != ENOENT)
    return replaced;
  CFFS_TRY_VOID(drop_name(from));
  if (!object) return {};
  (*object)->name_ = to;
  own_[to] = *object;
  return {};
}

Result<bool> OverlayStore::exists(std::string_view name_view) {
  const std::string name(name_view);
  const MutexLock guard(mutex_);
  if (own_.contains(name)) return true;
  if (gone_.contains(name)) return false;
  return below_.exists(name);
}

Result<std::vector<std::string>> OverlayStore::list(std::string_view folder) {
  const MutexLock guard(mutex_);
  CFFS_TRY(const auto below, below_.list(folder));
  std::set<std::string> names;
  for (const std::string& name : below) {
    if (!gone_.contains(name)) names.insert(name);
  }
  const std::string prefix = folder.empty() ? std::string() : std::string(folder) + "/";
  for (auto it = own_.lower_bound(prefix); it != own_.end() && it->first.starts_with(prefix); ++it) {
    names.insert(it->first);
  }
  return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace cffs
