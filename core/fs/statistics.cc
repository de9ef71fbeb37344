#include "core/fs/statistics.h"

#include <map>
#include <set>
#include <unordered_map>

namespace cffs {
namespace {

constexpr std::uint64_t kLast = ~std::uint64_t{0};

// Calls on_row for every row of entries and on_composite for every composite's row.
Status scan_namespace(FileSystem& fs, const std::function<void(Key, const Row&)>& on_row,
                      const std::function<void(CompositeId, const CompositeRow&)>& on_composite) {
  Status problem;
  std::uint64_t composite = kLast;  // rows of a composite's number are its own
  CFFS_TRY_VOID(fs.table().scan({0, 0}, {kInodeLimit - 1, kLast}, [&](Key key, std::string_view value) {
    const RowKind kind = row_kind(key, value);
    if (kind == RowKind::composite) {
      const auto row = decode_composite_row(value);
      if (!row) problem = fail(row.error());
      if (row) on_composite(CompositeId{key.upper}, *row);
      composite = key.upper;
      return row.has_value();
    }
    if (kind == RowKind::moved_member && key.upper == composite) return true;
    const auto row = decode_row(value);
    if (!row) problem = fail(row.error());
    if (row) on_row(key, *row);
    return row.has_value();
  }));
  return problem;
}

}  // namespace

Result<Statistics> collect_statistics(FileSystem& fs) {
  Statistics s;
  CFFS_TRY_VOID(fs.sync());
  CFFS_TRY_VOID(scan_namespace(
      fs,
      [&](Key, const Row& row) {
        for (const Entry& entry : row.entries) {
          if (!entry.name.empty()) ++s.names;
          if (!entry.inode) continue;
          const Inode& inode = *entry.inode;
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
            if (inode.home == Home::composite) ++s.member_files;
            if (inode.home == Home::blob) ++s.blobs, s.blob_bytes += inode.size;
          }
        }
      },
      [&](CompositeId, const CompositeRow& row) {
        ++s.composites;
        s.composite_bytes += row.size;
        s.live_bytes += row.live_bytes;
        s.freed_bytes += row.freed_bytes;
      }));
  const auto count = [&](KeyTag tag, std::uint64_t& n) {
    return fs.table().scan(Key::tagged(tag, 0, 0), Key::tagged(tag, kInodeLimit - 1, kLast),
                           [&](Key, std::string_view) { return ++n, true; });
  };
  CFFS_TRY_VOID(count(KeyTag::staged_directory, s.staged_directories));
  CFFS_TRY_VOID(count(KeyTag::pending_removal, s.pending_removals));
  CFFS_TRY(const auto names, fs.objects().list(""));
  for (const std::string& name : names) {
    const auto object = fs.objects().open(name);
    if (!object) continue;  // LevelDB removes files while we look
    CFFS_TRY(const ObjectInfo info, (*object)->info());
    ++s.objects;
    s.object_bytes += info.allocated;
  }
  CFFS_TRY(s.backing, fs.objects().space());
  return s;
}

Result<std::vector<std::string>> find_inconsistencies(FileSystem& fs) {
  struct Tally {
    std::uint64_t members = 0, live = 0;
  };
  std::vector<std::string> found;
  std::map<CompositeId, Tally> tallies;
  std::map<CompositeId, CompositeRow> composites;
  std::unordered_map<std::uint64_t, std::uint64_t> links;   // names of hard-linked inodes
  std::unordered_map<std::uint64_t, std::uint64_t> nlinks;  // what their null-name rows say
  std::unordered_map<std::uint64_t, std::uint64_t> subdirectories, directory_nlinks;
  std::set<std::uint64_t> inodes, parents, directories, inline_files, blobs;
  std::vector<std::pair<std::string, Inode>> members;
  CFFS_TRY_VOID(fs.sync());
  CFFS_TRY_VOID(scan_namespace(
      fs,
      [&](Key key, const Row& row) {
        for (const Entry& entry : row.entries) {
          const std::string who = "inode " + std::to_string(entry.ino.value) + " '" + entry.name + "'";
          if (!entry.name.empty()) parents.insert(key.upper);
          if (!entry.inode) {
            ++links[entry.ino.value];
            continue;
          }
          const Inode& inode = *entry.inode;
          if (!inodes.insert(inode.ino.value).second) found.push_back(who + " has two rows");
          if (entry.name.empty() && inode.ino != kRootInode) nlinks[inode.ino.value] = inode.nlink;
          if (inode.is_directory()) {
            directories.insert(inode.ino.value);
            directory_nlinks[inode.ino.value] = inode.nlink;
            if (!entry.name.empty()) ++subdirectories[key.upper];
          }
          if (inode.home == Home::inline_) inline_files.insert(inode.ino.value);
          if (inode.home == Home::blob) blobs.insert(inode.ino.value);
          if (inode.home == Home::composite) {
            Tally& tally = tallies[inode.extent.composite];
            ++tally.members;
            tally.live += inode.extent.length;
            if (inode.extent.length != inode.size) found.push_back(who + ": size and extent differ");
            members.emplace_back(who, inode);
          }
        }
      },
      [&](CompositeId id, const CompositeRow& row) { composites[id] = row; }));

  if (const auto counted = fs.file_count(); counted && *counted != inodes.size()) {
    found.push_back("the store counts " + std::to_string(*counted) + " files, has " +
                    std::to_string(inodes.size()));
  }
  for (const std::uint64_t parent : parents) {
    if (!directories.contains(parent))
      found.push_back("directory " + std::to_string(parent) + " has entries but no row");
  }
  for (const auto& [ino, n] : directory_nlinks) {
    if (n != 2 + subdirectories[ino]) {
      found.push_back("directory " + std::to_string(ino) + " has " + std::to_string(n) +
                      " links, should have " + std::to_string(2 + subdirectories[ino]));
    }
  }
  for (const auto& [ino, n] : nlinks) {
    if (links[ino] != n)
      found.push_back("inode " + std::to_string(ino) + " counts " + std::to_string(n) + " links, has " +
                      std::to_string(links[ino]));
  }
  for (const auto& [ino, n] : links) {
    if (n > 0 && !nlinks.contains(ino))
      found.push_back("hard links to inode " + std::to_string(ino) + " lead nowhere");
  }
  for (const auto& [id, row] : composites) {
    const Tally& tally = tallies[id];
    if (tally.members != row.members || tally.live != row.live_bytes) {
      found.push_back(CompositeStore::object_name(id) + " counts " + std::to_string(row.members) +
                      " members, " + std::to_string(row.live_bytes) + " bytes; has " +
                      std::to_string(tally.members) + ", " + std::to_string(tally.live));
    }
  }
  std::string bytes;
  for (const auto& [who, inode] : members) {
    if (!composites.contains(inode.extent.composite)) found.push_back(who + ": its composite has no row");
    auto object = fs.composites().open(inode.extent.composite);
    if (!object) {
      found.push_back(who + ": " + object.error().message());
      continue;
    }
    bytes.resize(inode.extent.length);
    const auto n = CompositeStore::read(**object, inode.extent, 0, as_writable_bytes(bytes), true);
    if (!n) found.push_back(who + ": " + n.error().message());
  }
  CFFS_TRY_VOID(fs.table().scan(
      Key::tagged(KeyTag::file_data, 0, 0), Key::tagged(KeyTag::file_data, kInodeLimit - 1, kLast),
      [&](Key key, std::string_view) {
        if (!inline_files.contains(key.number())) {
          found.push_back("data rows of inode " + std::to_string(key.number()) + " belong to nobody");
          inline_files.insert(key.number());  // say it once
        }
        return true;
      }));
  CFFS_TRY(const auto names, fs.objects().list(""));
  std::set<std::string> pending, present(names.begin(), names.end());
  CFFS_TRY_VOID(fs.table().scan(
      Key::tagged(KeyTag::pending_removal, 0, 0),
      Key::tagged(KeyTag::pending_removal, kInodeLimit - 1, kLast), [&](Key key, std::string_view) {
        pending.insert(key.lower == kPendingBlob ? BlobStore::object_name(InodeId{key.number()})
                                                 : CompositeStore::object_name(CompositeId{key.number()}));
        return true;
      }));
  std::set<std::string> wanted;
  for (const std::uint64_t ino : blobs) wanted.insert(BlobStore::object_name(InodeId{ino}));
  for (const auto& [id, row] : composites) wanted.insert(CompositeStore::object_name(id));
  for (const std::string& name : wanted) {
    if (!present.contains(name)) found.push_back("object " + name + " is missing");
  }
  for (const std::string& name : names) {
    const bool data = name.starts_with("blobs/") || name.starts_with("composites/");
    if (data && !wanted.contains(name) && !pending.contains(name))
      found.push_back("object " + name + " belongs to nobody");
  }
  return found;
}

}  // namespace cffs
