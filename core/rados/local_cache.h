// Pages of a store's objects on a local disk, below the pages in memory (page_cache.h): what was read from the pool once is read from
// there the next time, also by the next mount of this host (docs/RADOS_STORE.md, "On a local disk").
//
// Only bytes that never change are kept: object numbers never come again, and whoever asks says where the bytes end that an object has
// for good. Each page has a checksum, and the number of its bytes; nothing is ever synced, and nothing is lost where the directory, or any file
// in it, is removed or damaged. The least recently used files go where there is too much.
//
// Thread safety: all calls, from any thread. Answers come on threads of its own, or on the caller's.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/object/file_descriptor.h"
#include "core/object/object_store.h"
#include "core/rados/local_file.h"

namespace cffs::rados {

class LocalCache {
 public:
  using ObjectNumber = std::uint64_t;
  // Where it is, and how much it may hold.
  struct Place {
    std::string directory;  // made where it is missing; the store has a folder of its own in it
    std::uint64_t most_bytes = 0;
  };
  // `store`: what tells it from all others, as a file name. `usage`: the directory is somebody else's.
  static Result<std::unique_ptr<LocalCache>> open(const Place& place, const std::string& store);
  ~LocalCache() { stop(); }

  // Pages [first, first + pages) of an object whose bytes below `end` never change: all of them, kPageBytes each, or nothing. `done` is
  // called once, maybe before this returns.
  void read(ObjectNumber object, std::uint64_t first, std::uint64_t pages, std::uint64_t end,
            std::function<void(std::optional<std::string>)> done);
  // The bytes of the object from that page on, those below `end`, in a while; dropped where the disk is too slow.
  void keep(ObjectNumber object, std::uint64_t first, std::uint64_t end, std::string_view bytes);
  // Nothing of it is here any more.
  void forget(ObjectNumber object);
  // What was to be kept is, then all threads end, and every question is answered by nothing. Not from a thread of its own.
  void stop();
  NearCopies state() const;

 private:
  struct Key {
    ObjectNumber object;
    std::uint64_t number;  // of the file among the object's
    auto operator<=>(const Key&) const = default;
  };
  struct Known {
    std::list<Key>::iterator age;
    std::optional<LocalFile::Here> here;  // none: the file was not looked at yet
    std::uint64_t bytes = 0;
    std::int64_t used_s = 0;  // as the file's time says
  };
  struct Question {
    ObjectNumber object;
    std::uint64_t first, pages, end;
    std::function<void(std::optional<std::string>)> done;
  };
  struct Keeping {
    ObjectNumber object;
    std::uint64_t first, end;
    std::string bytes;
  };

  LocalCache(std::string folder, const Place& place, FileDescriptor lock)
      : folder_(std::move(folder)), place_(place), lock_(std::move(lock)) {
    allowed_bytes_ = place.most_bytes;
    state_.directory = place.directory;
    state_.most_bytes = place.most_bytes;
  }
  void become_owner();
  void look_around();
  std::string path_of(const Key& key) const;
  bool may_have(const Question& question) const CFFS_REQUIRES(mutex_);
  void answer();
  std::optional<std::string> find(const Question& question);
  void note_use(const Key& key);
  void write();
  void put(const Keeping& keeping);
  void put_in_file(const Key& key, std::uint64_t first, std::span<const std::uint32_t> lengths,
                   std::string_view bytes);
  // Takes files away, used longest ago first, until so many bytes more are allowed.
  void make_room(std::uint64_t bytes);
  void allow_less();
  void drop(const Key& key);

  const std::string folder_;
  const Place place_;
  const FileDescriptor lock_;
  mutable Mutex mutex_;  // leaf
  CondVar asked_, to_write_, written_;
  std::map<Key, Known> files_ CFFS_GUARDED_BY(mutex_);
  std::list<Key> ages_ CFFS_GUARDED_BY(mutex_);  // used longest ago first
  std::deque<Question> questions_ CFFS_GUARDED_BY(mutex_);
  std::deque<Keeping> keepings_ CFFS_GUARDED_BY(mutex_);
  std::uint64_t waiting_bytes_ CFFS_GUARDED_BY(mutex_) = 0;
  std::uint64_t allowed_bytes_ CFFS_GUARDED_BY(mutex_) = 0;  // less than the most where the disk was full
  std::optional<ObjectNumber> being_written_ CFFS_GUARDED_BY(mutex_);
  NearCopies state_ CFFS_GUARDED_BY(mutex_);
  bool over_ CFFS_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace cffs::rados
