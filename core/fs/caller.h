// Who asks for a change, as far as a file system behind the VFS must know. There is no default: whoever calls says whether
// the caller is privileged, since set-id bits and capabilities of files depend on it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <utility>

namespace cffs {

class Caller {
 public:
  // May keep set-id bits (CAP_FSETID): root, and programs that use the library for themselves.
  static Caller privileged(uid_t uid = 0, gid_t gid = 0) { return {uid, gid, true, nullptr}; }
  // `in_group` tells whether the caller belongs to a group; asked only where set-id bits depend on it. Null: to none.
  static Caller unprivileged(uid_t uid, gid_t gid, std::function<bool(gid_t)> in_group = nullptr) {
    return {uid, gid, false, std::move(in_group)};
  }
  Caller with_umask(mode_t bits) const {
    Caller changed = *this;
    changed.umask_ = bits;
    return changed;
  }

  uid_t uid() const { return uid_; }
  gid_t gid() const { return gid_; }
  // Bits that new files do not get, where no default ACL takes its place.
  mode_t umask() const { return umask_; }
  bool is_privileged() const { return privileged_; }
  bool may_set_group_id(gid_t of) const { return privileged_ || (in_group_ && in_group_(of)); }

 private:
  Caller(uid_t uid, gid_t gid, bool privileged, std::function<bool(gid_t)> in_group)
      : uid_(uid), gid_(gid), privileged_(privileged), in_group_(std::move(in_group)) {}

  uid_t uid_;
  gid_t gid_;
  mode_t umask_ = 0;
  bool privileged_;
  std::function<bool(gid_t)> in_group_;
};

}  // namespace cffs
