#include "core/fs/file_system.h"

#include <unistd.h>

#include <array>
#include <fstream>
#include <random>

#include "core/fs/committer.h"
#include "core/fs/consolidator.h"
#include "core/fs/locking.h"
#include "core/table/name_hash.h"

namespace cffs {
namespace {

std::string lock_owner() {
  std::array<char, 256> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  return "pid " + std::to_string(::getpid()) + " on " + host.data();
}

// A small table is asked for whole, in a few large reads, before the first lookup wants a block of it. A large one is
// not: mounting must not depend on the number of files.
Status prefetch_table(ObjectStore& store) {
  constexpr std::uint64_t kSmall = 32u << 20;
  CFFS_TRY(const auto names, store.list("table"));
  std::vector<std::pair<std::shared_ptr<Object>, std::uint64_t>> tables;
  std::uint64_t total = 0;
  for (const std::string& name : names) {
    if (!name.ends_with(".ldb")) continue;
    if (tables.size() >= 64) return {};
    CFFS_TRY(auto object, store.open(name));
    CFFS_TRY(const ObjectInfo info, object->info());
    total += info.size;
    tables.emplace_back(std::move(object), info.size);
  }
  if (total > kSmall) return {};
  for (const auto& [object, size] : tables) object->prefetch(0, size);
  return {};
}

std::string kernel_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id.empty() ? "unknown" : id;
}

}  // namespace

bool FileSystem::Target::same_place(const Target& other) const {
  return entry.ino == other.entry.ino && linked == other.linked && node == other.node &&
         inode.home == other.inode.home && inode.extent.composite == other.inode.extent.composite;
}

FileSystem::FileSystem(ObjectStore& store, FileSystemOptions options, StoreFormat format)
    : store_(store),
      options_(std::move(options)),
      format_(std::move(format)),
      composites_(store, options_.open_objects / 2),
      blobs_(store, options_.open_objects / 2),
      space_(store) {}

Status FileSystem::format(ObjectStore& store, const StoreFormat& wanted, const Clock& clock) {
  StoreFormat format = wanted;
  format.created_ns = clock.now_ns();
  std::random_device random;
  format.uuid.clear();
  for (int i = 0; i < 32; ++i) format.uuid += "0123456789abcdef"[random() % 16];

  CFFS_TRY_VOID(check_format(format));
  CFFS_TRY(const auto lock, store.lock(lock_owner()));
  // The table first: a store without a superblock is no store, so a crash in between leaves nothing
  // half-made.
  TableOptions options;
  options.create = true;
  CFFS_TRY(const auto table, Table::open(store, options));
  Inode root;
  root.ino = kRootInode;
  root.mode = S_IFDIR | 0755;
  root.uid = ::geteuid();
  root.gid = ::getegid();
  root.nlink = 2;
  root.atime_ns = root.mtime_ns = root.ctime_ns = root.btime_ns = format.created_ns;
  Batch batch;
  batch.put(Key::null_name(kRootInode), encode_single_row("", root));
  FileCount::format(batch);
  CFFS_TRY_VOID(table->write(batch));
  CFFS_TRY_VOID(table->sync());
  return write_format(store, format);
}

Result<std::unique_ptr<FileSystem>> FileSystem::open(ObjectStore& store, FileSystemOptions options) {
  CFFS_TRY(const StoreFormat format, read_format(store));
  auto locked = store.lock(lock_owner());
  if (!locked && locked.error().errno_value == EBUSY) {
    return fail(Error{ErrorKind::usage, EBUSY,
                      "store " + store.description() + " is in use by " + locked.error().context +
                          "; unmount it, or wait for that command"});
  }
  CFFS_TRY(auto lock, std::move(locked));
  if (!options.policy) options.policy = grouping::make_policy("directory");
  if (!options.clock) options.clock = std::make_shared<SystemClock>();
  if (options.name_hash == nullptr) options.name_hash = default_name_hash;
  if (options.boot_id.empty()) options.boot_id = kernel_boot_id();

  std::unique_ptr<FileSystem> fs(new FileSystem(store, std::move(options), format));
  fs->makes_composites_.store(fs->options_.policy->makes_composites());
  fs->store_lock_ = std::move(lock);
  if (fs->options_.access_record_bytes > 0) {
    fs->access_record_ = std::make_unique<AccessRecord>(store, fs->options_.access_record_bytes);
  }
  TableOptions table_options;
  table_options.block_cache_bytes = fs->options_.cache_bytes;
  table_options.before_rows_become_durable = [raw = fs.get()] { return raw->dirty_objects_.sync_all(); };
  CFFS_TRY_VOID(prefetch_table(store));
  CFFS_TRY(fs->table_, Table::open(store, table_options));
  fs->counter_ = std::make_unique<InodeCounter>(*fs->table_);
  CFFS_TRY_VOID(fs->counter_->load());
  // What an earlier mount left may be durable, all of it.
  fs->durable_below_.store(fs->counter_->peek());
  CFFS_TRY_VOID(fs->load_root());
  fs->handles_ = std::make_unique<HandleIndex>(*fs->table_, fs->locks_);
  fs->consolidator_ = std::make_unique<Consolidator>(*fs);
  CFFS_TRY_VOID(fs->recover());
  fs->file_count_ = std::make_unique<FileCount>(*fs->table_);
  CFFS_TRY_VOID(fs->file_count_->load(fs->options_.background));
  if (fs->options_.background) {
    fs->committer_ = std::make_unique<Committer>(*fs);
    fs->consolidator_->start();
  }
  return fs;
}

FileSystem::~FileSystem() { (void)close(); }

Status FileSystem::close() {
  if (closed_ || !table_) return {};
  closed_ = true;
  committer_.reset();
  if (consolidator_) consolidator_->stop();
  Status result = commit();
  if (access_record_ && result) result = access_record_->flush();
  if (Status done = counter_->close(); !done && result) result = std::move(done);
  if (result) result = mark_closed();
  nodes_.clear();
  consolidator_.reset();
  counter_.reset();
  file_count_.reset();
  handles_.reset();
  table_.reset();
  store_lock_.reset();
  return result;
}

Key FileSystem::entry_key(InodeId directory, std::string_view name) const {
  // 0 belongs to the null name: an entry must not share the root's own row.
  const std::uint64_t hash = options_.name_hash(name);
  return Key::entry(directory, hash == 0 ? 1 : hash);
}

std::shared_ptr<const grouping::Policy> FileSystem::policy() const {
  const std::lock_guard guard(policy_mutex_);
  return options_.policy;
}

void FileSystem::set_policy(std::shared_ptr<const grouping::Policy> policy) {
  makes_composites_.store(policy->makes_composites());
  const std::lock_guard guard(policy_mutex_);
  options_.policy = std::move(policy);
}

void FileSystem::note_access(InodeId ino, std::uint64_t stream) {
  if (access_record_) access_record_->note({options_.clock->steady_ms(), ino, stream});
}

void FileSystem::log(const std::string& line) const {
  if (options_.log) options_.log(line);
}

Status FileSystem::load_root() {
  const Key key = Key::null_name(kRootInode);
  CFFS_TRY(const Row row, table_->get_row(key));
  const Entry* entry = row.find("");
  if (entry == nullptr || !entry->inode) return fail(Error::corruption("table: the root has no row"));
  (void)nodes_.acquire(kRootInode, [&] {
    return std::make_shared<Node>(*entry->inode, key, nullptr, "", row.entries.size() == 1);
  });
  return {};
}

Result<NodePtr> FileSystem::node(InodeId ino) const {
  NodePtr found = nodes_.find(ino);
  if (!found) return fail(ESTALE);
  return found;
}

Result<NodePtr> FileSystem::directory(InodeId ino) const {
  CFFS_TRY(NodePtr found, node(ino));
  if (!S_ISDIR(found->type)) return fail(ENOTDIR);
  return found;
}

Attributes FileSystem::attributes_of(const Inode& n) const {
  Attributes a;
  a.ino = n.ino;
  a.mode = n.mode;
  a.nlink = n.nlink;
  a.uid = n.uid;
  a.gid = n.gid;
  a.rdev = n.rdev;
  a.size = n.is_symlink() ? n.target.size() : n.size;
  a.allocated = n.home == Home::blob ? n.allocated : (n.size + 511) / 512 * 512;
  a.atime_ns = n.atime_ns;
  a.mtime_ns = n.mtime_ns;
  a.ctime_ns = n.ctime_ns;
  a.btime_ns = n.btime_ns;
  return a;
}

NodePtr FileSystem::refer(const Inode& inode, Key row_key, bool row_alone, NodePtr parent,
                          std::string_view name) {
  return nodes_.acquire(
      inode.ino, [&] { return std::make_shared<Node>(inode, row_key, std::move(parent), name, row_alone); });
}

Result<Attributes> FileSystem::lookup(InodeId parent_ino, std::string_view name) {
  if (name == "." || name == "..") {  // "." of any file: whoever has a handle asks so
    CFFS_TRY(NodePtr found, find_by_number(parent_ino));
    if (name == "..") {
      NodePtr up = found;
      {
        const std::shared_lock guard(found->mutex);
        if (found->parent) up = found->parent;
      }
      (void)nodes_.acquire(up->ino, [&] { return up; });
      found = std::move(up);
      forget(parent_ino, 1);
    }
    const std::shared_lock guard(found->mutex);
    return attributes_of(found->inode);
  }
  CFFS_TRY(const NodePtr parent, directory(parent_ino));
  if (name.size() > 255) return fail(ENAMETOOLONG);
  const Key key = entry_key(parent_ino, name);
  // A hard link's second row may go between the two looks; then the name has changed too.
  for (;;) {
    InodeId linked;
    {
      const RowLocks::SharedGuard guard(locks_, key);
      CFFS_TRY(const Row row, table_->get_row(key));
      const Entry* entry = row.find(name);
      if (entry == nullptr) return fail(ENOENT);
      if (entry->inode) {
        const NodePtr found = refer(*entry->inode, key, row.entries.size() == 1, parent, name);
        const std::shared_lock node_guard(found->mutex);
        return attributes_of(found->inode);
      }
      linked = entry->ino;
    }
    const Key null_key = Key::null_name(linked);
    const RowLocks::SharedGuard guard(locks_, null_key);
    CFFS_TRY(const Row row, table_->get_row(null_key));
    const Entry* entry = row.find("");
    if (entry == nullptr || !entry->inode) continue;
    const NodePtr found = refer(*entry->inode, null_key, row.entries.size() == 1, parent, name);
    const std::shared_lock node_guard(found->mutex);
    return attributes_of(found->inode);
  }
}

void FileSystem::forget(InodeId ino, std::uint64_t references) {
  if (ino == kRootInode || !nodes_.release(ino, references)) return;
  // An unlink or a write may come in between; then there is more to settle.
  for (int attempt = 0; attempt < 3; ++attempt) {
    NodePtr gone = nodes_.find(ino);
    if (!gone) return;
    NodePtr parent;
    bool unlinked = false;
    bool stale = false;
    {
      const std::shared_lock guard(gone->mutex);
      parent = gone->parent;
      unlinked = gone->unlinked;
      stale = gone->row_stale;
    }
    if (unlinked) {
      release_unlinked(*gone);
    } else if (stale && !flush_node(*gone)) {
      break;  // the table refuses writes; the commit reports it
    }
    gone.reset();
    const NodeTable::Erased erased = nodes_.erase_unreferenced(ino);
    if (erased == NodeTable::Erased::unsettled) continue;
    if (erased == NodeTable::Erased::in_use) break;
    // A directory whose references went before its children's goes with the last of them.
    if (parent && parent->ino != kRootInode) {
      const InodeId up = parent->ino;
      parent.reset();
      forget(up, 0);
    }
    return;
  }
  const std::lock_guard guard(stale_mutex_);
  leftovers_.push_back(ino);
}

Result<SpaceInfo> FileSystem::statfs() { return store_.space(); }

Result<std::string> FileSystem::readlink(InodeId ino) {
  CFFS_TRY(const NodePtr link, node(ino));
  const std::shared_lock guard(link->mutex);
  if (!link->inode.is_symlink()) return fail(EINVAL);
  return link->inode.target;
}

}  // namespace cffs
