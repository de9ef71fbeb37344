#include "core/rados/rados_store.h"

#include <algorithm>
#include <chrono>

#include "core/base/thread.h"
#include "core/object/blocking_section.h"
#include "core/rados/local_mark.h"
#include "core/rados/rados_identity.h"
#include "core/rados/rados_object.h"

namespace cffs {

using rados::Body;
using rados::Ownership;
using rados::Pool;
using rados::Together;
using rados::WriteOperation;

namespace {

constexpr std::uint64_t kPieceBytes = std::uint64_t{4} << 20;
constexpr std::uint64_t kCacheBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kIdsAtOnce = 65536;
constexpr std::size_t kMostIdle = 4096;  // bodies without a handle that are remembered
constexpr std::chrono::seconds kPatience{10};  // for who closes the store, with pieces that are removed
// "cffs-rados" and a version: an older program refuses what it does not know.
constexpr const char* kFormat = "cffs-rados 1 ";

Result<std::uint64_t> piece_bytes_of(const Pool& pool, const Pool::Stat& head) {
  const std::string format = head.attribute("format");
  const std::string where = pool.address().text();
  if (format.empty()) return fail(Error::usage(where + ": there is no store of that name in the pool"));
  if (!format.starts_with(kFormat))
    return fail(Error::usage(where + " was made by a newer cffs ('" + format + "'); use that one"));
  const std::uint64_t bytes = std::strtoull(format.c_str() + std::string_view(kFormat).size(), nullptr, 10);
  if (bytes < 64 * 1024 || bytes > (std::uint64_t{1} << 30) || bytes % rados::kPageBytes != 0)
    return fail(Error::corruption(where + ": pieces of '" + format + "' are impossible"));
  return bytes;
}

std::string head_of(const RadosAddress& address) { return address.name + ".head"; }

// Composites and files of the table are written from the beginning to the end, once; what failed half way is nothing's place any more, and who
// begins one anew gets another object (create()). A copy into a store that is there writes in place: it renews the id.
Body::Kind kind_of(std::string_view name) {
  const bool grows =
      name.starts_with("composites/") || (name.starts_with("table/") && name.ends_with(".ldb"));
  return grows ? Body::Kind::grows : Body::Kind::changes;
}

}  // namespace

class RadosStore::Lock final : public StoreLock {
 public:
  Lock(RadosStore& store, std::unique_ptr<Ownership> ownership, FileDescriptor mark)
      : store_(store), ownership_(std::move(ownership)), mark_(std::move(mark)) {}
  ~Lock() override { store_.end(std::move(ownership_)); }

 private:
  RadosStore& store_;
  std::unique_ptr<Ownership> ownership_;
  const FileDescriptor mark_;
};

Status RadosStore::format(const RadosAddress& address) {
  CFFS_TRY(const auto pool, Pool::connect(address));
  WriteOperation operation;
  operation.create(true);
  operation.set_attribute("format", kFormat + std::to_string(kPieceBytes));
  operation.set_attribute("next", "1");
  operation.set_attribute("id", rados::random_text());
  const Status made = pool->run(operation, head_of(address));
  if (!made && made.error().errno_value == EEXIST) return fail(EEXIST, address.text());
  if (!made && (made.error().errno_value == EPERM || made.error().errno_value == EACCES))
    return fail(Error::usage(address.text() + ": this user may not write to pool '" + address.pool + "'"));
  return made;
}

Result<bool> RadosStore::is_store(const RadosAddress& address) {
  CFFS_TRY(const auto pool, Pool::connect(address));
  const auto head = pool->stat(head_of(address));
  if (!head && head.error().errno_value == ENOENT) return false;
  if (!head) return fail(head.error());
  return !head->attribute("format").empty();
}

Status RadosStore::renew_id(const RadosAddress& address) {
  CFFS_TRY(const auto pool, Pool::connect(address));
  return rados::give_id(*pool, head_of(address));
}

std::string RadosStore::owner_text(const RadosAddress& address) {
  const auto pool = Pool::connect(address);
  return pool ? Ownership::owner_text(**pool, head_of(address)) : std::string();
}

RadosStore::RadosStore(std::shared_ptr<Pool> pool, bool read_only, std::unique_ptr<rados::LocalCache> local)
    : pool_(std::move(pool)),
      read_only_(read_only),
      local_(std::move(local)),
      shared_(std::make_shared<rados::Shared>()),
      names_(pool_) {
  shared_->pool = pool_;
  shared_->cache = std::make_shared<rados::PageCache>(kCacheBytes, local_.get());
}

Result<std::unique_ptr<RadosStore>> RadosStore::open(const RadosAddress& address, bool read_only,
                                                     const std::optional<rados::LocalCache::Place>& place) {
  CFFS_TRY(auto pool, Pool::connect(address));
  const auto head = pool->stat(head_of(address));
  if (!head && head.error().errno_value == ENOENT)
    return fail(Error::usage(address.text() + ": there is no store of that name in the pool"));
  if (!head && (head.error().errno_value == EPERM || head.error().errno_value == EACCES))
    return fail(Error::usage(address.text() + ": this user may not read pool '" + address.pool + "'"));
  if (!head) return fail(head.error());
  CFFS_TRY(const std::uint64_t piece_bytes, piece_bytes_of(*pool, *head));
  std::unique_ptr<rados::LocalCache> local;
  if (place) {
    CFFS_TRY(const std::string id, rados::id_of(*pool, head_of(address), *head, read_only));
    CFFS_TRY(local, rados::LocalCache::open(*place, id));
  }
  std::unique_ptr<RadosStore> store(new RadosStore(std::move(pool), read_only, std::move(local)));
  store->shared_->piece_bytes = piece_bytes;
  RadosStore* const self = store.get();
  if (!read_only) {
    CFFS_TRY(store->reaper_, make_thread("what removes objects from the pool", [self] { self->reap(); }));
  }
  return store;
}

RadosStore::~RadosStore() {
  (void)finish();
  end_reaping();
  (void)names_.wait();
  shared_->cache->drain();
  pool_->wait_for_callbacks();
  if (local_ != nullptr) local_->stop();
}

tl::unexpected<Error> RadosStore::named(int errno_value, std::string_view name) const {
  return fail(errno_value, description() + ":" + std::string(name));
}

Status RadosStore::writable(std::string_view name) const {
  if (read_only_) return name.empty() ? fail(EBADF, description()) : named(EROFS, name);
  return {};
}

// --- the state

// What the head and the maps say now.
Status RadosStore::begin(bool alone) {
  known_.clear();
  idle_ = 0;
  shared_->cache->clear();
  CFFS_TRY_VOID(names_.load());
  CFFS_TRY(const Pool::Stat head, pool_->stat(this->head()));
  const std::string next = head.attribute("next");
  if (next.empty()) return fail(Error::corruption(description() + ": attribute next of its head is gone"));
  // No id comes again, whatever the head says.
  next_ = reserved_ = std::max<std::uint64_t>(names_.highest() + 1, std::strtoull(next.c_str(), nullptr, 10));
  is_loaded_ = true;
  if (!alone) return {};
  CFFS_TRY_VOID(names_.erase_stale());
  for (const ObjectId id : names_.nameless()) gone_.push_back({id, nullptr});
  reaper_wake_.notify_all();
  return {};
}

Status RadosStore::ready() {
  if (pool_->is_shut_out()) return fail(pool_->error(-ESHUTDOWN, {}));
  const MutexLock guard(mutex_);
  if (is_loaded_) return {};
  announce_blocking();
  return begin(false);
}

Result<RadosStore::ObjectId> RadosStore::next_id() {
  if (next_ == reserved_) {
    WriteOperation operation;
    operation.set_attribute("next", std::to_string(reserved_ + kIdsAtOnce));
    announce_blocking();
    CFFS_TRY_VOID(pool_->run(operation, head()));
    reserved_ += kIdsAtOnce;
  }
  return next_++;
}

Status RadosStore::finish() {
  std::vector<std::shared_ptr<Body>> bodies;
  {
    const MutexLock guard(mutex_);
    if (!is_loaded_ || read_only_) return {};
    for (const auto& [id, known] : known_)
      if (!known.is_removed) bodies.push_back(known.body);
  }
  Status done;
  for (const auto& body : bodies) (void)body->send();
  for (const auto& body : bodies) {
    const Status synced = body->sync();
    if (!synced && done) done = synced;
  }
  const Status named = names_.wait();
  if (!named && done) done = named;
  const MutexLock guard(mutex_);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while ((!gone_.empty() || reaping_) && !pool_->is_shut_out()) {
    if (reaper_wake_.wait_until(mutex_, until)) continue;
    leaves_the_rest_.store(true);
    reaper_wake_.notify_all();
    while ((!gone_.empty() || reaping_) && !pool_->is_shut_out()) reaper_wake_.wait(mutex_);
    leaves_the_rest_.store(false);
  }
  return done;
}

void RadosStore::end(std::unique_ptr<Ownership> ownership) {
  (void)finish();
  (void)names_.wait();
  ownership.reset();
  const MutexLock guard(mutex_);
  is_loaded_ = false;
}

Result<std::unique_ptr<StoreLock>> RadosStore::lock(std::string_view owner) {
  if (read_only_) return fail(EROFS, description());
  CFFS_TRY(auto ownership, Ownership::take(pool_, head(), owner, Ownership::Kind::alone, kSomebodyReads));
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(begin(true));
  return std::unique_ptr<StoreLock>(
      std::make_unique<Lock>(*this, std::move(ownership), hold_local_mark(pool_->address(), owner)));
}

Result<std::unique_ptr<StoreLock>> RadosStore::lock_for_reading() {
  CFFS_TRY(auto ownership, Ownership::take(pool_, head(), "", Ownership::Kind::looks, kSomebodyReads));
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(begin(false));
  return std::unique_ptr<StoreLock>(
      std::make_unique<Lock>(*this, std::move(ownership), hold_local_mark(pool_->address(), "")));
}

// --- names

std::shared_ptr<Object> RadosStore::handle_of(Known& known) {
  if (known.handles++ == 0 && known.last_used != 0) --idle_;
  known.last_used = ++uses_;
  return make_rados_object(*this, known.body);
}

Result<std::shared_ptr<Object>> RadosStore::open_id(ObjectId id, std::string_view name) {
  for (;;) {
    std::uint64_t look = 0;
    {
      const MutexLock guard(mutex_);
      if (const auto at = known_.find(id); at != known_.end()) return handle_of(at->second);
      look = looks_;
    }
    announce_blocking();
    CFFS_TRY(auto body, Body::load(shared_, id, kind_of(name)));
    const MutexLock guard(mutex_);
    // Its size may be that of before the store was looked at anew, and there was nothing known yet that could be forgotten.
    if (look != looks_) continue;
    if (const auto former = former_ends_.find(id); former != former_ends_.end()) {
      if (former->second != body->size()) shared_->cache->drop(id, std::min(former->second, body->size()));
      former_ends_.erase(former);
    }
    // Removed meanwhile, and maybe its pieces with it.
    if (const auto now = names_.find(name); !now || *now != id) return named(ENOENT, name);
    const auto [at, is_new] = known_.try_emplace(id);
    if (is_new) at->second.body = std::move(body);
    return handle_of(at->second);
  }
}

Result<std::shared_ptr<Object>> RadosStore::open(std::string_view name) {
  CFFS_TRY_VOID(ready());
  for (;;) {
    const auto id = names_.find(name);
    if (!id) return named(ENOENT, name);
    auto object = open_id(*id, name);
    // Another object has the name since: the one that a rename put in its place.
    if (object || object.error().errno_value != ENOENT || names_.find(name) == id) return object;
  }
}

Result<std::shared_ptr<Object>> RadosStore::create(std::string_view name, Create how) {
  CFFS_TRY_VOID(writable(name));
  CFFS_TRY_VOID(ready());
  {
    const MutexLock guard(mutex_);
    if (!names_.find(name)) {
      CFFS_TRY(const ObjectId id, next_id());
      Known& known = known_[id];
      known.body = std::make_shared<Body>(shared_, id, names_.add(name, id), kind_of(name));
      return handle_of(known);
    }
  }
  if (how == Create::exclusive) return named(EEXIST, name);
  // LevelDB gives a file's number again that it lost in a crash: other bytes, so they are another object's.
  if (how == Create::truncate && kind_of(name) == Body::Kind::grows) {
    const Status removed = remove(name);
    if (!removed && removed.error().errno_value != ENOENT) return fail(removed.error());
    return create(name, how);
  }
  CFFS_TRY(auto object, open(name));
  if (how == Create::truncate) CFFS_TRY_VOID(object->truncate(0));
  return object;
}

Status RadosStore::remove(std::string_view name) {
  CFFS_TRY_VOID(writable(name));
  CFFS_TRY_VOID(ready());
  const MutexLock guard(mutex_);
  const auto removed = names_.remove(name);
  if (!removed) return named(ENOENT, name);
  nameless(*removed);
  return {};
}

Status RadosStore::rename(std::string_view from, std::string_view to) {
  CFFS_TRY_VOID(writable(from));
  CFFS_TRY_VOID(ready());
  const MutexLock guard(mutex_);
  CFFS_TRY(const std::uint64_t version, next_id());
  const auto replaced = names_.rename(from, to, version);
  if (!replaced && replaced.error().errno_value == ENOENT) return named(ENOENT, from);
  if (!replaced) return fail(replaced.error());
  if (*replaced) nameless(**replaced);
  return {};
}

Result<bool> RadosStore::exists(std::string_view name) {
  CFFS_TRY_VOID(ready());
  return names_.find(name).has_value();
}

Result<std::vector<std::string>> RadosStore::list(std::string_view folder) {
  CFFS_TRY_VOID(ready());
  return names_.list(folder);
}

void RadosStore::handle_gone(const std::shared_ptr<Body>& body) {
  bool are_many = false;
  {
    const MutexLock guard(mutex_);
    const auto at = known_.find(body->id());
    // Of a handle from before the store was locked anew nothing is known any more.
    if (at == known_.end() || at->second.body != body || --at->second.handles > 0) return;
    if (at->second.is_removed) {
      gone_.push_back({body->id(), body});
      known_.erase(at);
      reaper_wake_.notify_all();
      return;
    }
    are_many = ++idle_ > kMostIdle;
  }
  (void)body->send();
  if (are_many) forget_idle();
}

// A quarter of those that nobody has, used longest ago. The end of an object is known only when all of it is there: so it is synced before.
void RadosStore::forget_idle() {
  std::vector<std::pair<std::uint64_t, std::shared_ptr<Body>>> idle;
  {
    const MutexLock guard(mutex_);
    for (const auto& [id, known] : known_)
      if (known.handles == 0) idle.emplace_back(known.last_used, known.body);
  }
  const auto end = idle.begin() + static_cast<std::ptrdiff_t>(idle.size() / 4);
  std::nth_element(idle.begin(), end, idle.end());
  for (auto at = idle.begin(); at != end; ++at) {
    if (!at->second->sync()) continue;  // failed: nobody finds it well
    const MutexLock guard(mutex_);
    const auto known = known_.find(at->second->id());
    // Used again meanwhile.
    if (known == known_.end() || known->second.handles > 0 || known->second.last_used != at->first) continue;
    known_.erase(known);
    --idle_;
  }
}

// --- the rest

Status RadosStore::sync_names() {
  announce_blocking();
  return names_.wait();
}

Status RadosStore::sync_everything() {
  if (read_only_) return {};
  std::vector<std::shared_ptr<Body>> bodies;
  {
    const MutexLock guard(mutex_);
    for (const auto& [id, known] : known_)
      if (!known.is_removed) bodies.push_back(known.body);
  }
  for (const auto& body : bodies) CFFS_TRY_VOID(body->send());
  for (const auto& body : bodies) CFFS_TRY_VOID(body->sync());
  return sync_names();
}

}  // namespace cffs
