// POSIX access control lists (POSIX.1e draft 17, acl(5)), in the kernel's byte form: what getfacl and setfacl read and
// write as the extended attributes system.posix_acl_access and system.posix_acl_default.
//
// Whether an operation is allowed is the kernel's to decide; a file system keeps the list and the mode in step: the mode's
// group bits are the list's mask, a chmod changes the list, a new file inherits its directory's default list.
// Pure: no I/O, no clock.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace cffs {

inline constexpr std::string_view kAccessAcl = "system.posix_acl_access";
inline constexpr std::string_view kDefaultAcl = "system.posix_acl_default";

inline bool is_acl(std::string_view xattr) { return xattr == kAccessAcl || xattr == kDefaultAcl; }

class Acl {
 public:
  enum class Tag : std::uint16_t {
    owner = 0x01,
    user = 0x02,
    group = 0x04,
    named_group = 0x08,
    mask = 0x10,
    others = 0x20
  };
  struct Entry {
    Tag tag;
    std::uint16_t permissions;
    std::uint32_t id;  // kNoId where nobody is named
  };
  static constexpr std::uint32_t kNoId = 0xffffffff;

  // EINVAL: not a list, or one that acl(5) does not allow. A list without entries is none: nullopt.
  static Result<std::optional<Acl>> parse(std::string_view bytes);
  // In any order. EINVAL: no list that acl(5) allows, or one that names somebody twice.
  static Result<Acl> of(std::vector<Entry> entries);
  std::string bytes() const;
  const std::vector<Entry>& entries() const { return entries_; }

  // The nine permission bits that go with this list.
  mode_t permissions() const;
  // And those that are no wider for anybody but whom it names: the group has what it and the mask allow.
  mode_t permissions_without() const;
  // No more than the mode's nine bits can say.
  bool is_minimal() const;
  // As chmod does: owner, mask (or group) and others follow the mode.
  void change_mode(mode_t mode);
  // What a new file of this mode gets from the directory's default list; narrows `mode` to it.
  Acl inherited(mode_t& mode) const;

 private:
  const Entry* find(Tag tag) const;
  Entry* find(Tag tag);
  // The entry that the mode's group bits stand for.
  const Entry& group_class() const;
  Entry& group_class();
  bool is_valid() const;

  std::vector<Entry> entries_;  // sorted by tag, then id, as the kernel wants them
};

// The mode of a file whose access list could not be set; one that is no list leaves the file its owner's alone.
mode_t mode_without_acl(mode_t mode, std::string_view list);

}  // namespace cffs
