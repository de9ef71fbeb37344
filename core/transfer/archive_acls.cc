#include "core/transfer/archive_acls.h"

#include <archive.h>
#include <archive_entry.h>
#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "core/fs/acl.h"

namespace cffs {
namespace {

using Tag = Acl::Tag;

constexpr std::array kTags = std::to_array<std::pair<Tag, int>>({{Tag::owner, ARCHIVE_ENTRY_ACL_USER_OBJ},
                                                                 {Tag::user, ARCHIVE_ENTRY_ACL_USER},
                                                                 {Tag::group, ARCHIVE_ENTRY_ACL_GROUP_OBJ},
                                                                 {Tag::named_group, ARCHIVE_ENTRY_ACL_GROUP},
                                                                 {Tag::mask, ARCHIVE_ENTRY_ACL_MASK},
                                                                 {Tag::others, ARCHIVE_ENTRY_ACL_OTHER}});

int archive_tag(Tag tag) {
  return std::find_if(kTags.begin(), kTags.end(), [&](const auto& t) { return t.first == tag; })->second;
}

std::optional<Tag> tag_of(int archive_tag) {
  const auto at =
      std::find_if(kTags.begin(), kTags.end(), [&](const auto& t) { return t.second == archive_tag; });
  return at == kTags.end() ? std::nullopt : std::optional(at->first);
}

int archive_type(std::string_view xattr) {
  return xattr == kAccessAcl ? ARCHIVE_ENTRY_ACL_TYPE_ACCESS : ARCHIVE_ENTRY_ACL_TYPE_DEFAULT;
}

// GNU tar writes names alone, others a number too. A number is what it was, as the owner's is; a name is looked for here.
std::optional<std::uint32_t> id_of(bool is_user, int id, const char* name) {
  const std::string_view text = name != nullptr ? name : "";
  std::uint32_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (!text.empty() && read.ec == std::errc() && read.ptr == text.data() + text.size()) return number;
  if (id >= 0 && id < std::numeric_limits<int>::max())
    return static_cast<std::uint32_t>(id);  // more is cut to that
  if (text.empty()) return std::nullopt;
  std::array<char, 16384> room{};
  if (is_user) {
    passwd entry{}, *found = nullptr;
    ::getpwnam_r(name, &entry, room.data(), room.size(), &found);
    return found != nullptr ? std::optional(entry.pw_uid) : std::nullopt;
  }
  group entry{}, *found = nullptr;
  ::getgrnam_r(name, &entry, room.data(), room.size(), &found);
  return found != nullptr ? std::optional(entry.gr_gid) : std::nullopt;
}

// A list of NFSv4 (ZFS, macOS) says of somebody that he may not read, write or execute; a mode says that of nobody.
bool shuts_out(archive_entry* entry) {
  constexpr int kUse = ARCHIVE_ENTRY_ACL_EXECUTE | ARCHIVE_ENTRY_ACL_READ_DATA |
                       ARCHIVE_ENTRY_ACL_WRITE_DATA | ARCHIVE_ENTRY_ACL_APPEND_DATA;
  archive_entry_acl_reset(entry, ARCHIVE_ENTRY_ACL_TYPE_DENY);
  int type = 0, permissions = 0, tag = 0, id = 0;
  const char* name = nullptr;
  bool found = false;
  while (archive_entry_acl_next(entry, ARCHIVE_ENTRY_ACL_TYPE_DENY, &type, &permissions, &tag, &id, &name) ==
         ARCHIVE_OK) {
    found = found || (permissions & kUse) != 0;
  }
  return found;
}

// nullopt: it has none.
Result<std::optional<Acl>> list_of(archive_entry* entry, int type, std::vector<std::string>& problems) {
  std::vector<Acl::Entry> entries;
  archive_entry_acl_reset(entry, type);
  int entry_type = 0, permissions = 0, tag = 0, id = 0;
  const char* name = nullptr;
  while (archive_entry_acl_next(entry, type, &entry_type, &permissions, &tag, &id, &name) == ARCHIVE_OK) {
    const auto known = tag_of(tag);
    if (!known) return fail(EINVAL);
    Acl::Entry made{*known, static_cast<std::uint16_t>(permissions & 7), Acl::kNoId};
    if (*known == Tag::user || *known == Tag::named_group) {
      const bool is_user = *known == Tag::user;
      const auto number = id_of(is_user, id, name);
      if (!number) {
        problems.push_back(std::string("its access control list names the ") +
                           (is_user ? "user '" : "group '") + (name != nullptr ? name : "") +
                           "', whom nobody knows here");
        continue;
      }
      made.id = *number;
    }
    entries.push_back(made);
  }
  if (entries.empty()) return std::optional<Acl>();
  CFFS_TRY(Acl made, Acl::of(std::move(entries)));
  return std::optional<Acl>(std::move(made));
}

}  // namespace

Result<bool> add_acl(archive_entry* entry, std::string_view xattr, std::string_view value) {
  CFFS_TRY(const std::optional<Acl> acl, Acl::parse(value));
  if (!acl) return true;
  const bool is_access = xattr == kAccessAcl;
  const int without = static_cast<int>(acl->permissions_without() >> 3 & 7);
  bool says_all = true;
  for (const Acl::Entry& e : acl->entries()) {
    int permissions = e.permissions;
    // It is the entry's mode as well, which is all that goes by for readers without lists.
    if (is_access && e.tag == Tag::group) {
      permissions = without;
      says_all = permissions == e.permissions;
    }
    const bool named = e.tag == Tag::user || e.tag == Tag::named_group;
    const bool is_large = e.id > static_cast<std::uint32_t>(std::numeric_limits<int>::max());
    const int id = named && !is_large ? static_cast<int>(e.id) : -1;
    const std::string number = named && is_large ? std::to_string(e.id) : "";
    archive_entry_acl_add_entry(entry, archive_type(xattr), permissions, archive_tag(e.tag), id,
                                number.empty() ? nullptr : number.c_str());
  }
  return says_all;
}

std::vector<std::string> take_acls(archive_entry* entry, bool is_readable, Inode& inode) {
  std::vector<std::string> problems;
  // GNU tar and older ones of ours have the attribute as well, which needs no reading.
  bool is_known = is_readable || std::any_of(inode.xattrs.begin(), inode.xattrs.end(),
                                             [](const auto& x) { return x.first == kAccessAcl; });
  if ((archive_entry_acl_types(entry) & ARCHIVE_ENTRY_ACL_TYPE_NFS4) != 0) {
    is_known = is_known && !shuts_out(entry);
    if (is_known) problems.emplace_back("its access control list is NFSv4's, and cannot be kept");
  }
  for (const std::string_view name : {kAccessAcl, kDefaultAcl}) {
    const auto there = std::find_if(inode.xattrs.begin(), inode.xattrs.end(),
                                    [&](const auto& x) { return x.first == name; });
    const bool is_there = there != inode.xattrs.end();
    const auto acl = is_there ? Acl::parse(there->second) : list_of(entry, archive_type(name), problems);
    if (!acl) {
      is_known = false;
      if (is_there) inode.xattrs.erase(there);
      continue;
    }
    if (!*acl) continue;
    if (!is_there) inode.xattrs.emplace_back(name, (*acl)->bytes());
    if (name == kAccessAcl) inode.mode = (inode.mode & ~static_cast<mode_t>(0777)) | (*acl)->permissions();
  }
  if (!is_known) {
    problems.push_back("its access control list cannot be kept; it is its owner's alone");
    std::erase_if(inode.xattrs, [](const auto& x) { return is_acl(x.first); });
    inode.mode &= ~static_cast<mode_t>(0077);
  }
  std::sort(inode.xattrs.begin(), inode.xattrs.end());
  return problems;
}

}  // namespace cffs
