#include "core/transfer/store_destination.h"

#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <sstream>

#include "core/fs/acl.h"
#include "core/fs/kept_in_table.h"
#include "core/fs/xattr.h"
#include "grouping/packing.h"

namespace cffs {
namespace {

constexpr std::size_t kMostKilled = 100;

std::string line_of(std::initializer_list<std::uint64_t> numbers) {
  std::string line;
  for (const std::uint64_t n : numbers) line += (line.empty() ? "" : " ") + std::to_string(n);
  return line + "\n";
}

std::unordered_set<gid_t> groups_of_caller() {
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(0, ::getgroups(0, nullptr))));
  groups.resize(
      static_cast<std::size_t>(std::max(0, ::getgroups(static_cast<int>(groups.size()), groups.data()))));
  groups.push_back(::getegid());
  return {groups.begin(), groups.end()};
}

}  // namespace

StoreDestination::StoreDestination(FileSystem& fs, bool keeps_owners)
    : fs_(fs),
      keeps_owners_(keeps_owners),
      groups_(keeps_owners ? std::unordered_set<gid_t>() : groups_of_caller()),
      first_new_inode_(fs.next_inode()),
      table_bytes_(kept_in_table(*fs.policy(), fs.store_format())) {}

// Where another keeps it, nobody gets its owner's rights by set-id bits.
StoreDestination::Owner StoreDestination::owner_of(const Inode& attributes) const {
  if (keeps_owners_) return {attributes.uid, attributes.gid, 07777};
  const bool is_groups = groups_.contains(attributes.gid);
  const bool is_owners = is_groups && attributes.uid == ::geteuid();
  return {::geteuid(), is_groups ? attributes.gid : ::getegid(),
          is_owners || attributes.is_directory() ? mode_t{07777} : mode_t{01777}};
}

// An import may set any attribute.
Caller StoreDestination::caller_of(const Inode& attributes) const {
  const Owner owner = owner_of(attributes);
  return Caller::privileged(owner.uid, owner.gid);
}

StoreDestination::~StoreDestination() {
  const MutexLock guard(mutex_);
  for (const InodeId directory : directories_) fs_.forget(directory, 1);
}

// Which transfers had temporaries and were killed is an attribute of the root, that no mount, archive or import brings:
// "TRANSFER BEGIN END" each, in inodes; one that is under way
// has no end. A file that is made later, by whoever, is none of theirs.
Result<std::uint64_t> StoreDestination::begin() {
  killed_.clear();
  const auto text = fs_.getxattr(kRootInode, kTransfersAttribute);
  if (!text) return 0;
  std::istringstream lines(*text);
  std::string line;
  bool ends_now = false;
  while (std::getline(lines, line)) {
    Killed killed;
    std::istringstream words(line);
    if (!(words >> killed.transfer >> killed.begin)) continue;
    if (!(words >> killed.end)) {
      killed.end = first_new_inode_.value;
      ends_now = true;
    }
    killed_.push_back(killed);
  }
  if (ends_now) {
    CFFS_TRY_VOID(note_transfers(false));
  }
  return 0;
}

Status StoreDestination::note_transfers(bool with_this) {
  std::string text;
  const std::size_t first = killed_.size() > kMostKilled ? killed_.size() - kMostKilled : 0;
  for (std::size_t i = first; i < killed_.size(); ++i)
    text += line_of({killed_[i].transfer, killed_[i].begin, killed_[i].end});
  if (with_this) text += line_of({transfer_number(), first_new_inode_.value});
  if (text.empty()) return fs_.removexattr(kRootInode, kTransfersAttribute);
  return fs_.setxattr(kRootInode, kTransfersAttribute, text, XattrMode::any, Caller::privileged());
}

void StoreDestination::expect_temporaries() {
  noted_ = note_transfers(true).has_value();  // where it cannot be, what is left stays
}

// Where it cannot be taken back the next transfer looks for some, and finds none.
void StoreDestination::end_temporaries() {
  if (noted_.exchange(false)) (void)note_transfers(false);
}

bool StoreDestination::is_left_over(InodeId directory, const std::string& name) {
  const auto transfer = transfer_of(name);
  if (!transfer) return false;
  const auto there = look(directory, name);
  return there && std::any_of(killed_.begin(), killed_.end(), [&](const Killed& killed) {
           return killed.transfer == *transfer && there->ino.value >= killed.begin &&
                  there->ino.value < killed.end;
         });
}

// One reference for each, however often it is come by.
InodeId StoreDestination::keep(InodeId directory) {
  bool first = false;
  {
    const MutexLock guard(mutex_);
    first = directory != kRootInode && directories_.insert(directory).second;
  }
  if (!first) fs_.forget(directory, 1);
  return directory;
}

void StoreDestination::leave(InodeId directory) {
  {
    const MutexLock guard(mutex_);
    if (directories_.erase(directory) == 0) return;
  }
  fs_.forget(directory, 1);
}

Result<Attributes> StoreDestination::look(InodeId directory, const std::string& name) {
  CFFS_TRY(const Attributes there, fs_.lookup(directory, name));
  fs_.forget(there.ino, 1);
  return there;
}

Result<std::string> StoreDestination::target(InodeId directory, const std::string& name) {
  CFFS_TRY(const Attributes there, fs_.lookup(directory, name));
  auto found = fs_.readlink(there.ino);
  fs_.forget(there.ino, 1);
  return found;
}

Result<ReadAt> StoreDestination::open(InodeId directory, const std::string& name) {
  CFFS_TRY(const Attributes there, fs_.lookup(directory, name));
  const std::shared_ptr<const InodeId> file(new InodeId(there.ino), [this](const InodeId* ino) {
    fs_.forget(*ino, 1);
    delete ino;
  });
  return ReadAt([this, file](std::uint64_t offset, Bytes out) { return fs_.read(*file, offset, out); });
}

Result<std::vector<std::pair<std::string, bool>>> StoreDestination::names(InodeId directory) {
  std::vector<std::pair<std::string, bool>> found;
  CFFS_TRY_VOID(fs_.readdir(directory, 0, false, [&](const DirectoryEntry& entry) {
    if (entry.name != "." && entry.name != "..")
      found.emplace_back(std::string(entry.name), S_ISDIR(entry.attributes.mode));
    return true;
  }));
  return found;
}

Result<InodeId> StoreDestination::make_directory(InodeId parent, const std::string& name,
                                                 const Inode& attributes) {
  CFFS_TRY(const Attributes made, fs_.mkdir(parent, name, 0700, caller_of(attributes)));
  return keep(made.ino);
}

Result<InodeId> StoreDestination::enter(InodeId parent, const std::string& name, bool) {
  CFFS_TRY(const Attributes there, fs_.lookup(parent, name));
  if (S_ISDIR(there.mode)) return keep(there.ino);
  fs_.forget(there.ino, 1);
  return fail(ENOTDIR);
}

// It has no name until all of it is there, so that whoever is killed leaves no part of it.
Status StoreDestination::make_file(InodeId parent, const std::string& name, const Inode& attributes,
                                   const CopyFile& copy) {
  CFFS_TRY(const Attributes made, fs_.make_unnamed(parent, S_IFREG | 0600, caller_of(attributes)));
  AttributeChange size;
  size.size = attributes.size;
  Status done;
  if (auto sized = fs_.setattr(made.ino, size, Caller::privileged()); !sized) done = fail(sized.error());
  if (done) {
    done = copy([&](std::uint64_t offset, std::string_view bytes) {
      return fs_.write(made.ino, offset, as_bytes(bytes), Caller::privileged());
    });
  }
  if (done) {
    settle_inode(made.ino, attributes);
    const auto named = fs_.link(made.ino, parent, name);
    if (named) fs_.forget(named->ino, 1);
    if (!named) done = fail(named.error());
  }
  fs_.forget(made.ino, 1);
  return done;
}

Status StoreDestination::make_node(InodeId parent, const std::string& name, const Inode& attributes) {
  const auto made = attributes.is_symlink()
                        ? fs_.symlink(parent, name, attributes.target, caller_of(attributes))
                        : fs_.mknod(parent, name, attributes.mode, attributes.rdev, caller_of(attributes));
  if (!made) return fail(made.error());
  settle_inode(made->ino, attributes);
  fs_.forget(made->ino, 1);
  return {};
}

Status StoreDestination::make_link(InodeId first_parent, const std::string& first_name, InodeId parent,
                                   const std::string& name) {
  CFFS_TRY(const Attributes first, fs_.lookup(first_parent, first_name));
  const auto made = fs_.link(first.ino, parent, name);
  if (made) fs_.forget(made->ino, 1);
  fs_.forget(first.ino, 1);
  return made ? Status() : Status(fail(made.error()));
}

Status StoreDestination::replace(InodeId parent, const std::string& from, const std::string& to) {
  return fs_.rename(parent, from, parent, to, RenameMode::replace, Caller::privileged());
}

Status StoreDestination::remove(InodeId parent, const std::string& name, bool is_directory) {
  return is_directory ? fs_.rmdir(parent, name) : fs_.unlink(parent, name);
}

void StoreDestination::settle(InodeId parent, const std::string& name, const Inode& attributes) {
  const auto there = fs_.lookup(parent, name);
  if (!there) return tell("'" + name + "': owner, mode or times: " + there.error().message());
  settle_inode(there->ino, attributes);
  fs_.forget(there->ino, 1);
}

void StoreDestination::settle_directory(InodeId directory, const Inode& attributes) {
  settle_inode(directory, attributes);
}

// Attributes that creation does not set.
void StoreDestination::settle_inode(InodeId ino, const Inode& wanted) {
  AttributeChange change;
  const Owner owner = owner_of(wanted);
  change.uid = owner.uid;
  change.gid = owner.gid;
  if (!wanted.is_symlink()) change.mode = wanted.mode & owner.bits;
  change.atime_ns = wanted.atime_ns;
  change.mtime_ns = wanted.mtime_ns;
  if (const auto done = fs_.setattr(ino, change, Caller::privileged()); !done) tell(done.error().message());
  // After the owner: a change of it takes capabilities away.
  for (const auto& [name, value] : wanted.xattrs) {
    if (is_order_to_mount(name)) {
      tell_order("extended attribute " + name);
      continue;
    }
    if (const Status done = fs_.setxattr(ino, name, value, XattrMode::any, Caller::privileged()); !done) {
      if (name == kAccessAcl) {
        change.mode = mode_without_acl(wanted.mode, value) & 07777;
        (void)fs_.setattr(ino, change, Caller::privileged());
      }
      tell("extended attribute " + name + ": " + done.error().message());
    }
  }
}

bool StoreDestination::takes(std::uint64_t size, const ReadAt& content) const {
  return fs_.loads(size, content);
}

bool StoreDestination::in_a_group(std::uint64_t size) const {
  return size > table_bytes_ && fs_.policy()->makes_composites();
}

Result<std::vector<std::string>> StoreDestination::load(std::vector<NewFile> files) {
  std::vector<grouping::Candidate> members;
  std::vector<std::size_t> index;
  grouping::Group together;  // what is in no group
  for (std::size_t i = 0; i < files.size(); ++i) {
    NewFile& file = files[i];
    const Owner owner = owner_of(file.inode);
    file.inode.uid = owner.uid;
    file.inode.gid = owner.gid;
    file.inode.mode &= ~mode_t{07777} | owner.bits;
    for (const auto& [name, value] : std::exchange(file.inode.xattrs, {})) {
      if (is_order_to_mount(name)) {
        tell_order(file.name + ": extended attribute " + name);
        continue;
      }
      const Inode before = file.inode;
      if (const Status done = put_xattr(file.inode, name, value, Caller::privileged()); !done) {
        file.inode = before;
        if (name == kAccessAcl) file.inode.mode = mode_without_acl(before.mode, value);
        tell(file.name + ": extended attribute " + name + ": " + done.error().message());
      }
    }
    if (in_a_group(file.content.size())) {
      members.push_back({file.parent.value, file.content.size(), {}, 0});
      index.push_back(i);
    } else {
      together.push_back(i);
    }
  }
  std::vector<grouping::Group> groups;
  if (!members.empty()) groups = fs_.policy()->group(members, fs_.store_format().composite_max, {});
  for (grouping::Group& group : groups) {
    for (std::size_t& i : group) i = index[i];
  }
  if (!together.empty()) groups.push_back(std::move(together));
  std::vector<std::vector<NewFile>> grouped;
  for (const grouping::Group& group : groups) {
    grouped.emplace_back();
    for (const std::size_t i : group) grouped.back().push_back(std::move(files[i]));
  }
  return fs_.load(std::move(grouped));
}

}  // namespace cffs
