#include "core/transfer/tar_import.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <memory>
#include <set>
#include <unordered_map>

namespace cffs {
namespace {

using Archive = std::unique_ptr<archive, int (*)(archive*)>;

Inode inode_of(archive_entry* entry) {
  Inode inode;
  inode.mode = archive_entry_mode(entry);
  inode.uid = static_cast<uid_t>(archive_entry_uid(entry));
  inode.gid = static_cast<gid_t>(archive_entry_gid(entry));
  inode.rdev = archive_entry_rdev(entry);
  inode.size = static_cast<std::uint64_t>(std::max<la_int64_t>(0, archive_entry_size(entry)));
  inode.mtime_ns = archive_entry_mtime(entry) * 1'000'000'000 + archive_entry_mtime_nsec(entry);
  inode.atime_ns = archive_entry_atime_is_set(entry) != 0
                       ? archive_entry_atime(entry) * 1'000'000'000 + archive_entry_atime_nsec(entry)
                       : inode.mtime_ns;
  inode.ctime_ns = inode.btime_ns = inode.mtime_ns;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  archive_entry_xattr_reset(entry);
  while (archive_entry_xattr_next(entry, &name, &value, &size) == ARCHIVE_OK) {
    inode.xattrs.emplace_back(name, std::string(static_cast<const char*>(value), size));
  }
  std::sort(inode.xattrs.begin(), inode.xattrs.end());
  return inode;
}

// Components of a member's path, "." and leading slashes dropped; false where it climbs out with "..".
bool split(std::string_view path, std::vector<std::string>& parts) {
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t slash = std::min(path.find('/', from), path.size());
    const std::string_view part = path.substr(from, slash - from);
    from = slash + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") return false;
    parts.emplace_back(part);
  }
  return true;
}

class TarReader {
 public:
  TarReader(archive* a, ImportTarget& target) : archive_(a), target_(target) {
    directories_[""] = kRootInode;
  }

  Status member(archive_entry* entry) {
    const char* raw = archive_entry_pathname(entry);
    const std::string path = raw != nullptr ? raw : "";
    std::vector<std::string> parts;
    if (!split(path, parts)) {
      target_.failed("'" + path + "' leads out of the archive; it was left out");
      return {};
    }
    Inode attributes = inode_of(entry);
    if (parts.empty()) {
      if (S_ISDIR(attributes.mode)) target_.directory_attributes(kRootInode, attributes);
      return {};
    }
    const std::string name = parts.back();
    CFFS_TRY(const InodeId parent, parent_of(parts));
    if (S_ISDIR(attributes.mode)) {
      CFFS_TRY(const InodeId made, directory(parts, attributes));
      target_.directory_attributes(made, attributes);
      return {};
    }
    if (const char* first = archive_entry_hardlink(entry)) {
      std::vector<std::string> first_parts;
      if (!split(first, first_parts) || first_parts.empty()) {
        target_.failed("'" + path + "' links out of the archive; it was left out");
        return {};
      }
      CFFS_TRY(const InodeId first_parent, parent_of(first_parts));
      target_.hard_link(parent, name, first_parent, first_parts.back());
      return {};
    }
    if (!seen_.insert(checked_key(parent, name)).second) target_.forget_earlier(parent, name);
    if (S_ISLNK(attributes.mode)) {
      const char* link = archive_entry_symlink(entry);
      attributes.target = link != nullptr ? link : "";
      attributes.size = 0;
      target_.symlink(parent, name, attributes);
    } else if (!S_ISREG(attributes.mode)) {
      target_.special(parent, name, attributes);
    } else if (attributes.size <= target_.small_limit()) {
      std::string content(attributes.size, '\0');
      CFFS_TRY_VOID(data([&](std::uint64_t offset, std::string_view bytes) -> Status {
        if (offset + bytes.size() > content.size()) content.resize(offset + bytes.size());
        bytes.copy(content.data() + offset, bytes.size());
        return {};
      }));
      auto shared = std::make_shared<std::string>(std::move(content));
      target_.small_file(parent, name, attributes,
                         [shared](Inode&) -> Result<std::string> { return std::move(*shared); });
    } else {
      Status read;
      target_.large_file_now(parent, name, attributes, [&](const ImportTarget::WriteAt& write) {
        read = data(write);
        return read;
      });
      return read;
    }
    return {};
  }

 private:
  static std::string checked_key(InodeId parent, const std::string& name) {
    return std::to_string(parent.value) + "/" + name;
  }

  Status data(const ImportTarget::WriteAt& write) {
    for (;;) {
      const void* bytes = nullptr;
      std::size_t size = 0;
      la_int64_t offset = 0;
      const int state = archive_read_data_block(archive_, &bytes, &size, &offset);
      if (state == ARCHIVE_EOF) return {};
      if (state < ARCHIVE_WARN) return fail(Error::usage(archive_error_string(archive_)));
      if (size == 0) continue;
      CFFS_TRY_VOID(write(static_cast<std::uint64_t>(offset), {static_cast<const char*>(bytes), size}));
    }
  }

  Result<InodeId> parent_of(std::vector<std::string> parts) {
    parts.pop_back();
    Inode implied;
    implied.mode = S_IFDIR | 0755;
    implied.mtime_ns = implied.atime_ns = SystemClock().now_ns();
    return directory(parts, implied);
  }

  Result<InodeId> directory(const std::vector<std::string>& parts, const Inode& attributes) {
    std::string path;
    InodeId at = kRootInode;
    for (const std::string& part : parts) {
      path += "/" + part;
      const auto known = directories_.find(path);
      if (known != directories_.end()) {
        at = known->second;
        continue;
      }
      CFFS_TRY(at, target_.directory(at, part, attributes));
      directories_[path] = at;
    }
    return at;
  }

  archive* archive_;
  ImportTarget& target_;
  std::unordered_map<std::string, InodeId> directories_;
  std::set<std::string> seen_;
};

}  // namespace

Status import_tar(const std::string& source, ImportTarget& target) {
  const Archive a(archive_read_new(), archive_read_free);
  archive_read_support_filter_all(a.get());
  archive_read_support_format_tar(a.get());
  archive_read_support_format_gnutar(a.get());
  const char* path = source == "-" ? nullptr : source.c_str();
  const auto problem = [&] {
    const char* text = archive_error_string(a.get());
    return fail(Error::usage((source == "-" ? "standard input" : source) + ": " +
                             (text != nullptr ? text : "not a tar archive")));
  };
  if (archive_read_open_filename(a.get(), path, 256 * 1024) != ARCHIVE_OK) return problem();
  TarReader reader(a.get(), target);
  for (;;) {
    archive_entry* entry = nullptr;
    const int state = archive_read_next_header(a.get(), &entry);
    if (state == ARCHIVE_EOF) return {};
    if (state < ARCHIVE_WARN) return problem();
    CFFS_TRY_VOID(reader.member(entry));
  }
}

}  // namespace cffs
