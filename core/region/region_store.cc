#include "core/region/region_store.h"

#include <algorithm>
#include <random>
#include <set>

#include "core/base/checksum.h"
#include "core/base/undisturbed.h"
#include "core/region/region_object.h"

namespace cffs {

using namespace region;

class RegionStore::Reader final : public StoreLock {
 public:
  Reader(RegionStore& store, std::unique_ptr<StoreLock> device) : store_(store), device_(std::move(device)) {}
  ~Reader() override { store_.end_reading(); }

 private:
  RegionStore& store_;
  std::unique_ptr<StoreLock> device_;
};

class RegionStore::Lock final : public StoreLock {
 public:
  Lock(RegionStore& store, std::unique_ptr<StoreLock> device) : store_(store), device_(std::move(device)) {}
  ~Lock() override { store_.end(std::move(device_)); }

 private:
  RegionStore& store_;
  std::unique_ptr<StoreLock> device_;
};

Status RegionStore::format(BlockDevice& device, const Format& format) {
  std::random_device random;
  const std::uint64_t identity = std::uint64_t{random()} << 32 | random();
  Superblock superblock;
  CFFS_TRY(superblock.geometry,
           Geometry::for_device(device.size(), format.region_bytes, format.large_bytes, identity));
  superblock.clean = true;
  // What an earlier store left does not count: heads and onodes are sealed with the identity. Its superblocks go.
  const std::string nothing(kHeadBlocks * kBlock, '\0');
  CFFS_TRY_VOID(device.write(0, as_bytes(nothing)));
  superblock.version = 1;
  CFFS_TRY_VOID(write_superblock(device, superblock));
  superblock.version = 2;
  return write_superblock(device, superblock);
}

Result<bool> RegionStore::is_store(const BlockDevice& device) {
  if (device.size() < kHeadBlocks * kBlock) return false;
  std::string sector(kSectorBytes, '\0');
  Status unread;
  for (const std::uint64_t copy : {0u, 1u}) {
    if (auto read = device.read(copy * kBlock, as_writable_bytes(sector)); !read) {
      unread = std::move(read);
      continue;
    }
    const auto found = decode_superblock(sector);
    if (!found || *found) return true;  // also one of a newer program
  }
  CFFS_TRY_VOID(unread);  // it may be one
  return false;
}

Result<std::unique_ptr<RegionStore>> RegionStore::open(std::unique_ptr<BlockDevice> device) {
  CFFS_TRY_VOID(read_superblock(*device));
  return std::unique_ptr<RegionStore>(new RegionStore(std::move(device)));
}

RegionStore::~RegionStore() { (void)finish(); }

std::string RegionStore::full_name(std::string_view name) const {
  return device_->description() + ":" + std::string(name);
}

tl::unexpected<Error> RegionStore::named(Error error, std::string_view name) const {
  if (error.context.empty()) error.context = full_name(name);
  return fail(std::move(error));
}

// --- the state

Status RegionStore::load() {
  CFFS_TRY(superblock_, read_superblock(*device_));
  CFFS_TRY(Recovered recovered, recover(*device_, superblock_));
  scanned_ = recovered.scanned;
  hides_something_ = recovered.hides_something;
  if (shared_) shared_->ended.store(true, std::memory_order_release);  // its handles still read
  shared_ = std::shared_ptr<Shared>(new Shared{
      *device_, superblock_.geometry, Allocation(*device_, std::move(recovered.regions)), recovered.epoch});
  shared_->allocation.set_version(recovered.version);
  {
    const MutexLock guard(names_mutex_);
    names_.clear();
    renamed_.clear();
    removed_.clear();
    removed_bytes_ = 0;
    damaged_ = std::move(recovered.damaged);
    damaged_onodes_ = std::move(recovered.damaged_onodes);
    for (std::size_t i = 0; i < recovered.objects.size(); ++i) {
      const Body::Found& found = recovered.objects[i];
      names_.emplace(found.onode.name,
                     std::make_shared<Body>(shared_, found.id, found.onode, std::move(recovered.mappings[i]),
                                            found.durable_sector, found.durable_version, recovered.scanned));
    }
  }
  gone_ = std::move(recovered.gone);
  for (const Body::Found& found : recovered.superseded) gone_.push_back(found.id);
  return {};
}

// After an end without finish(): what the last program saw becomes durable, before anything changes and any block is used again.
Status RegionStore::settle_recovered() {
  CFFS_TRY_VOID(judged(*shared_, device_->flush_everything()));
  std::vector<BodyPtr> bodies;
  {
    const MutexLock guard(names_mutex_);
    for (const auto& [name, body] : names_)
      if (body->needs_commit()) bodies.push_back(body);
  }
  CFFS_TRY_VOID(commit(*shared_, bodies));
  std::vector<DeviceRange> ranges;
  for (const OnodeId id : gone_) {
    Onode tombstone;
    tombstone.version = shared_->allocation.next_version();
    tombstone.is_free = true;
    // Both: which of them is durable is of no interest any more.
    for (const unsigned sector : {0u, 1u}) {
      const std::uint64_t offset = onode_offset(shared_->geometry, id, sector);
      CFFS_TRY_VOID(device_->write(offset, as_bytes(encode(tombstone, shared_->geometry, id))));
      ranges.push_back({offset, kSectorBytes});
    }
  }
  CFFS_TRY_VOID(flush(*shared_, ranges));
  for (const OnodeId id : std::exchange(gone_, {})) shared_->allocation.give(id);
  return {};
}

// After a flush that failed the kernel shows what never reached the medium, until it needs the memory. What counts is what is there.
Status RegionStore::forget_what_is_lost() {
  CFFS_TRY(const Superblock superblock, read_superblock(*device_));
  CFFS_TRY(const Epoch epoch, read_epoch(*device_, superblock.geometry));
  if (superblock.clean || epoch.failures == 0) return {};
  if (Status done = device_->flush_everything(); !done) {
    end_epoch(*device_, superblock.geometry, epoch);
    return done;
  }
  device_->forget_memory();
  return {};
}

// Both copies: where one rots, the other must not name a checkpoint of the time before. One behind the other: one of them is whole.
// What is remembered is what is durable: whoever comes behind a failure says it again, and nothing is changed before.
Status RegionStore::say_in_use(Shared& shared) {
  for (int copies = 2; copies > 0; --copies) {
    Superblock next = superblock_;
    next.clean = false;
    next.checkpoint.clear();
    next.version += 1;
    CFFS_TRY(const DeviceRange place, put_superblock(*device_, next));
    CFFS_TRY_VOID(flush(shared, {&place, 1}));
    superblock_ = next;
  }
  return {};
}

// Blocks of an object whose onode the medium does not give are taken for free, and the medium may give it the next time.
Status RegionStore::knows_what_is_free() {
  if (!hides_something_) return {};
  const MutexLock names(names_mutex_);
  const std::string what = damaged_.empty() ? std::string() : damaged_.front();
  return fail(Error::corruption(device_->description() + ": " + what +
                                "; nothing is written where its blocks may be. It can be read (mount -o ro, "
                                "cffs export), and cffs copy makes another of what is there"));
}

Status RegionStore::begin_use(Shared& shared) {
  if (shared.in_use.load()) return {};
  if (shared.device.is_read_only()) return fail(EROFS);
  if (shared.ended.load()) return fail(EBADF);
  CFFS_TRY_VOID(knows_what_is_free());
  if (!superblock_.clean) CFFS_TRY_VOID(settle_recovered());
  CFFS_TRY_VOID(say_in_use(shared));
  shared.in_use.store(true, std::memory_order_release);
  return {};
}

Result<std::shared_ptr<Shared>> RegionStore::state(bool changes) {
  const MutexLock guard(state_mutex_);
  if (!shared_) CFFS_TRY_VOID(load());
  if (changes) CFFS_TRY_VOID(begin_use(*shared_));
  return shared_;
}

Status RegionStore::write_checkpoint(Shared& shared) {
  // Who reads the checkpoint has no other heads than those, and writes one again only where it changes.
  CFFS_TRY_VOID(shared.allocation.write_changed_heads());
  if (const Allocation::Heads heads = shared.allocation.undurable_heads(); !heads.ranges.empty()) {
    CFFS_TRY_VOID(flush(shared, heads.ranges));
    shared.allocation.durable(heads);
  }
  std::vector<Body::Found> objects;
  for (const auto& [name, body] : names_) {
    CFFS_TRY(Body::Found found, body->found());
    objects.push_back(std::move(found));
  }
  const Regions regions = shared.allocation.regions();
  const std::string bytes = encode_checkpoint(regions, objects, damaged_onodes_, shared.allocation.version());
  superblock_.checkpoint = room_for_checkpoint(regions, bytes.size());
  superblock_.checkpoint_bytes = bytes.size();
  superblock_.checkpoint_sum = checksum(bytes);
  std::vector<DeviceRange> ranges;
  std::size_t at = 0;
  for (const Run& run : superblock_.checkpoint) {
    const std::size_t n = std::min<std::size_t>(run.count * kBlock, bytes.size() - at);
    CFFS_TRY_VOID(device_->write(run.block * kBlock, as_bytes(bytes).subspan(at, n)));
    ranges.push_back({run.block * kBlock, run.count * kBlock});
    at += n;
  }
  return flush(shared, ranges);
}

Status RegionStore::finish() {
  const MutexLock guard(state_mutex_);
  if (!shared_) return {};
  const std::shared_ptr<Shared> shared = shared_;
  Status done;
  if (shared->in_use.load() && shared->failed.load() == 0) {
    done = sync_names(*shared);
    if (done) done = commit(*shared, uncommitted());
    const MutexLock names(names_mutex_);
    shared->allocation.give_back_idle(0);
    // Blocks of what is removed and still open are nobody's from here on.
    if (done) done = write_checkpoint(*shared);
    if (done) {
      superblock_.clean = true;
      superblock_.version += 1;
      done = write_superblock(*device_, superblock_);
    }
  }
  let_go();
  return done;
}

void RegionStore::abandon() {
  const MutexLock guard(state_mutex_);
  if (shared_) let_go();
}

std::string RegionStore::owner_text() const {
  std::string text(kOwnerBytes, '\0');
  if (!device_->read(kOwnerOffset, as_writable_bytes(text))) return "somebody whose name cannot be read";
  return text.substr(0, text.find('\0'));
}

// A block that the medium does not give is written whole: the rest of it would have to be read else. One that it does not take, either, is done
// without: nobody depends on a name, and a note that cannot be read is believed to say the worst.
Status RegionStore::write_owner(std::string_view owner) {
  std::string text(owner.substr(0, kOwnerBytes - 1));
  text.resize(kSectorBytes, '\0');  // behind it is the epoch
  std::string before(kBlock, '\0');
  if (device_->read(kOwnerOffset, as_writable_bytes(before)))
    return device_->write(kOwnerOffset, as_bytes(text));
  CFFS_TRY(const Superblock superblock, read_superblock(*device_));
  CFFS_TRY(const Epoch epoch, read_epoch(*device_, superblock.geometry));
  text += encode(epoch, superblock.geometry);
  text.resize(kBlock, '\0');
  Status done = device_->write(kOwnerOffset, as_bytes(text));
  if (!done && !done.error().is_damage()) return done;
  return {};
}

Result<std::unique_ptr<StoreLock>> RegionStore::lock(std::string_view owner) {
  auto held = device_->lock(true);
  if (!held && held.error().errno_value == EBUSY && held.error().kind == ErrorKind::os) {
    if (device_->lock(false)) return fail(EBUSY, kSomebodyReads);
    return fail(EBUSY, owner_text());
  }
  if (!held) return fail(std::move(held).error());
  CFFS_TRY_VOID(write_owner(owner));
  const MutexLock guard(state_mutex_);
  if (!shared_ || !shared_->in_use.load()) {  // it may be another's since it was looked at
    CFFS_TRY_VOID(forget_what_is_lost());
    CFFS_TRY_VOID(load());
  }
  CFFS_TRY_VOID(knows_what_is_free());
  if (!superblock_.clean) CFFS_TRY_VOID(begin_use(*shared_));
  return std::unique_ptr<StoreLock>(std::make_unique<Lock>(*this, std::move(*held)));
}

Result<std::unique_ptr<StoreLock>> RegionStore::lock_for_reading() {
  auto held = device_->lock(false);
  if (!held && held.error().errno_value == EBUSY) {
    return fail(EBUSY, owner_text());
  }
  if (!held) return fail(std::move(held).error());
  const MutexLock guard(state_mutex_);
  // It may be another one since it was looked at without a lock.
  if (readers_ == 0 && (!shared_ || !shared_->in_use.load())) CFFS_TRY_VOID(load());
  ++readers_;
  return std::unique_ptr<StoreLock>(std::make_unique<Reader>(*this, std::move(*held)));
}

void RegionStore::end(std::unique_ptr<StoreLock> lock) {
  (void)finish();
  lock.reset();
}

void RegionStore::end_reading() {
  const MutexLock guard(state_mutex_);
  if (--readers_ == 0 && shared_ && !shared_->in_use.load()) let_go();
}

void RegionStore::let_go() {
  shared_->ended.store(true, std::memory_order_release);
  const MutexLock names(names_mutex_);
  names_.clear();
  renamed_.clear();
  removed_.clear();
  shared_.reset();
}

// --- names

namespace {

// What is not users' data the engine must be able to make when the medium is full: logs and files of the table, the reserve.
bool is_the_stores_own(std::string_view name) {
  return !name.starts_with("blobs/") && !name.starts_with("composites/");
}

}  // namespace

Result<std::shared_ptr<Object>> RegionStore::create(std::string_view name, Create how) {
  if (name.empty() || name.size() > kMaxName) return fail(ENAMETOOLONG, full_name(name));
  auto shared = state(true);
  if (!shared) return named(std::move(shared).error(), name);
  const auto make = [&]() -> Result<std::shared_ptr<Object>> {
    const MutexLock guard(names_mutex_);
    const auto it = names_.find(name);
    if (it != names_.end() && how == Create::exclusive) return fail(EEXIST);
    if (it != names_.end()) {
      if (how == Create::truncate) CFFS_TRY_VOID(it->second->truncate(0));
      return make_region_object(*this, *shared, it->second);
    }
    if (was_given_away(name)) return fail(EAGAIN);
    CFFS_TRY(const OnodeId id, (*shared)->allocation.take_onode(is_the_stores_own(name)));
    auto body = std::make_shared<Body>(*shared, id, std::string(name));
    if (Status done = body->be_called(std::string(name)); !done) {
      (*shared)->allocation.give(id);
      return fail(std::move(done).error());
    }
    const Undisturbed whole;
    names_.emplace(name, body);
    // Counted before anybody else finds it: who removed it would take its blocks from under a handle that is not counted yet.
    return make_region_object(*this, *shared, std::move(body));
  };
  auto object = with_settled_names(**shared, make);
  if (!object) return named(std::move(object).error(), name);
  return object;
}

Result<std::shared_ptr<Object>> RegionStore::open(std::string_view name) {
  auto shared = state(false);
  if (!shared) return named(std::move(shared).error(), name);
  const MutexLock guard(names_mutex_);
  const auto it = names_.find(name);
  if (it == names_.end()) return fail(ENOENT, full_name(name));
  return make_region_object(*this, *shared, it->second);
}

Status RegionStore::remove(std::string_view name) {
  auto shared = state(true);
  if (!shared) return named(std::move(shared).error(), name);
  BodyPtr body;
  {
    const MutexLock guard(names_mutex_);
    const auto it = names_.find(name);
    if (it == names_.end()) return fail(ENOENT, full_name(name));
    body = it->second;
    if (Status done = body->remove(); !done) return named(std::move(done).error(), name);
    const Undisturbed whole;
    names_.erase(it);
    note_removed(body);
  }
  if (body->handles.load() == 0) handle_gone(**shared, body);
  return {};
}

Status RegionStore::rename(std::string_view from, std::string_view to) {
  if (to.empty() || to.size() > kMaxName) return fail(ENAMETOOLONG, full_name(to));
  auto shared = state(true);
  if (!shared) return named(std::move(shared).error(), from);
  BodyPtr replaced;
  const auto move = [&]() -> Status {
    const MutexLock guard(names_mutex_);
    const auto it = names_.find(from);
    if (it == names_.end()) return fail(ENOENT, full_name(from));
    if (from == to) return {};
    if (was_given_away(to)) return fail(EAGAIN);
    const BodyPtr body = it->second;
    // The new name first: of two with one name the newer counts.
    CFFS_TRY_VOID(body->be_called(std::string(to)));
    const Undisturbed whole;
    names_.erase(it);
    replaced = std::exchange(names_[std::string(to)], body);
    renamed_.push_back({body, std::string(from), ++renames_});
    // From here on the rename is done, whatever the device takes: who tried it again would find nothing to rename.
    if (!replaced) return {};
    note_removed(replaced);
    replaced->be_replaced();
    return {};
  };
  if (Status done = with_settled_names(**shared, move); !done) return named(std::move(done).error(), from);
  if (replaced && replaced->handles.load() == 0) handle_gone(**shared, replaced);
  return {};
}

void RegionStore::note_removed(const BodyPtr& body) {
  removed_.push_back(body);
  removed_bytes_ += body->info().allocated;
}

Result<bool> RegionStore::exists(std::string_view name) {
  if (auto shared = state(false); !shared) return named(std::move(shared).error(), name);
  const MutexLock guard(names_mutex_);
  return names_.contains(name);
}

Result<std::vector<std::string>> RegionStore::list(std::string_view folder) {
  if (auto shared = state(false); !shared) return named(std::move(shared).error(), folder);
  const std::string prefix = folder.empty() ? std::string() : std::string(folder) + "/";
  std::vector<std::string> found;
  const MutexLock guard(names_mutex_);
  for (auto it = names_.lower_bound(prefix); it != names_.end() && it->first.starts_with(prefix); ++it)
    found.push_back(it->first);
  return found;
}

// The last handle of an object has gone, or its name where there was none.
void RegionStore::handle_gone(Shared& shared, const BodyPtr& body) {
  shared.allocation.drop_spare(body.get());
  if (!body->is_removed()) return;
  const MutexLock guard(names_mutex_);
  if (body->handles.load() != 0) return;
  const auto waits = std::find(removed_.begin(), removed_.end(), body);
  if (waits != removed_.end()) {
    if (body->may_be_durable()) return;  // until its removal is
    removed_.erase(waits);
  }
  body->release();
}

Result<SpaceInfo> RegionStore::space() {
  CFFS_TRY(const auto shared, state(false));
  shared->allocation.ask_again();
  const Allocation::Room now = shared->allocation.room();
  SpaceInfo info;
  info.total_bytes = now.blocks * kBlock;
  std::uint64_t maybe = now.maybe_blocks;
  if (const auto room = device_->room()) {  // whole regions of it
    const std::uint64_t one = shared->geometry.region_blocks * kBlock;
    // A quota is less than the file system tells: what was refused, and just now again, is not there.
    const std::uint64_t most = now.was_refused ? 0 : *room / one * now.blocks_of_one;
    const std::uint64_t there = std::min(maybe, most);
    info.total_bytes -= (maybe - there) * kBlock;
    maybe = there;
  }
  std::uint64_t free = now.sure_blocks + maybe + shared->freed.load();
  {
    const MutexLock guard(names_mutex_);
    for (const BodyPtr& body : removed_) free += body->info().allocated / kBlock;
  }
  info.free_bytes = info.available_bytes = free * kBlock;
  info.free_inodes = now.free_onodes - std::min(now.free_onodes, Regions::kOnodesKept);
  {
    const MutexLock guard(names_mutex_);
    info.total_inodes = info.free_inodes + names_.size();
  }
  return info;
}

Result<Layout> RegionStore::layout() {
  CFFS_TRY(const auto shared, state(false));
  const Regions regions = shared->allocation.regions();
  Layout layout;
  for (const RegionKind kind :
       {RegionKind::small, RegionKind::large, RegionKind::onodes, RegionKind::unused}) {
    const Regions::Census c = regions.census(kind);
    layout.rooms.push_back(
        {std::string(name_of(kind)), c.regions, c.blocks * kBlock, c.free_blocks * kBlock, c.free_runs});
  }
  const MutexLock guard(names_mutex_);
  layout.objects = names_.size();
  for (const auto& [name, body] : names_) layout.extents += body->extents();
  layout.damaged = damaged_;
  return layout;
}

bool RegionStore::was_scanned() {
  const MutexLock guard(state_mutex_);
  return scanned_;
}

}  // namespace cffs
