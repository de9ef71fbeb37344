#include "core/transfer/archive_import.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "core/base/clock.h"
#include "core/fs/check_name.h"
#include "core/object/file_descriptor.h"
#include "core/transfer/archive_acls.h"
#include "core/transfer/archive_bytes.h"
#include "core/transfer/archive_member.h"
#include "core/transfer/cpio_links.h"
#include "core/transfer/data_runs.h"
#include "core/transfer/zip_names.h"

namespace cffs {
namespace {

using Archive = std::unique_ptr<archive, int (*)(archive*)>;

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

class ArchiveReader {
 public:
  ArchiveReader(archive* a, ImportTarget& target) : archive_(a), target_(target), cpio_links_(target) {}

  Status member(archive_entry* entry, bool acl_is_readable) {
    const char* raw = archive_entry_pathname(entry);
    const std::string path = raw != nullptr ? raw : "";
    if (path.empty()) {
      target_.failed("a member has no name that can be read; it was left out");
      return {};
    }
    std::vector<std::string> parts;
    if (!split(path, parts)) {
      target_.failed("'" + path + "' leads out of the archive; it was left out");
      return pass_over(entry);
    }
    const bool is_tar = (archive_format(archive_) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_TAR;
    AttributesLeftOut left;
    Inode attributes = inode_of(entry, is_tar, left);
    if (is_excluded(parts, S_ISDIR(attributes.mode))) return pass_over(entry);
    if (left.count > 0) {
      target_.failed("'" + path + "': " + std::to_string(left.count) + " of its extended attributes ('" +
                     left.first + "') are more than a file can have, and were left out");
      acl_is_readable = acl_is_readable && !left.has_acl;
    }
    for (const std::string& problem : take_acls(entry, acl_is_readable, attributes))
      target_.failed("'" + path + "': " + problem);
    if (!holds_time_of(entry)) target_.time_changed();
    if (target_.keeps_owners() && !holds_owners_of(entry)) {
      target_.failed("'" + path +
                     "': its owner or group is no number that a file can have; it is nobody's (65534) here");
    }
    if (parts.empty()) {
      if (S_ISDIR(attributes.mode)) {
        target_.directory_attributes(target_.root(), attributes);
      } else {
        target_.failed("'" + path + "' is no name of a file; it was left out");
      }
      return {};
    }
    const std::string name = parts.back();
    const auto parent_there = parent_of(parts);
    if (!parent_there) {
      CFFS_TRY_VOID(left_out(path, parent_there.error()));
      return pass_over(entry);
    }
    const InodeId parent = *parent_there;
    if (S_ISDIR(attributes.mode)) {
      const auto made = directory(parts, attributes);
      if (!made) return left_out(path, made.error());
      target_.directory_attributes(*made, attributes);
      return {};
    }
    if (const Status good = check_new_name(name); !good) {
      CFFS_TRY_VOID(left_out(path, good.error()));
      return pass_over(entry);
    }
    const char* first = archive_entry_hardlink(entry);  // a tar says of no such name of which type it is
    if (first == nullptr && !is_file_mode(attributes.mode)) {
      target_.failed("'" + path + "' is of a type that no file has; it was left out");
      return {};
    }
    const CpioLinks::Place place{parent, name, path};
    if (is_cpio() && S_ISREG(attributes.mode) && archive_entry_nlink(entry) > 1) {
      const std::string key = first != nullptr ? first : path;
      if (first == nullptr || !cpio_links_.has(key, place)) forget_earlier(parent, name);
      return cpio_links_.add(key, first == nullptr, place, attributes,
                             [this](const auto& at, const Inode& of) { return content(at, of); });
    }
    if (first != nullptr) {
      std::vector<std::string> first_parts;
      if (!split(first, first_parts) || first_parts.empty()) {
        target_.failed("'" + path + "' links out of the archive; it was left out");
        return {};
      }
      if (is_excluded(first_parts, false)) {
        target_.failed("'" + path + "' links to '" + first + "', which is excluded; it was left out");
        return {};
      }
      const auto first_parent = parent_of(first_parts);
      if (!first_parent) return left_out(path, first_parent.error());
      if (S_ISREG(attributes.mode) && attributes.size > 0) {
        target_.failed("'" + path + "': this archive has the data of '" + first +
                       "' here, which is not read");
        return {};
      }
      const bool to_itself = *first_parent == parent && first_parts.back() == name;
      if (!to_itself) forget_earlier(parent, name);
      target_.hard_link(parent, name, *first_parent, first_parts.back());
      return {};
    }
    forget_earlier(parent, name);
    if (S_ISLNK(attributes.mode)) {
      const char* link = archive_entry_symlink(entry);
      attributes.target = link != nullptr ? link : "";
      attributes.size = 0;
      target_.symlink(parent, name, attributes);
    } else if (!S_ISREG(attributes.mode)) {
      target_.special(parent, name, attributes);
    } else if (archive_entry_size_is_set(entry) == 0) {
      target_.failed("'" + path + "': the archive does not say how long it is; it was left out");
    } else {
      return content(place, attributes);
    }
    return {};
  }

  // Of an archive that was read to its end.
  void end() { cpio_links_.settle(); }

  // False: the archive itself ended it.
  bool readable() const { return archive_state_.has_value(); }

 private:
  static std::string checked_key(InodeId parent, const std::string& name) {
    return std::to_string(parent.value) + "/" + name;
  }

  bool is_cpio() const {
    return (archive_format(archive_) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_CPIO;
  }

  void forget_earlier(InodeId parent, const std::string& name) {
    if (seen_.insert(checked_key(parent, name)).second) return;
    cpio_links_.settle({parent, name});
    target_.forget_earlier(parent, name);
  }

  // A cpio has the data of a file with its last name: the others get it also where that one is left out.
  Status pass_over(archive_entry* entry) {
    const char* first = archive_entry_hardlink(entry);
    if (!is_cpio() || first == nullptr || archive_entry_size(entry) <= 0) return {};
    return cpio_links_.give(first, static_cast<std::uint64_t>(archive_entry_size(entry)),
                            [this](const auto& at, const Inode& of) { return content(at, of); });
  }

  // Of the member that is read.
  Status content(const CpioLinks::Place& place, const Inode& attributes) {
    if (!target_.is_small(attributes.size, {})) {
      const auto copy = [&](const ImportTarget::WriteAt& write) {
        return data(attributes.size, [&](std::uint64_t offset, std::string_view bytes) {
          return write_data(write, offset, bytes);
        });
      };
      target_.large_file_now(place.parent, place.path, place.name, attributes, copy);
      return archive_state_;
    }
    std::string bytes_read(attributes.size, '\0');
    const Status read = data(attributes.size, [&](std::uint64_t offset, std::string_view bytes) -> Status {
      bytes.copy(bytes_read.data() + offset, bytes.size());
      return {};
    });
    if (!read) return left_out(place.path, read.error(), &place);
    auto shared = std::make_shared<std::string>(std::move(bytes_read));
    target_.small_file(place.parent, place.name, attributes,
                       [shared](Inode&) -> Result<std::string> { return std::move(*shared); });
    return {};
  }

  // Itself, or a directory that it lies in.
  bool is_excluded(const std::vector<std::string>& parts, bool is_directory) const {
    const Excludes& excludes = target_.rules().excludes;
    if (excludes.empty()) return false;
    std::string path;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      path += (i > 0 ? "/" : "") + parts[i];
      if (excludes.match(path, i + 1 < parts.size() || is_directory)) return true;
    }
    return false;
  }

  // Of a member that cannot be kept: the others are, where the archive can still be read and the store be written.
  Status left_out(const std::string& path, const Error& error, const CpioLinks::Place* place = nullptr) {
    if (!archive_state_) return archive_state_;
    const bool own_fault = error.kind != ErrorKind::os || error.errno_value == ENOTDIR ||
                           error.errno_value == EEXIST || error.errno_value == ENAMETOOLONG ||
                           error.errno_value == EINVAL;
    if (!own_fault) return fail(error);
    const std::string problem = "'" + path + "': " + error.message() + "; it was left out";
    if (place == nullptr) {
      target_.failed(problem);
    } else {
      target_.did_not_come(place->parent, place->name, problem);
    }
    return {};
  }

  // A member's bytes, from holes to holes. An archive may say anything of where they belong: nothing lies behind `size`.
  Status data(std::uint64_t member_size, const ImportTarget::WriteAt& write) {
    for (;;) {
      const void* bytes = nullptr;
      std::size_t size = 0;
      la_int64_t offset = 0;
      const int state = archive_read_data_block(archive_, &bytes, &size, &offset);
      if (state == ARCHIVE_EOF) return {};
      // All but the last is of this member alone: a wrong checksum or length, a method that nobody knows.
      if (state != ARCHIVE_OK) {
        const char* text = archive_error_string(archive_);
        const Status damaged = fail(Error::usage(text != nullptr ? text : "the archive cannot be read"));
        if (state == ARCHIVE_FATAL) archive_state_ = damaged;
        return damaged;
      }
      if (size == 0) continue;
      const auto at = static_cast<std::uint64_t>(offset);
      if (offset < 0 || at > member_size || size > member_size - at) {
        return fail(Error::usage("the archive has bytes of it behind its end"));
      }
      CFFS_TRY_VOID(write(at, {static_cast<const char*>(bytes), size}));
    }
  }

  Result<InodeId> parent_of(std::vector<std::string> parts) {
    parts.pop_back();
    Inode implied;
    implied.mode = S_IFDIR | 0755;
    implied.mtime_ns = implied.atime_ns = SystemClock().now_ns();
    return directory(parts, implied);
  }

  static Error no_directory(const std::vector<std::string>& parts, const std::string& last) {
    std::string path;
    for (const std::string& part : parts) {
      path += part;
      if (&part == &last) break;
      path += '/';
    }
    return Error::usage("'" + path + "' is no directory");
  }

  Result<InodeId> directory(const std::vector<std::string>& parts, const Inode& attributes) {
    // By parent and name: with paths, a deep one would take the square of its length.
    InodeId at = target_.root();
    for (const std::string& part : parts) {
      const auto known = directories_.find({at, part});
      if (known != directories_.end()) {
        at = known->second;
        continue;
      }
      CFFS_TRY_VOID(check_new_name(part));
      const auto made = target_.directory(at, part, attributes, true);
      const bool taken = !made && (made.error().errno_value == EEXIST || made.error().errno_value == ENOTDIR);
      if (taken) return fail(no_directory(parts, part));
      if (!made) return fail(made.error());
      directories_.emplace(std::pair(at, part), *made);
      at = *made;
    }
    return at;
  }

  archive* archive_;
  Status archive_state_;  // what became of reading it
  ImportTarget& target_;
  std::map<std::pair<InodeId, std::string>, InodeId> directories_;
  std::set<std::string> seen_;
  CpioLinks cpio_links_;
};

}  // namespace

namespace {

// What a zip begins with: its first member, or the end of one without members.
bool is_zip(const std::string& path) {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char head[4] = {};
  if (!fd || ::pread(fd.get(), head, sizeof head, 0) != static_cast<ssize_t>(sizeof head)) return false;
  const std::string_view magic(head, sizeof head);
  return magic == std::string_view("PK\3\4", 4) || magic == std::string_view("PK\5\6", 4);
}

}  // namespace

Status import_archive(const std::string& source, ImportTarget& target) {
  ArchiveBytes bytes;
  const Archive a(archive_read_new(), archive_read_free);
  const char* path = source == "-" ? nullptr : source.c_str();
  if (path != nullptr && ::access(path, R_OK) != 0)
    return fail(errno, source);  // libarchive does not say why
  const bool zip = path != nullptr && is_zip(source);
  std::string last;  // member whose header was read
  const auto problem = [&] {
    const char* text = archive_error_string(a.get());
    if (text == nullptr && !zip) text = bytes.problem();
    const std::string unsaid = last.empty() ? "not a tar, cpio or zip archive" : "its bytes make no sense";
    const std::string where = last.empty() ? "" : "; what lies behind '" + last + "' was not read";
    return fail(Error::usage((source == "-" ? "standard input" : source) + ": " +
                             (text != nullptr ? text : unsaid) + where));
  };
  constexpr std::size_t kZipBlock = 256 * 1024;
  if (zip) {  // its directory is at its end
    archive_read_support_format_zip_seekable(a.get());
    if (archive_read_open_filename(a.get(), path, kZipBlock) != ARCHIVE_OK) return problem();
  } else {
    archive_read_support_format_tar(a.get());
    archive_read_support_format_gnutar(a.get());
    archive_read_support_format_cpio(a.get());
    if (!bytes.open(path)) return problem();
    bytes.begin_header();
    if (archive_read_open(a.get(), &bytes, nullptr, ArchiveBytes::read, nullptr) != ARCHIVE_OK)
      return problem();
  }
  std::optional<ZipNames> zip_names;
  if (zip) zip_names = ZipNames::of(source);
  target.expect_repeats();
  ArchiveReader reader(a.get(), target);
  std::uint64_t told = 0;  // of the file's bytes
  const auto tell = [&] {
    const auto at =
        zip ? static_cast<std::uint64_t>(archive_read_header_position(a.get())) : bytes.bytes_read();
    if (at <= told) return;
    target.archive_read(at - told);
    told = at;
  };
  for (;;) {
    archive_entry* entry = nullptr;
    bytes.begin_header();
    const int state = archive_read_next_header(a.get(), &entry);
    bytes.end_header();
    if (state == ARCHIVE_EOF) {
      reader.end();
      if (!zip && !bytes.reads_to_end()) return problem();
      return {};
    }
    if (state != ARCHIVE_OK && state != ARCHIVE_WARN) return problem();
    tell();
    if (const char* path_there = archive_entry_pathname(entry)) last = path_there;
    if (zip_names && !zip_names->correct(entry)) {
      target.failed(std::string("'") + archive_entry_pathname(entry) +
                    "' ends with a backslash, and its data cannot be read from a zip; it was left out");
      continue;
    }
    // libarchive goes on without an entry of a list that it cannot read, and only says so.
    const char* warning = archive_error_string(a.get());
    const bool acl_is_readable =
        warning == nullptr || std::string_view(warning).find(".acl.") == std::string_view::npos;
    if (const Status done = reader.member(entry, acl_is_readable); !done) {
      if (!reader.readable()) return problem();
      return fail(done.error());
    }
    if (target.stopped()) return {};
    // What of it nobody read, so that it does not count to the next one's header.
    if (archive_read_data_skip(a.get()) == ARCHIVE_FATAL) return problem();
  }
}

}  // namespace cffs
