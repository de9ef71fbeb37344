// The names of a store's objects in a Ceph pool: all of them in memory, and in the maps (omap) of a few RADOS objects. A change is here at
// once and on its way there; changes of one folder arrive in their order.
//
// Thread safety: all calls, from any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/rados/pool.h"

namespace cffs::rados {

class NameTable {
 public:
  using ObjectId = std::uint64_t;
  // Of a change that was started: wait() returns 0 once it is durable, or the error.
  using Change = std::shared_ptr<Together>;

  explicit NameTable(std::shared_ptr<Pool> pool) : pool_(std::move(pool)) {}
  ~NameTable() { (void)all_.wait(); }

  // Reads all of them, in place of what is here.
  Status load();
  // The same of the names directly in one folder.
  Status load_folder(std::string_view folder);
  // Objects without a name whose pieces may still be there, as load() found them.
  std::vector<ObjectId> nameless() const;

  std::optional<ObjectId> find(std::string_view name) const;
  std::vector<std::string> list(std::string_view folder) const;

  // The name is not there.
  Change add(std::string_view name, ObjectId id);
  // The object, which is nameless from then on; nullopt: there is none of that name.
  std::optional<ObjectId> remove(std::string_view name);
  // `version`: above that of all renames before. The object that had the name `to`, if there was one, which is nameless from then on.
  Result<std::optional<ObjectId>> rename(std::string_view from, std::string_view to, std::uint64_t version);
  // Nothing is left of a nameless object.
  void forget(ObjectId id);
  // Erases names that a half done rename left, as load() found them, and waits for that.
  Status erase_stale();
  // Above all ids and versions that are in use.
  std::uint64_t highest() const;
  // Which RADOS object has the names of this one's folder.
  std::string map_of(std::string_view name) const;
  // Every change so far is durable.
  Status wait();

 private:
  struct Entry {
    ObjectId id = 0;
    std::uint64_t version = 0;  // of the rename that gave the name; 0: it was made with it
  };
  Change start(const WriteOperation& operation, const std::string& object);

  const std::shared_ptr<Pool> pool_;
  Together all_;
  mutable Mutex mutex_;
  std::map<std::string, Entry, std::less<>> names_ CFFS_GUARDED_BY(mutex_);
  std::vector<std::string> stale_ CFFS_GUARDED_BY(mutex_);
  std::uint64_t highest_ CFFS_GUARDED_BY(mutex_) = 0;                 // as load() found it
  std::map<ObjectId, std::string> nameless_ CFFS_GUARDED_BY(mutex_);  // and which map says so
};

}  // namespace cffs::rados
