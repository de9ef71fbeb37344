#include "core/fs/engine.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "core/fs/kept_in_table.h"
#include "core/fs/recovery.h"
#include "core/object/store_use.h"
#include "core/packed/packer.h"
#include "core/table/close_note.h"
#include "core/table/system_rows.h"

namespace cffs {
namespace {

// Rows that are behind before it is worth writing them earlier than the commit does.
constexpr std::size_t kFewStale = 1024;

// A small table is asked for whole, in a few large reads, before the first lookup wants a block of it. A large one is
// not: mounting must not depend on the number of files. A hint; and LevelDB may be merging the files that are listed.
void prefetch_table(ObjectStore& store) {
  constexpr std::uint64_t kSmall = 32u << 20;
  constexpr std::size_t kFew = 64;
  const auto names = store.list("table");
  if (!names) return;
  std::vector<std::pair<std::shared_ptr<Object>, std::uint64_t>> tables;
  std::uint64_t total = 0;
  for (const std::string& name : *names) {
    if (!name.ends_with(".ldb")) continue;
    if (tables.size() >= kFew) return;
    auto object = store.open(name);
    const auto info = object ? (*object)->info() : Result<ObjectInfo>(fail(object.error()));
    if (!info) continue;
    total += info->size;
    tables.emplace_back(std::move(*object), info->size);
  }
  if (total > kSmall) return;
  for (const auto& [object, size] : tables) object->prefetch(0, size);
}

std::string kernel_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id.empty() ? "unknown" : id;
}

// What is kept open by count shares the descriptors: objects to read, LevelDB's tables, objects that are not durable yet. The
// fourth share is for all that is open for a moment.
constexpr std::size_t kDescriptorShares = 4;
// Composites that files without a name keep open share the fourth with them.
constexpr std::size_t kNamelessShare = 2 * kDescriptorShares;
constexpr std::size_t kMostTables = 1000;
constexpr std::size_t kMostDirty = 4096;
constexpr std::uint64_t kLittleToReplay = 256u << 10;

std::size_t descriptor_limit() {
  constexpr std::size_t kUsual = 1024;
  rlimit limit;
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<std::size_t>(limit.rlim_cur) : kUsual;
}

FileSystemOptions with_defaults(FileSystemOptions options, const StoreFormat& format) {
  if (!options.policy) options.policy = grouping::make_policy("directory");
  if (!options.clock) options.clock = std::make_shared<SystemClock>();
  if (!options.name_hash) options.name_hash = format.name_hash;
  if (options.descriptors == 0) options.descriptors = descriptor_limit();
  options.open_objects = std::min(options.open_objects, options.descriptors / kDescriptorShares);
  if (options.boot_id.empty()) options.boot_id = kernel_boot_id();
  if (options.read_only) {
    options.access_times = AccessTimes::never;
    options.access_record_bytes = 0;
  }
  return options;
}

// Of a table that does not open for its rows; who mends it, or has what was durable at one moment, does not want to hear it.
Error with_cure(Error error, bool is_wanted) {
  if (is_wanted && error.kind == ErrorKind::corruption && error.context.find("cffs ") == std::string::npos)
    error.context += "; cffs fsck --repair mends what can be";
  return error;
}

}  // namespace

Result<std::unique_ptr<FileSystem>> FileSystem::open(ObjectStore& medium, FileSystemOptions wanted) {
  CFFS_TRY(const StoreFormat format, read_format(medium));
  if (!wanted.read_only) CFFS_TRY_VOID(check_changeable(format, medium.description()));
  FileSystemOptions options = with_defaults(std::move(wanted), format);
  Engine::Prepared prepared;
  if (options.read_only) prepared.overlay = std::make_unique<OverlayStore>(medium);
  ObjectStore& store = prepared.overlay ? *prepared.overlay : medium;
  CFFS_TRY(prepared.lock, use_alone(store, this_process()));
  if (!options.keep_what_is_whole && !options.is_checkpoint) {
    CFFS_TRY(const bool mends, store.exists(Recovery::kUnfinishedRepair));
    if (mends) {
      return fail(Error::corruption(
          store.description() + ": a repair was begun and not finished; cffs fsck --repair goes on with it"));
    }
  }
  const std::size_t share = options.descriptors / kDescriptorShares;
  prepared.dirty_objects = std::make_unique<DirtyObjects>(std::min(kMostDirty, share));
  TableOptions table_options;
  table_options.block_cache_bytes = options.cache_bytes;
  table_options.write_buffer_bytes = options.write_buffer_bytes;
  table_options.run_later = options.run_later;
  table_options.values_apart = format.values_apart;
  table_options.values = options.values;
  table_options.is_checkpoint = options.is_checkpoint;
  prepared.space = std::make_unique<SpaceGuard>(store);
  prepared.publishing =
      std::make_unique<Publishing>(store, *options.clock, static_cast<std::uint64_t>(options.keep_ms),
                                   static_cast<std::uint64_t>(options.commit_interval_ms));
  if (!options.read_only) {
    table_options.when_full = [space = prepared.space.get()] { return space->give(); };
    table_options.when_file_removed = [space = prepared.space.get()] { space->take_back(); };
    CFFS_TRY_VOID(prepared.publishing->begin());
    table_options.keeps_file = [publishing = prepared.publishing.get()](const std::string& name) {
      return publishing->keeps_file(name);
    };
  }
  table_options.in_memory = options.read_only;
  table_options.open_tables = std::min(kMostTables, share);
  table_options.keep_what_is_whole = options.keep_what_is_whole;
  table_options.before_rows_become_durable = [dirty = prepared.dirty_objects.get()] {
    return dirty->sync_all();
  };
  const bool wants_cure = !options.keep_what_is_whole && !options.is_checkpoint;
  auto table = Table::open(store, table_options);
  if (!table) return fail(with_cure(std::move(table).error(), wants_cure));
  prepared.table = std::move(*table);
  prefetch_table(store);  // now: it would keep the device from the few small reads of opening
  auto engine = std::make_unique<Engine>(store, std::move(options), format, std::move(prepared));
  if (Status done = engine->start(); !done) return fail(with_cure(std::move(done).error(), wants_cure));
  return engine;
}

Engine::Engine(ObjectStore& store, FileSystemOptions options, const StoreFormat& format, Prepared prepared)
    : overlay_(std::move(prepared.overlay)),
      store_(store),
      options_(std::move(options)),
      policy_(options_.policy),
      format_(format),
      store_lock_(std::move(prepared.lock)),
      dirty_objects_(std::move(prepared.dirty_objects)),
      publishing_owner_(std::move(prepared.publishing)),
      publishing_(*publishing_owner_),
      space_guard_(std::move(prepared.space)),
      space_(*space_guard_),
      table_(std::move(prepared.table)),
      counter_(*table_),
      file_count_(*table_),
      nameless_(options_.nameless_bytes, options_.descriptors / kNamelessShare,
                std::chrono::milliseconds(options_.parting_ms)),
      nodes_(options_.awake_nodes, *options_.name_hash),
      composites_(store, options_.open_objects / 2, options_.background, options_.frame_cache_bytes),
      blobs_(store, options_.open_objects / 2),
      moments_(store),
      removals_(*table_, blobs_, composites_, moments_, publishing_),
      staged_(*table_, nodes_, *options_.clock),
      rows_(*table_, locks_, nodes_, staged_, freed_, removals_, *options_.name_hash),
      homes_(format_, *table_, blobs_, composites_, *dirty_objects_, removals_, space_, nameless_, moments_),
      handles_(*table_, locks_),
      rehousing_(format_, *table_, locks_, nodes_, rows_, homes_, blobs_, composites_, counter_, removals_,
                 space_, renamed_),
      loader_(*table_, locks_, nodes_, rows_, homes_, composites_, removals_, counter_, file_count_, space_) {
  store_.on_shortage([this] { return drop_cached_objects(); });
  space_.on_shortage([this](std::uint64_t cost) { return give_back_removed(cost); });
  space_.on_need([this] { return table_->room_needed(); });
  removals_.spare([this](CompositeId id) { return nameless_.records.holds_any(id); });
  composites_.on_failed_sync([this] { table_->poison(); });
  composites_.on_absent([this](InodeId file) { return policy()->share_around(file.value); });
  adopt(*options_.policy);
  if (options_.access_record_bytes > 0) {
    access_record_ = std::make_unique<AccessRecord>(store_, options_.access_record_bytes);
  }
}

Status Engine::start() {
  CFFS_TRY_VOID(counter_.load(options_.keep_what_is_whole || options_.read_only));
  // What an earlier mount left may be durable, all of it.
  homes_.note_durable_below(counter_.peek());
  CFFS_TRY_VOID(load_root());
  CFFS_TRY_VOID(load_compression());
  CFFS_TRY_VOID(load_sharing());
  if (!options_.is_checkpoint) {
    CFFS_TRY_VOID(file_count_.load());
    CFFS_TRY_VOID(Recovery(store_, *table_, blobs_, options_.boot_id, options_.log)
                      .begin(options_.read_only, publishing_.followed(),
                             options_.keep_what_is_whole && !options_.read_only));
    // Who mends looks whether a row names what waits. What he leaves goes with the next user.
    if (!options_.keep_what_is_whole) CFFS_TRY_VOID(removals_.load());
    CFFS_TRY_VOID(staged_.load());
  }
  if (publishing_.followed()) moments_.ask_for_followers(&publishing_.kept_bytes());
  if (!options_.read_only) {
    CFFS_TRY_VOID(removals_.settle());
    space_.hold();
  }
  if (options_.is_checkpoint) {
    file_count_.take(options_.files_of_checkpoint);
  } else {
    if (options_.background) file_count_.begin_counting();
  }
  started_ = true;
  if (options_.read_only) {
    refuse_changes();
  } else if (options_.background) {
    CFFS_TRY(committer_, Committer::begin(
                             options_.commit_interval_ms, [this] { commit_in_background(); },
                             [this] { settle_early(); }, [this] { look_between_commits(); }));
    rows_.on_many_stale(std::max(kFewStale, options_.awake_nodes / 2), [this] {
      if (nodes_.is_crowded()) committer_->settle_soon();
    });
    homes_.on_many_dirty([this] { committer_->settle_soon(); });
  }
  return {};
}

void Engine::refuse_changes() {
  table_->make_read_only();
  overlay_->freeze();
}

Engine::~Engine() { (void)Engine::close(); }

// A store that could not be started is not closed in order: its next user recovers it.
Status Engine::close() {
  if (closed_) return {};
  closed_ = true;
  rows_.on_many_stale(0, nullptr);
  homes_.on_many_dirty(nullptr);
  early_writeback_.stop();
  committer_.reset();
  const Status result = started_ && !options_.read_only ? leave_clean() : Status();
  store_.on_shortage(nullptr);
  composites_.stop_reading_ahead();
  nodes_.clear();
  file_count_.stop();
  const auto log_ends = result ? table_->ends_when_closed() : std::map<std::uint64_t, std::uint64_t>();
  table_.reset();
  // Without it the table is judged by its own notes alone.
  if (!log_ends.empty()) (void)write_close_note(store_, "table", log_ends);
  store_lock_.reset();
  return result;
}

Status Engine::leave_clean() {
  // What files without a name still have goes now: nobody uses them any more.
  removals_.spare(nullptr);
  Status result = options_.keep_what_is_whole ? Status() : removals_.load();
  if (Status done = commit(); !done && result) result = std::move(done);
  if (access_record_ && result)
    (void)access_record_->flush();  // a hint is not worth an error, nor a recovery
  if (Status done = counter_.close(); !done && result) result = std::move(done);
  if (!result) return result;
  table_->shorten_log(kLittleToReplay);
  // An object whose removal did not reach the medium would be back, and after a store that was closed nobody looks for it.
  CFFS_TRY_VOID(store_.sync_names());
  if (table_->unchanged() && file_count_.is_in_table()) return {};
  Batch batch;
  table_->save_values(batch);
  Recovery::mark_closed(batch);
  // Who mends writes rows behind the count's back.
  if (!options_.keep_what_is_whole) file_count_.save(batch);
  return table_->write_last(batch);
}

Status Engine::load_root() {
  const Key key = Key::null_name(kRootInode);
  const RowLocks::SharedGuard guard(locks_, key);
  CFFS_TRY(const Row row, table_->get_row(key));
  const Entry* entry = row.find("");
  if (entry == nullptr || !entry->inode) return fail(Error::corruption("table: the root has no row"));
  CFFS_TRY_VOID(rows_.refer(*entry->inode, key, row.entries.size() == 1, nullptr, ""));
  return {};
}

// Where nothing was ever packed, no composite is asked whether it is. A checkpoint's may have become it since.
Status Engine::load_compression() {
  CFFS_TRY(const auto row, table_->get(system_key(SystemField::compression)));
  if (row) {
    const auto how = decode_compression(*row);
    if (!how && !options_.keep_what_is_whole) return fail(how.error());
    composites_.compress(how.value_or(Compression{}));
  }
  if (row || options_.is_checkpoint || options_.keep_what_is_whole) composites_.expect_packed();
  return {};
}

Status Engine::compress(const Compression& how) {
  if (!format_.packed_composites) {
    return fail(
        Error::usage("the store " + store_.description() +
                     " is from before composites could be compressed: import its files into a new one"));
  }
  Batch batch;
  batch.put(system_key(SystemField::compression), encode_compression(how));
  CFFS_TRY_VOID(table_->write(batch));
  CFFS_TRY_VOID(table_->sync());  // before the first object that nobody could read without it
  composites_.expect_packed();
  composites_.compress(how);
  return {};
}

// Where nobody ever shared, no record is asked whose it is.
Status Engine::load_sharing() {
  CFFS_TRY(const auto row, table_->get(system_key(SystemField::sharing)));
  const auto on = row ? decode_sharing(*row) : Result<bool>(false);
  const bool only_looks = options_.keep_what_is_whole || options_.read_only;
  if (!on && !only_looks) return fail(on.error());
  const bool may = row || options_.keep_what_is_whole;
  if (may) table_->set_sharing(on.value_or(false) ? Sharing::on : Sharing::once);
  return {};
}

Status Engine::dedupe(bool on) {
  if (!format_.shared_members) {
    return fail(Error::usage("the store " + store_.description() +
                             " is from before files could share content: import its files into a new one"));
  }
  Batch batch;
  batch.put(system_key(SystemField::sharing), encode_sharing(on));
  CFFS_TRY_VOID(table_->write(batch));
  CFFS_TRY_VOID(table_->sync());  // before the first record that is several files'
  table_->set_sharing(on ? Sharing::on : Sharing::once);
  return {};
}

std::shared_ptr<const grouping::Policy> Engine::policy() const {
  const MutexLock guard(policy_mutex_);
  return policy_;
}

void Engine::set_policy(std::shared_ptr<const grouping::Policy> policy) {
  adopt(*policy);
  const MutexLock guard(policy_mutex_);
  policy_ = std::move(policy);
}

void Engine::adopt(const grouping::Policy& policy) {
  homes_.use_composites(policy.makes_composites());
  // Else they stay where they are put. And in a pool what was written is in nobody's cache: to move it would be a request for each.
  table_->put_values_apart(policy.makes_composites() && store_.outlives_the_process());
  renamed_.follow(policy.plan() != nullptr || policy.references() != nullptr);
}

std::uint64_t Engine::load_limit() const {
  return policy()->makes_composites() ? format_.composite_file_max : format_.inline_max;
}

bool Engine::loads(std::uint64_t bytes,
                   const std::function<Result<std::size_t>(std::uint64_t, Bytes)>& read) const {
  return bytes <= kPackedUnseen || (read && is_worth_packing(composites_.compression(), bytes, read));
}

Result<std::vector<std::string>> Engine::load(std::vector<std::vector<NewFile>> groups) {
  // Whatever grew since somebody asked: more no reader of such a store takes for a member.
  const std::uint64_t most = std::max(kSmallFileMax, format_.composite_file_max);
  for (const auto& group : groups) {
    for (const NewFile& file : group) {
      if (file.content.size() > most) return fail(EFBIG, file.name);
    }
  }
  const auto by = policy();
  return loader_.load(std::move(groups), *by, kept_in_table(*by, format_));
}

void Engine::note_access(InodeId ino, std::uint64_t stream) {
  if (access_record_) access_record_->note({options_.clock->steady_ms(), ino, stream});
}

void Engine::log(const std::string& line) const {
  if (options_.log) options_.log(line);
}

}  // namespace cffs
