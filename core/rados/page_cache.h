// What was read of a store's objects, and what is being read: bounded, in pages. It stands where a kernel's page cache stands below other
// backends, so that a group that is read ahead is fetched by one request and found by its readers.
//
// A page is absent, arriving or here. Whoever needs one that arrives waits for it; nobody asks twice. What is written takes its
// pages away *after* the write was given to RADOS, which is told to keep the order of reads and writes of one object (pool.cc): a read that was sent before
// the write finds its pages void when it ends, and its waiters ask again.
//
// Thread safety: all calls, from any thread. take() runs on librados's threads.
#pragma once

#include <algorithm>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/rados/local_cache.h"

namespace cffs::rados {

class PageCache : public std::enable_shared_from_this<PageCache> {
 public:
  using ObjectNumber = std::uint64_t;
  // Where the bytes of an object come from.
  class Source {
   public:
    virtual ~Source() = default;
    virtual ObjectNumber number() const = 0;
    // Starts reading; `done` is called once, from whatever thread, maybe before this returns; never where this throws (std::bad_alloc).
    // What lies behind the end is left out.
    virtual void fetch(std::uint64_t offset, std::uint64_t length,
                       std::function<void(Result<std::string>)> done) const = 0;
    // Bytes that never change may be kept where they are not seen to.
    struct Lasting {
      ObjectNumber number = 0;               // no other object has had it or will, wherever the store was put
      std::uint64_t end = 0;                 // bytes below this one last
      std::shared_ptr<const Source> source;  // the same one, for as long as it is held
    };
    virtual std::optional<Lasting> lasting() const { return {}; }
  };

  // `local`: asked for what is absent before its source is, where that lasts; null: there is none. It outlives what is fetched.
  explicit PageCache(std::uint64_t capacity_bytes, LocalCache* local = nullptr)
      : capacity_pages_(std::max<std::uint64_t>(capacity_bytes / kPageBytes, 16)), local_(local) {}

  // Fills `out`; bytes that the source does not have are zeros.
  Status read(const Source& source, std::uint64_t offset, Bytes out);
  // The same where all of it is here; false: it is not, and nothing was asked for.
  bool read_if_here(ObjectNumber object, std::uint64_t offset, Bytes out);
  // The share of the range that is here or arriving, 0 to 1.
  double share(ObjectNumber object, std::uint64_t offset, std::uint64_t length) const;
  // Has what is absent of the range fetched, without waiting.
  void prefetch(const Source& source, std::uint64_t offset, std::uint64_t length);
  // The range was written. `length` 0: all that is behind `offset`.
  void drop(ObjectNumber object, std::uint64_t offset, std::uint64_t length = 0);
  // The object is gone: nothing of it is kept anywhere.
  void forget(const Source& source);
  // All of these.
  void drop(const std::unordered_set<ObjectNumber>& objects);
  // Waits until nothing is being fetched any more.
  void drain();
  // The same, and nothing is left here.
  void clear();

 private:
  struct Key {
    ObjectNumber object;
    std::uint64_t page;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return static_cast<std::size_t>((key.object * 0x9e3779b97f4a7c15u) ^ (key.page * 0xc2b2ae3d27d4eb4fu));
    }
  };
  // Who waits for one holds it, so that it is there for him whatever becomes of it in the table.
  struct Page {
    enum class State { arriving, here, failed } state = State::arriving;
    bool is_void = false;  // written over since it was asked for: to be asked for anew
    std::string bytes;     // kPageBytes where it is here
    Error error;           // where it failed
    std::list<Key>::iterator age;
  };
  using Pages = std::unordered_map<Key, std::shared_ptr<Page>, Hash>;
  using Runs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // first page, pages

  // What is absent in [first, last], in runs, becomes arriving; where it throws, nothing does.
  Runs claim(ObjectNumber object, std::uint64_t first, std::uint64_t last) CFFS_REQUIRES(mutex_);
  void claim_page(const Key& key, Runs& runs) CFFS_REQUIRES(mutex_);
  // Where it throws, those that were not started have failed, for want of memory.
  void start(const Source& source, const Runs& runs);
  void start(const Source& source, std::uint64_t first, std::uint64_t pages);
  void take(ObjectNumber object, std::uint64_t first, std::uint64_t pages, Result<std::string> bytes);
  void erase(Pages::iterator page) CFFS_REQUIRES(mutex_);
  void drop_page(Pages::iterator page) CFFS_REQUIRES(mutex_);
  void make_room() CFFS_REQUIRES(mutex_);
  // The part of the page that lies in [offset, offset + out.size()) goes there.
  static void copy(const Page& page, std::uint64_t number, std::uint64_t offset, Bytes out);

  const std::uint64_t capacity_pages_;
  LocalCache* const local_;
  mutable Mutex mutex_;  // leaf
  CondVar arrived_;
  Pages pages_ CFFS_GUARDED_BY(mutex_);
  std::list<Key> ages_ CFFS_GUARDED_BY(mutex_);  // used longest ago first
  std::uint64_t fetches_ CFFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace cffs::rados
