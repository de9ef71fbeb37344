#include "core/transfer/archive_member.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/fs/acl.h"
#include "core/fs/xattr.h"

namespace cffs {
namespace {

// POSIX writes half a second after 12:00 on the last day of 1969 as "-43199.5" (pax(1)); libarchive hands both parts on as they stand there, as
// -43199 and a half.
std::int64_t time_of(time_t seconds, long nanoseconds, bool is_tar) {
  const bool is_below =
      is_tar && seconds < 0 && nanoseconds > 0 && seconds > std::numeric_limits<time_t>::min();
  return is_below ? to_ns({seconds - 1, 1'000'000'000 - nanoseconds}) : to_ns({seconds, nanoseconds});
}

// In a tar's header "=" ends a name, so that GNU tar has "%3D" for it and libarchive something of that kind for whatever is not ASCII, which it
// does not take back.
std::string attribute_name(std::string_view text) {
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* const digits = text.data() + i + 1;
    const bool is_code = text[i] == '%' && i + 2 < text.size() &&
                         std::isxdigit(static_cast<unsigned char>(digits[0])) != 0 &&
                         std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2 && byte != 0;
    name += is_code ? static_cast<char>(byte) : text[i];
    if (is_code) i += 2;
  }
  return name;
}

// bsdtar writes each in two ways, of which libarchive takes back the name of one.
Xattrs attributes_of(archive_entry* entry, AttributesLeftOut& left_out) {
  constexpr std::size_t kNameMost = 3 * 255;  // each byte as "%3D"
  std::map<std::string, std::string> read;
  std::size_t held = 0;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  archive_entry_xattr_reset(entry);
  while (archive_entry_xattr_next(entry, &name, &value, &size) == ARCHIVE_OK) {
    const std::string_view called = name;
    const std::size_t bytes = called.size() + size;
    if (called.size() > kNameMost || size > kXattrValueMax || held + bytes > 2 * kXattrsMax) {
      if (++left_out.count == 1) left_out.first = called.substr(0, kNameMost);
      left_out.has_acl = left_out.has_acl || is_acl(called);
      continue;
    }
    held += bytes;
    read.emplace(called, std::string(static_cast<const char*>(value), size));
  }
  std::set<std::string> taken_back;
  for (const auto& [written, bytes] : read) {
    std::string real = attribute_name(written);
    if (real != written && read.contains(real)) taken_back.insert(std::move(real));
  }
  Xattrs attributes;
  for (auto& [written, bytes] : read) {
    std::string real = taken_back.contains(written) ? written : attribute_name(written);
    if (real == written || !taken_back.contains(real))
      attributes.emplace_back(std::move(real), std::move(bytes));
  }
  return attributes;
}

bool can_be_owner(la_int64_t id) { return id >= 0 && id < std::numeric_limits<uid_t>::max(); }

uid_t owner_of(la_int64_t id) {
  constexpr uid_t kNobody = 65534;  // as the kernel has those whom it cannot name
  return can_be_owner(id) ? static_cast<uid_t>(id) : kNobody;
}

}  // namespace

Inode inode_of(archive_entry* entry, bool is_tar, AttributesLeftOut& left_out) {
  Inode inode;
  // A header has room for more bits than a mode has.
  inode.mode = archive_entry_filetype(entry) | (archive_entry_perm(entry) & 07777);
  inode.uid = owner_of(archive_entry_uid(entry));
  inode.gid = owner_of(archive_entry_gid(entry));
  inode.rdev = archive_entry_rdev(entry);
  inode.size = static_cast<std::uint64_t>(std::max<la_int64_t>(0, archive_entry_size(entry)));
  inode.mtime_ns = time_of(archive_entry_mtime(entry), archive_entry_mtime_nsec(entry), is_tar);
  inode.atime_ns = archive_entry_atime_is_set(entry) != 0
                       ? time_of(archive_entry_atime(entry), archive_entry_atime_nsec(entry), is_tar)
                       : inode.mtime_ns;
  inode.ctime_ns = inode.btime_ns = inode.mtime_ns;
  inode.xattrs = attributes_of(entry, left_out);
  return inode;
}

bool holds_owners_of(archive_entry* entry) {
  return can_be_owner(archive_entry_uid(entry)) && can_be_owner(archive_entry_gid(entry));
}

bool holds_time_of(archive_entry* entry) { return fits_ns(archive_entry_mtime(entry)); }

}  // namespace cffs
