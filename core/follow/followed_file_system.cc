#include "core/follow/followed_file_system.h"

#include <chrono>
#include <unordered_set>
#include <utility>

#include "core/base/thread.h"
#include "core/base/within_memory.h"
#include "core/follow/changed_keys.h"
#include "core/table/system_rows.h"
#include "core/table/table.h"

namespace cffs {
namespace {

constexpr int kTriesAcrossMoves = 5;         // a move may come between two looks
constexpr std::int64_t kRetiredMs = 10'000;  // requests that were parked come back sooner

InodeId number_of(InodeId node) { return KnownNodes::number_of(node); }

// What changed is not known where it cannot be read: then all of it may have. The damage stays, and whoever waited for its end would
// stay where he is.
template <typename Value>
Result<std::optional<Value>> unless_damaged(Result<std::optional<Value>> found) {
  if (!found && found.error().is_damage()) return std::optional<Value>();
  return found;
}
Result<std::optional<StateChanges>> unless_damaged(Result<StateChanges> found) {
  if (!found && found.error().is_damage()) return std::optional<StateChanges>();
  if (!found) return fail(found.error());
  return std::optional(std::move(*found));
}

bool means_absent(const Error& error) {
  return error.errno_value == ENOENT || error.errno_value == ENOTDIR || error.errno_value == ESTALE;
}

}  // namespace

Result<std::unique_ptr<FollowedFileSystem>> FollowedFileSystem::open(ObjectStore& store,
                                                                     FileSystemOptions options,
                                                                     FollowOptions follow) {
  CFFS_TRY(StoreFormat format, read_format(store));
  if (!options.clock) options.clock = std::make_shared<SystemClock>();
  if (!options.name_hash) options.name_hash = format.name_hash;
  options.read_only = true;
  std::unique_ptr<FollowedFileSystem> fs(
      new FollowedFileSystem(store, std::move(options), std::move(format), std::move(follow)));
  CFFS_TRY_VOID(fs->find_first());
  return fs;
}

FollowedFileSystem::~FollowedFileSystem() { (void)FollowedFileSystem::close(); }

void FollowedFileSystem::end() {
  std::thread ending;
  {
    const MutexLock guard(thread_mutex_);
    stopping_ = true;
    ending = std::move(thread_);
  }
  wake_.notify_all();
  if (ending.joinable()) ending.join();
}

Status FollowedFileSystem::close() {
  end();
  const MutexLock guard(mutex_);
  known_.clear();
  retired_.clear();
  current_.reset();
  first_.reset();
  states_.end();
  return {};
}

Status FollowedFileSystem::begin(std::function<void(const Moved&)> on_move) {
  on_move_ = std::move(on_move);
  CFFS_TRY(std::thread thread, make_thread("the thread that follows the store's writer", [this] { run(); }));
  const MutexLock guard(thread_mutex_);
  thread_ = std::move(thread);
  return {};
}

void FollowedFileSystem::run() {
  MutexLock guard(thread_mutex_);
  while (!stopping_) {
    const auto due = std::chrono::steady_clock::now() + std::chrono::milliseconds(follow_.poll_ms);
    while (!stopping_ && wake_.wait_until(thread_mutex_, due)) {
    }
    if (stopping_) return;
    guard.unlock();
    std::string problem;
    try {
      if (const auto moved = move_on(); !moved) problem = moved.error().message();
    } catch (const std::exception& e) {  // of memory, mostly; the next look may have more
      problem = e.what();
    }
    bool is_new = false;
    {
      const MutexLock known(mutex_);
      is_new = !problem.empty() && problem != last_problem_;
      last_problem_ = problem;
    }
    if (is_new) log("no later checkpoint can be shown, the one before still is: " + problem);
    guard.lock();
  }
}

Status FollowedFileSystem::find_first() {
  CFFS_TRY(StatePtr state, states_.first(follow_.awaited, follow_.say));
  const MutexLock guard(mutex_);
  first_ = state;
  current_ = std::move(state);
  return {};
}

FollowedFileSystem::StatePtr FollowedFileSystem::current() const {
  const MutexLock guard(mutex_);
  return current_;
}

std::shared_ptr<FileSystem> FollowedFileSystem::state() const {
  StatePtr state = current();
  FileSystem* const fs = state->fs.get();
  return {std::move(state), fs};
}

std::shared_ptr<const void> FollowedFileSystem::hold(InodeId node) const {
  const MutexLock guard(mutex_);
  const KnownNodes::Known* const known = known_.find(node);
  return known != nullptr && known->pinned ? known->pinned : current_;
}

std::uint64_t FollowedFileSystem::sequence() const { return current()->view->sequence(); }
std::int64_t FollowedFileSystem::checkpoint_at_ns() const { return current()->at_ns; }
std::string FollowedFileSystem::problem() const {
  const MutexLock guard(mutex_);
  return last_problem_;
}

Result<bool> FollowedFileSystem::move_on() {
  const StatePtr before = current();
  {
    const std::int64_t enough = options_.clock->steady_ms() - kRetiredMs;
    std::vector<StatePtr> gone;  // closed without the lock
    const MutexLock guard(mutex_);
    std::erase_if(retired_, [&](auto& retired) {
      if (retired.first > enough || retired.second.use_count() > 1) return false;
      gone.push_back(std::move(retired.second));
      return true;
    });
  }
  CFFS_TRY(const Checkpoint checkpoint, read_checkpoint(store_));
  if (states_.misses_writer(checkpoint)) {
    return fail(Error::usage(
        "store " + store_.description() +
        " is written to, and nothing is kept for who follows it: the locks (flock) of what it lies "
        "on do not reach the writer's host, or its medium is full"));
  }
  // One with a smaller number that was made later is of a history that knows nothing of ours: its numbers began anew.
  const bool is_later = checkpoint.sequence > before->view->sequence();
  const bool is_other = checkpoint.sequence < before->view->sequence() && checkpoint.at_ns > before->at_ns;
  if (!checkpoint.kept || !(is_later || is_other)) return false;
  if (is_later && checkpoint.table == before->view->table()) {
    before->view->is_also(checkpoint.sequence);
    return false;
  }
  CFFS_TRY_VOID(store_.look_again(""));
  CFFS_TRY(StatePtr next, states_.open(checkpoint));
  CFFS_TRY(const auto keys, unless_damaged(changed_keys(store_, before->view->table(), checkpoint.table)));
  std::optional<StateChanges> changes;
  // After an end without a close blobs may be other than rows say.
  if (is_later && keys && !keys->contains(system_key(SystemField::unclean_ends))) {
    CFFS_TRY(changes, unless_damaged(compare_states(before->fs->table(), next->fs->table(), *keys)));
  }
  // A move that ended in the midst, for want of memory, has told nobody what it had changed by then.
  if (std::exchange(half_moved_, true)) changes.reset();
  const Moved moved = adopt(std::move(next), changes);
  if (on_move_) on_move_(moved);
  half_moved_ = false;
  return true;
}

Moved FollowedFileSystem::adopt(StatePtr next, const std::optional<StateChanges>& changes) {
  const std::int64_t at = options_.clock->steady_ms();
  tell_likely_groups(*next);
  const MutexLock guard(mutex_);
  Moved moved = known_.move_on(current_, changes ? &*changes : nullptr);
  retire(current_, at);
  current_ = std::move(next);
  return moved;
}

// Once each: two entries of one state would keep each other.
void FollowedFileSystem::retire(const StatePtr& state, std::int64_t at) {
  for (auto& retired : retired_) {
    if (retired.second != state) continue;
    retired.first = at;
    return;
  }
  retired_.emplace_back(at, state);
}

// The state gets its one reference to the inode, found at that place. False: it is not there.
Result<bool> FollowedFileSystem::refer(State& state, InodeId ino, const EntryName& place) {
  auto found = state.fs->lookup(place.parent, place.name);
  if (!found && !means_absent(found.error())) return fail(found.error());
  if (!found) return false;
  bool had = found->ino != ino;
  if (!had) {
    const MutexLock guard(state.mutex);
    had = !state.referred.emplace(ino, true).second;
  }
  if (had) state.fs->forget(found->ino, 1);
  return found->ino == ino;
}

// Up by what is known of places, to what the state has already; then down by names.
Status FollowedFileSystem::refer_path(const StatePtr& state, InodeId ino) {
  std::vector<std::pair<InodeId, std::optional<EntryName>>> path;
  std::unordered_set<InodeId> met;
  for (InodeId at = ino; at != kRootInode;) {
    {
      const MutexLock guard(state->mutex);
      if (state->referred.contains(at)) break;
    }
    if (!met.insert(at).second) return fail(ESTALE);
    const MutexLock guard(mutex_);
    const KnownNodes::Known* const known = known_.find(known_.node_of(at));
    if (known == nullptr || known->place.name.empty()) {
      path.emplace_back(at, std::nullopt);
      break;
    }
    path.emplace_back(at, known->place);
    at = known->place.parent;
  }
  for (; !path.empty(); path.pop_back()) {
    const auto& [child, place] = path.back();
    Result<bool> there = false;
    if (place) there = refer(*state, child, *place);
    if (!there) return fail(there.error());
    if (!*there) there = refer(*state, child, EntryName{child, "."});  // it was moved: by its number
    if (!there) return fail(there.error());
    if (!*there) return fail(ESTALE);
  }
  return {};
}

Result<FollowedFileSystem::Found> FollowedFileSystem::find(InodeId node) {
  const InodeId ino = number_of(node);
  for (int attempt = 0;; ++attempt) {
    StatePtr state;
    {
      const MutexLock guard(mutex_);
      const KnownNodes::Known* const known = known_.find(node);
      state = known != nullptr && known->pinned ? known->pinned : current_;
    }
    const Status referred = refer_path(state, ino);
    if (referred) return Found{std::move(state), ino};
    if (attempt == kTriesAcrossMoves || state == current()) return fail(referred.error());
  }
}

bool FollowedFileSystem::note(const StatePtr& state, EntryName place, Attributes& attributes) {
  const InodeId ino = attributes.ino;
  bool had = ino == kRootInode;
  {
    const MutexLock guard(mutex_);
    if (state != current_) return false;
    if (!known_.has_number(ino)) return false;
    attributes.ino = known_.node_of(ino);
    known_.refer(attributes.ino, std::move(place), S_ISDIR(attributes.mode));
    if (!had) {
      const MutexLock inner(state->mutex);
      had = !state->referred.emplace(ino, true).second;
    }
  }
  if (had) state->fs->forget(ino, 1);
  return true;
}

Result<Attributes> FollowedFileSystem::lookup(InodeId parent, std::string_view name) {
  const bool relative = name == "." || name == "..";
  for (int attempt = 0;; ++attempt) {
    Found found;
    if (relative) {  // by a number that may have been forgotten
      found = {current(), number_of(parent)};
    } else {
      CFFS_TRY(found, find(parent));
    }
    auto attributes = found.state->fs->lookup(found.ino, name);
    const bool last = attempt == kTriesAcrossMoves;
    if (!attributes) {
      if (last || found.state == current()) return attributes;
      continue;
    }
    const InodeId ino = attributes->ino;
    EntryName place = relative ? EntryName{} : EntryName{found.ino, std::string(name)};
    if (relative) {
      const MutexLock guard(mutex_);
      if (const KnownNodes::Known* const known = known_.find(known_.node_of(ino))) place = known->place;
    }
    if (note(found.state, std::move(place), *attributes)) return attributes;
    found.state->fs->forget(ino, 1);
    if (last) return fail(ESTALE);
  }
}

void FollowedFileSystem::forget(InodeId node, std::uint64_t references) {
  const InodeId ino = number_of(node);
  if (ino == kRootInode) return;
  StatePtr state;
  {
    const MutexLock guard(mutex_);
    if (!known_.forget(node, references)) return;
    const MutexLock inner(current_->mutex);
    if (current_->referred.erase(ino) > 0) state = current_;
  }
  if (state) state->fs->forget(ino, 1);
}

Status FollowedFileSystem::opened(InodeId node) {
  for (int attempt = 0;; ++attempt) {
    CFFS_TRY(const Found found, find(node));
    const MutexLock guard(mutex_);
    KnownNodes::Known* const known = known_.find(node);
    if (known == nullptr) return fail(ESTALE);
    if (!known->pinned && (node != known_.node_of(found.ino) || !known_.has_number(found.ino)))
      return fail(ESTALE);
    if (found.state == (known->pinned ? known->pinned : current_)) {
      known->opened += 1;
      return {};
    }
    if (attempt == kTriesAcrossMoves) return fail(ESTALE);
  }
}

void FollowedFileSystem::closed(InodeId node) {
  const MutexLock guard(mutex_);
  KnownNodes::Known* const known = known_.find(node);
  if (known == nullptr || known->opened == 0 || --known->opened > 0 || !known->pinned) return;
  // Without memory for that it stays pinned for as long as the node is known. Nobody could be told.
  (void)within_memory([&]() -> Status {
    mutex_.assert_held();
    retire(known->pinned, options_.clock->steady_ms());
    known->pinned = nullptr;
    return {};
  });
}

std::size_t FollowedFileSystem::known_inodes() {
  const MutexLock guard(mutex_);
  return known_.size();
}

std::optional<EntryName> FollowedFileSystem::last_place(InodeId node) {
  const MutexLock guard(mutex_);
  const KnownNodes::Known* const known = known_.find(node);
  if (known == nullptr || node == kRootInode) return {};
  return known->place;
}

std::optional<InodeId> FollowedFileSystem::last_directory(InodeId node) {
  const auto place = last_place(node);
  if (!place) return {};
  return place->parent;
}

std::vector<InodeId> FollowedFileSystem::some_asleep(std::size_t most) {
  const MutexLock guard(mutex_);
  return known_.some_asleep(most);
}

// --- operations ---

template <typename Operation>
auto FollowedFileSystem::at(InodeId node, const Operation& operation) {
  using Outcome = decltype(operation(std::declval<FileSystem&>(), InodeId{}));
  auto found = find(node);
  if (!found) return Outcome(fail(found.error()));
  Outcome outcome = operation(*found->state->fs, found->ino);
  // What an earlier checkpoint needs is kept for a bounded time.
  if (!outcome && found->state != current()) return Outcome(fail(ESTALE, outcome.error().context));
  return outcome;
}

Result<std::string> FollowedFileSystem::readlink(InodeId node) {
  return at(node, [](FileSystem& fs, InodeId ino) { return fs.readlink(ino); });
}

Result<Attributes> FollowedFileSystem::getattr(InodeId node) {
  auto attributes = at(node, [](FileSystem& fs, InodeId ino) { return fs.getattr(ino); });
  if (attributes) attributes->ino = node;
  return attributes;
}

Result<std::string> FollowedFileSystem::getxattr(InodeId node, std::string_view name) {
  auto found = find(node);
  if (!found) return fail(found.error());
  return found->state->fs->getxattr(found->ino, name);
}

Result<std::vector<std::string>> FollowedFileSystem::listxattr(InodeId node) {
  return at(node, [](FileSystem& fs, InodeId ino) { return fs.listxattr(ino); });
}

Result<std::size_t> FollowedFileSystem::read(InodeId node, std::uint64_t offset, Bytes out, ReaderId reader) {
  return at(node, [&](FileSystem& fs, InodeId ino) { return fs.read(ino, offset, out, reader); });
}

Result<std::uint64_t> FollowedFileSystem::next_data(InodeId node, std::uint64_t offset) {
  auto found = find(node);
  if (!found) return fail(found.error());
  return found->state->fs->next_data(found->ino, offset);
}

Result<std::uint64_t> FollowedFileSystem::next_hole(InodeId node, std::uint64_t offset) {
  auto found = find(node);
  if (!found) return fail(found.error());
  return found->state->fs->next_hole(found->ino, offset);
}

Status FollowedFileSystem::readdir(InodeId directory, std::uint64_t cookie, bool refer,
                                   const std::function<bool(const DirectoryEntry&)>& visit) {
  for (int attempt = 0;; ++attempt) {
    CFFS_TRY(const Found found, find(directory));
    bool visited = false, moved = false;
    const Status done = list(found, cookie, refer, moved, [&](const DirectoryEntry& entry) {
      visited = true;
      return visit(entry);
    });
    // What there is by then is a part as any; nothing at all would be taken for the end.
    if (!done || !moved || visited) return done;
    if (attempt == kTriesAcrossMoves) return fail(ESTALE);
  }
}

// An entry's number is given before it is known whether the entry is taken: a move between the two leaves a number of before, whose
// name the caller is told to forget after its listing. Behind a move nothing more is given: a number of the new state would come with
// what the old one had of it, and nobody is told of files that nobody knew.
Status FollowedFileSystem::list(const Found& found, std::uint64_t cookie, bool refer, bool& moved,
                                const std::function<bool(const DirectoryEntry&)>& visit) {
  std::vector<InodeId> spare;  // references that the state has already
  bool no_number = false;
  const Status done = found.state->fs->readdir(found.ino, cookie, refer, [&](const DirectoryEntry& entry) {
    Attributes attributes = entry.attributes;
    const InodeId ino = attributes.ino;
    const bool relative = entry.name == "." || entry.name == "..";
    const bool counts = refer && !relative;
    bool is_first = false;
    if (!relative) {
      const MutexLock guard(mutex_);
      moved = counts && found.state != current_;
      if (moved) return false;
      no_number = !known_.has_number(ino);
      if (no_number) return false;
      attributes.ino = known_.node_of(ino);
      if (counts) {  // before it is answered: behind that nothing may want memory
        known_.refer(attributes.ino, {found.ino, std::string(entry.name)}, S_ISDIR(attributes.mode));
        const MutexLock inner(found.state->mutex);
        is_first = found.state->referred.emplace(ino, true).second;
        if (!is_first) spare.push_back(ino);
      }
    }
    const auto take_back = [&] {
      if (!counts) return;
      {
        const MutexLock guard(mutex_);
        const bool nobody = known_.forget(attributes.ino, 1);
        if (!is_first) spare.pop_back();
        if (!is_first) return;
        const MutexLock inner(found.state->mutex);
        if (nobody) found.state->referred.erase(ino);
        if (nobody) return;
      }
      // The engine takes its reference back behind this, and who came meanwhile relies on it: they get another.
      if (within_memory([&] { return found.state->fs->lookup(found.ino, entry.name); })) return;
      const MutexLock inner(found.state->mutex);
      found.state->referred.erase(ino);
    };
    try {
      if (visit(DirectoryEntry{entry.name, entry.cookie, attributes})) return true;
    } catch (...) {
      take_back();
      throw;
    }
    take_back();
    return false;
  });
  for (const InodeId ino : spare) found.state->fs->forget(ino, 1);
  return done && no_number ? Status(fail(ESTALE)) : done;
}

void FollowedFileSystem::log(const std::string& line) const {
  if (options_.log) options_.log(line);
}

}  // namespace cffs
