#include "core/region/region_store.h"

#include <algorithm>
#include <random>
#include <set>

#include "core/base/checksum.h"

namespace cffs {

using namespace region;

// What meets a full device is tried again once room that waited for a commit has come free.
template <typename Operation>
auto RegionStore::with_room(Shared& shared, const Operation& operation) -> decltype(operation()) {
  if (!shared.in_use.load(std::memory_order_acquire)) {
    const MutexLock guard(state_mutex_);
    CFFS_TRY_VOID(begin_use(shared));
  }
  auto done = operation();
  if (!done && done.error().errno_value == ENOSPC && make_room(shared)) done = operation();
  return done;
}

// A handle.
class RegionObject final : public Object {
 public:
  RegionObject(RegionStore& store, std::shared_ptr<Shared> shared, BodyPtr body)
      : store_(store), shared_(std::move(shared)), body_(std::move(body)) {
    body_->handles.fetch_add(1);
  }
  ~RegionObject() override {
    if (body_->handles.fetch_sub(1) == 1 && !shared_->ended.load(std::memory_order_acquire))
      store_.handle_gone(*shared_, body_);
  }

  Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override {
    return say(body_->read(offset, out));
  }
  Result<std::optional<std::size_t>> try_read_at(std::uint64_t offset, Bytes out) const override {
    return say(body_->try_read(offset, out));
  }
  Result<std::size_t> read_medium(std::uint64_t offset, Bytes out) const override {
    return say(body_->read_medium(offset, out));
  }
  std::optional<double> share_in_memory(std::uint64_t offset, std::uint64_t length) const override {
    double there = 0;
    std::uint64_t all = 0;
    for (const DeviceRange& range : body_->ranges(offset, length)) {
      const auto share = shared_->device.share_in_memory(range);
      if (!share) return std::nullopt;
      there += *share * static_cast<double>(range.length);
      all += range.length;
    }
    return all == 0 ? 1 : there / static_cast<double>(all);
  }
  Status write_at(std::uint64_t offset, ConstBytes data) override {
    if (shared_->allocation.wants_cleaning() && data.size() >= shared_->geometry.large_blocks * kBlock)
      store_.clean(*shared_);
    return say(store_.with_room(*shared_, [&] { return body_->write(offset, data); }));
  }
  Result<std::uint64_t> append(ConstBytes data) override {
    return say(store_.with_room(*shared_, [&] { return body_->append(data); }));
  }
  Status truncate(std::uint64_t size) override {
    return say(store_.with_room(*shared_, [&] { return body_->truncate(size); }));
  }
  Status punch_hole(std::uint64_t offset, std::uint64_t length) override {
    return say(store_.with_room(*shared_, [&] { return body_->punch(offset, length); }));
  }
  Status allocate(std::uint64_t offset, std::uint64_t length) override {
    return say(store_.with_room(*shared_, [&] { return body_->reserve(offset, length); }));
  }
  Result<ObjectInfo> info() const override { return body_->info(); }
  Result<std::uint64_t> next_data(std::uint64_t offset) const override { return body_->next(offset, true); }
  Result<std::uint64_t> next_hole(std::uint64_t offset) const override { return body_->next(offset, false); }
  void begin_writeback(std::uint64_t offset, std::uint64_t length) override {
    for (const DeviceRange& range : body_->ranges(offset, length)) shared_->device.begin_write_back(range);
  }
  void expect(std::uint64_t bytes) override { body_->expect(bytes); }
  Status sync() override {
    if (shared_->device.is_read_only()) return {};
    if (shared_->ended.load(std::memory_order_acquire)) return say(Status(fail(EBADF)));
    return say(store_.sync(*shared_, body_));
  }
  void prefetch(std::uint64_t offset, std::uint64_t length) const override {
    if (length == 0) return;
    for (const DeviceRange& range : body_->ranges(offset, length)) shared_->device.prefetch(range);
  }

 private:
  template <typename T>
  T say(T done) const {
    if (done) return done;
    return store_.named(std::move(done).error(), body_->name());
  }

  RegionStore& store_;
  const std::shared_ptr<Shared> shared_;
  const BodyPtr body_;
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
  for (const std::uint64_t copy : {0u, 1u}) {
    CFFS_TRY_VOID(device.read(copy * kBlock, as_writable_bytes(sector)));
    const auto found = decode_superblock(sector);
    if (!found || *found) return true;  // also one of a newer program
  }
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
  shared_ = std::shared_ptr<Shared>(
      new Shared{*device_, superblock_.geometry, Allocation(*device_, std::move(recovered.regions))});
  shared_->allocation.set_version(recovered.version);
  {
    const MutexLock guard(names_mutex_);
    names_.clear();
    renamed_.clear();
    removed_.clear();
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
  CFFS_TRY_VOID(device_->flush_everything());
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
  CFFS_TRY_VOID(device_->flush(ranges));
  for (const OnodeId id : std::exchange(gone_, {})) shared_->allocation.give(id);
  return {};
}

Status RegionStore::begin_use(Shared& shared) {
  if (shared.in_use.load()) return {};
  if (shared.device.is_read_only()) return fail(EROFS);
  if (shared.ended.load()) return fail(EBADF);
  if (!superblock_.clean) {
    CFFS_TRY_VOID(settle_recovered());
  } else {
    superblock_.clean = false;
    superblock_.checkpoint.clear();
    superblock_.version += 1;
    CFFS_TRY_VOID(write_superblock(*device_, superblock_));
  }
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
  return device_->flush(ranges);
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
    // Blocks of what is removed and still open are nobody's from here on.
    if (done) done = write_checkpoint(*shared);
    if (done) {
      superblock_.clean = true;
      superblock_.version += 1;
      done = write_superblock(*device_, superblock_);
    }
  }
  shared->ended.store(true, std::memory_order_release);
  const MutexLock names(names_mutex_);
  names_.clear();
  renamed_.clear();
  removed_.clear();
  shared_.reset();
  return done;
}

void RegionStore::abandon() {
  const MutexLock guard(state_mutex_);
  if (shared_) shared_->ended.store(true, std::memory_order_release);
  const MutexLock names(names_mutex_);
  names_.clear();
  renamed_.clear();
  removed_.clear();
  shared_.reset();
}

Result<std::unique_ptr<StoreLock>> RegionStore::lock(std::string_view owner) {
  auto held = device_->lock(true);
  if (!held && held.error().errno_value == EBUSY && held.error().kind == ErrorKind::os) {
    if (device_->lock(false)) return fail(EBUSY, kSomebodyReads);
    std::string text(kOwnerBytes, '\0');
    CFFS_TRY_VOID(device_->read(kOwnerOffset, as_writable_bytes(text)));
    return fail(EBUSY, text.substr(0, text.find('\0')));
  }
  if (!held) return fail(std::move(held).error());
  std::string text(owner.substr(0, kOwnerBytes - 1));
  text.resize(kBlock, '\0');
  CFFS_TRY_VOID(device_->write(kOwnerOffset, as_bytes(text)));
  const MutexLock guard(state_mutex_);
  if (!shared_ || !shared_->in_use.load())
    CFFS_TRY_VOID(load());  // it may be another's since it was looked at
  if (!superblock_.clean) CFFS_TRY_VOID(begin_use(*shared_));
  locked_ = true;
  return std::unique_ptr<StoreLock>(std::make_unique<Lock>(*this, std::move(*held)));
}

Result<std::unique_ptr<StoreLock>> RegionStore::lock_for_reading() {
  auto held = device_->lock(false);
  if (!held && held.error().errno_value == EBUSY) {
    std::string text(kOwnerBytes, '\0');
    CFFS_TRY_VOID(device_->read(kOwnerOffset, as_writable_bytes(text)));
    return fail(EBUSY, text.substr(0, text.find('\0')));
  }
  if (!held) return fail(std::move(held).error());
  const MutexLock guard(state_mutex_);
  if (!locked_ && (!shared_ || !shared_->in_use.load())) {
    CFFS_TRY_VOID(load());
    locked_ = true;
  }
  return held;
}

void RegionStore::end(std::unique_ptr<StoreLock> lock) {
  (void)finish();
  const MutexLock guard(state_mutex_);
  locked_ = false;
  lock.reset();
}

// --- names

Result<std::shared_ptr<Object>> RegionStore::create(std::string_view name, Create how) {
  if (name.empty() || name.size() > kMaxName) return fail(ENAMETOOLONG, full_name(name));
  auto shared = state(true);
  if (!shared) return named(std::move(shared).error(), name);
  const auto make = [&]() -> Result<BodyPtr> {
    const MutexLock guard(names_mutex_);
    if (const auto it = names_.find(name); it != names_.end()) {
      if (how == Create::exclusive) return fail(EEXIST);
      if (how == Create::truncate) CFFS_TRY_VOID(it->second->truncate(0));
      return it->second;
    }
    CFFS_TRY(const OnodeId id, (*shared)->allocation.take_onode());
    auto body = std::make_shared<Body>(*shared, id, std::string(name));
    if (Status done = body->be_called(std::string(name)); !done) {
      (*shared)->allocation.give(id);
      return fail(std::move(done).error());
    }
    names_.emplace(name, body);
    return body;
  };
  auto body = with_room(**shared, make);
  if (!body) return named(std::move(body).error(), name);
  return std::shared_ptr<Object>(std::make_shared<RegionObject>(*this, *shared, std::move(*body)));
}

Result<std::shared_ptr<Object>> RegionStore::open(std::string_view name) {
  auto shared = state(false);
  if (!shared) return named(std::move(shared).error(), name);
  const MutexLock guard(names_mutex_);
  const auto it = names_.find(name);
  if (it == names_.end()) return fail(ENOENT, full_name(name));
  return std::shared_ptr<Object>(std::make_shared<RegionObject>(*this, *shared, it->second));
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
    names_.erase(it);
    removed_.push_back(body);
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
    const BodyPtr body = it->second;
    // The new name first: of two with one name the newer counts.
    CFFS_TRY_VOID(body->be_called(std::string(to)));
    names_.erase(it);
    replaced = std::exchange(names_[std::string(to)], body);
    renamed_.push_back(body);
    if (!replaced) return {};
    removed_.push_back(replaced);
    return replaced->remove();
  };
  if (Status done = with_room(**shared, move); !done) return named(std::move(done).error(), from);
  if (replaced && replaced->handles.load() == 0) handle_gone(**shared, replaced);
  return {};
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

// --- what is durable

Status RegionStore::flush(Shared& shared, std::span<const DeviceRange> ranges) {
  if (const int failed = shared.failed.load(); failed != 0) return fail(failed);
  Status done = shared.device.flush(ranges);
  int none = 0;
  if (!done) shared.failed.compare_exchange_strong(none, done.error().errno_value);
  return done;
}

// Bytes, nodes and region heads first, then the onodes: one flush where no onode has changed, two where one has.
Status RegionStore::commit(Shared& shared, std::vector<BodyPtr> bodies) {
  if (const int failed = shared.failed.load(); failed != 0) return fail(failed);
  std::sort(bodies.begin(), bodies.end());
  bodies.erase(std::unique(bodies.begin(), bodies.end()), bodies.end());
  const CommitTurns<Body>::Turn one_at_a_time(commit_turns_, bodies);
  std::vector<Body::Commit> commits;
  std::vector<DeviceRange> ranges, sectors;
  for (const BodyPtr& body : bodies) {
    CFFS_TRY(Body::Commit commit, body->begin_commit());
    ranges.insert(ranges.end(), commit.ranges.begin(), commit.ranges.end());
    if (!commit.sector.empty()) sectors.push_back({commit.sector_offset, commit.sector.size()});
    commits.push_back(std::move(commit));
  }
  Allocation::Heads heads;
  if (!sectors.empty()) heads = shared.allocation.undurable_heads();
  ranges.insert(ranges.end(), heads.ranges.begin(), heads.ranges.end());
  if (!ranges.empty()) CFFS_TRY_VOID(flush(shared, ranges));
  shared.allocation.durable(heads);
  if (sectors.empty()) return {};
  for (const Body::Commit& commit : commits) {
    if (!commit.sector.empty())
      CFFS_TRY_VOID(shared.device.write(commit.sector_offset, as_bytes(commit.sector)));
  }
  CFFS_TRY_VOID(flush(shared, sectors));
  for (std::size_t i = 0; i < bodies.size(); ++i) bodies[i]->end_commit(std::move(commits[i]));
  return {};
}

// That an object is gone is durable before its blocks are anybody else's.
Status RegionStore::commit_removals(Shared& shared) {
  const MutexLock one_at_a_time(removals_mutex_);
  std::vector<BodyPtr> removed;
  {
    const MutexLock guard(names_mutex_);
    removed = removed_;
  }
  if (removed.empty()) return {};
  std::sort(removed.begin(), removed.end());
  {
    const CommitTurns<Body>::Turn no_commit_beside(commit_turns_, removed);
    std::vector<DeviceRange> sectors;
    for (const BodyPtr& body : removed) {
      if (!body->may_be_durable()) continue;
      const auto [offset, sector] = body->tombstone();
      CFFS_TRY_VOID(shared.device.write(offset, as_bytes(sector)));
      sectors.push_back({offset, sector.size()});
    }
    if (!sectors.empty()) CFFS_TRY_VOID(flush(shared, sectors));
  }
  const MutexLock guard(names_mutex_);
  const std::set<BodyPtr> done(removed.begin(), removed.end());
  std::erase_if(removed_, [&](const BodyPtr& body) { return done.contains(body); });
  for (const BodyPtr& body : removed)
    if (body->handles.load() == 0) body->release();
  return {};
}

Status RegionStore::sync(Shared& shared, const BodyPtr& body) {
  bool renames = false;
  {
    const MutexLock guard(names_mutex_);
    renames = !renamed_.empty();
  }
  // A name that was given away and is another object's now must not be that one's alone after a power cut.
  if (renames) CFFS_TRY_VOID(sync_names(shared));
  return commit(shared, {body});
}

Status RegionStore::sync_names(Shared& shared) {
  std::vector<BodyPtr> renamed;
  {
    const MutexLock guard(names_mutex_);
    renamed = renamed_;
  }
  CFFS_TRY_VOID(commit(shared, renamed));
  {
    const MutexLock guard(names_mutex_);
    const std::set<BodyPtr> done(renamed.begin(), renamed.end());
    std::erase_if(renamed_,
                  [&](const BodyPtr& body) { return done.contains(body) && !body->needs_commit(); });
  }
  return commit_removals(shared);
}

Status RegionStore::sync_names() {
  CFFS_TRY(const auto shared, state(false));
  if (shared->device.is_read_only()) return {};
  return sync_names(*shared);
}

std::vector<BodyPtr> RegionStore::uncommitted() {
  const MutexLock guard(names_mutex_);
  std::vector<BodyPtr> bodies;
  for (const auto& [name, body] : names_)
    if (body->needs_commit()) bodies.push_back(body);
  return bodies;
}

Status RegionStore::sync_everything() {
  CFFS_TRY(const auto shared, state(false));
  if (shared->device.is_read_only()) return {};
  CFFS_TRY_VOID(sync_names(*shared));
  if (Status done = shared->device.flush_everything(); !done) {
    int none = 0;
    shared->failed.compare_exchange_strong(none, done.error().errno_value);
    return done;
  }
  return commit(*shared, uncommitted());
}

bool RegionStore::make_room(Shared& shared) {
  const std::uint64_t before = shared.allocation.free_blocks();
  if (!sync_names(shared)) return false;
  if (shared.freed.load() > 0) {
    std::vector<BodyPtr> bodies;
    {
      const MutexLock guard(names_mutex_);
      for (const auto& [name, body] : names_)
        if (body->has_freed()) bodies.push_back(body);
    }
    if (!commit(shared, std::move(bodies))) return false;
  }
  return shared.allocation.free_blocks() > before;
}

void RegionStore::clean(Shared& shared) {
  if (cleaning_.exchange(true)) return;  // one at a time
  clean_one(shared);
  cleaning_.store(false);
}

void RegionStore::clean_one(Shared& shared) {
  // What waits for a commit may be all that is in the way.
  if (shared.failed.load() != 0 || !sync_names(shared)) return;
  const auto region = shared.allocation.close_sparsest();
  if (!region) return;
  std::vector<BodyPtr> bodies, moved;
  {
    const MutexLock guard(names_mutex_);
    for (const auto& [name, body] : names_) bodies.push_back(body);
  }
  for (const BodyPtr& body : bodies) {
    const auto done = body->move_out(*region);
    if (!done) break;  // no room, or the medium: what has been moved is whole
    if (*done) moved.push_back(body);
  }
  (void)commit(shared, std::move(moved));
  shared.allocation.open(*region);
}

Result<SpaceInfo> RegionStore::space() {
  CFFS_TRY(const auto shared, state(false));
  const Regions regions = shared->allocation.regions();
  SpaceInfo info;
  for (const RegionKind kind : {RegionKind::unused, RegionKind::small, RegionKind::large})
    info.total_bytes += regions.census(kind).blocks * kBlock;
  std::uint64_t free = regions.free_blocks() + shared->freed.load();
  {
    const MutexLock guard(names_mutex_);
    for (const BodyPtr& body : removed_) free += body->info().allocated / kBlock;
  }
  info.free_bytes = info.available_bytes = free * kBlock;
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
