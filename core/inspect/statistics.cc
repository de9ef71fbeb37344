#include "core/inspect/statistics.h"

#include <string>
#include <unordered_map>

#include "core/composite/composite_store.h"
#include "core/fs/space_guard.h"
#include "core/table/table.h"

namespace cffs {
namespace {

void count_inode(Statistics& s, const Inode& inode) {
  if (inode.is_directory()) {
    ++s.directories;
  } else if (inode.is_symlink()) {
    ++s.symlinks;
  } else if (!inode.is_regular()) {
    ++s.specials;
  } else {
    ++s.files;
    s.file_bytes += inode.size;
    if (inode.home == Home::none) ++s.empty_files;
    if (inode.home == Home::inline_) ++s.inline_files, s.inline_bytes += inode.size;
    if (inode.home == Home::composite) ++s.member_files, s.member_bytes += inode.size;
    if (inode.home == Home::blob) ++s.blobs, s.blob_bytes += inode.size;
    if (inode.sealed) ++s.sealed_blobs;
  }
}

// Which policy made a composite that has this object.
using PolicyOf = std::unordered_map<std::string, std::uint8_t>;

Status count_rows(const Table& table, Statistics& s, PolicyOf& policy_of) {
  NamespaceVisitor visitor;
  visitor.entries = [&](Key, const Row& row) {
    for (const Entry& entry : row.entries) {
      if (!entry.name.empty()) ++s.names;
      if (entry.inode) count_inode(s, *entry.inode);
    }
    return true;
  };
  visitor.composite = [&](CompositeId id, const CompositeRow& row) {
    policy_of[CompositeStore::object_name(id)] = row.policy;
    Statistics::ByPolicy& of_policy = s.by_policy[row.policy];
    ++of_policy.composites;
    of_policy.bytes += row.size;
    ++s.composites;
    s.composite_bytes += row.size;
    s.live_bytes += row.live_bytes;
    s.freed_bytes += row.freed_bytes;
    return true;
  };
  visitor.member_files = [&](CompositeId, std::uint32_t, const MemberFiles& row) {
    if (row.files.size() > 1) s.sharing_files += row.files.size();
    return true;
  };
  CFFS_TRY_VOID(table.scan_namespace(visitor));
  CFFS_TRY_VOID(table.scan_tag(KeyTag::staged_directory,
                               [&](Key, std::string_view) { return ++s.staged_directories, true; }));
  return table.scan_tag(KeyTag::pending_removal,
                        [&](Key, std::string_view) { return ++s.pending_removals, true; });
}

}  // namespace

Result<Statistics> collect_statistics(FileSystem& fs) {
  Statistics s;
  // Of a store that takes no more changes, after an error, it is what there is that somebody wants to know.
  if (Status synced = fs.sync(); !synced && !fs.table().failed()) return fail(std::move(synced).error());
  PolicyOf policy_of;
  CFFS_TRY_VOID(count_rows(fs.table(), s, policy_of));
  CFFS_TRY(const auto names, fs.objects().list(""));
  for (const std::string& name : names) {
    if (SpareObjects::is_one(name)) continue;
    const auto object = fs.objects().open(name);
    if (!object) continue;  // LevelDB removes files while we look
    CFFS_TRY(const ObjectInfo info, (*object)->info());
    if (name == SpaceGuard::kObjectName) {  // room, no data
      s.reserve_bytes = info.allocated;
      continue;
    }
    ++s.objects;
    s.object_bytes += info.allocated;
    if (name.starts_with("composites/") && !CompositeStore::is_copy(name)) s.stored_bytes += info.size;
    if (const auto found = policy_of.find(name); found != policy_of.end())
      s.by_policy[found->second].stored_bytes += info.size;
  }
  s.value_log_bytes = fs.table().value_log_bytes();
  s.compression = compression_text(fs.compression());
  s.known_inodes = fs.known_inodes();
  s.read_ahead = fs.read_ahead();
  s.frames = fs.frames();
  CFFS_TRY(s.backing, fs.objects().space());
  CFFS_TRY(s.layout, fs.objects().layout());
  s.near_copies = fs.objects().near_copies();
  return s;
}

}  // namespace cffs
