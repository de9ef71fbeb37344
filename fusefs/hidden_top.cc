#include "fusefs/hidden_top.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <string_view>

#include "core/object/file_descriptor.h"
#include "fusefs/reply.h"
#include "fusefs/wire.h"

namespace cffs {
namespace {

constexpr std::string_view kRootName = "store";

// Not every C library wraps them yet.
int clone_of(const std::string& path) {
  return static_cast<int>(
      ::syscall(SYS_open_tree, AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}
int move_to(int tree, const std::string& path, unsigned how = 0) {
  return static_cast<int>(
      ::syscall(SYS_move_mount, tree, "", AT_FDCWD, path.c_str(), MOVE_MOUNT_F_EMPTY_PATH | how));
}
// Linux 6.5. Headers need not have it yet.
constexpr unsigned kBeneath = 0x200;

struct stat top_attributes() {
  struct stat st {};
  st.st_ino = FUSE_ROOT_ID;
  st.st_mode = S_IFDIR | 0555;
  st.st_nlink = 3;
  st.st_blksize = 4096;
  return st;
}

}  // namespace

bool HiddenTop::possible() {
  if (::geteuid() != 0) return false;
  const FileDescriptor tree(clone_of("/"));
  return static_cast<bool>(tree);
}

// No inode's lock is held by who asks for attributes on his way: nobody who waits keeps the stepper from its look. Over a ring he would
// keep a thread, though, and with all threads of a queue the stepper (ring_member.h): there nobody waits.
bool HiddenTop::has_to_wait(std::uint64_t unique, pid_t task) {
  if (context_.over_ring) return false;
  const MutexLock guard(mutex_);
  if (is_replaced_ || task == stepper_) return false;
  try {
    waiting_.push_back(unique);
  } catch (const std::bad_alloc&) {
    return false;  // who is told of the top sees nothing there
  }
  return true;
}

void HiddenTop::let_go() {
  std::vector<std::uint64_t> waiting;
  {
    const MutexLock guard(mutex_);
    is_replaced_ = true;
    waiting.swap(waiting_);
  }
  for (const std::uint64_t unique : waiting) reply_raw(session_, unique, ESTALE, nullptr, 0);
}

bool HiddenTop::serve(const fuse_buf& request) {
  fuse_in_header header;
  if (!context_.below_top || !read_header(request, header) || header.nodeid != FUSE_ROOT_ID) return false;
  switch (header.opcode) {
    case FUSE_LOOKUP: {
      const char* name = static_cast<const char*>(request.mem) + sizeof header;
      const std::string_view wanted(name, ::strnlen(name, request.size - sizeof header));
      if (wanted != kRootName) {
        reply_raw(session_, header.unique, ESTALE, nullptr, 0);
        return true;
      }
      const auto root = context_.fs.getattr(kRootInode);
      if (!root) {
        reply_raw(session_, header.unique, errno_of(root.error()), nullptr, 0);
        return true;
      }
      const fuse_entry_out out = wire_entry(fuse::kNodeOfRootBelowTop, fuse::stat_of(*root));
      reply_raw(session_, header.unique, 0, &out, sizeof out);
      return true;
    }
    case FUSE_GETATTR: {
      if (has_to_wait(header.unique, static_cast<pid_t>(header.pid))) return true;
      fuse_attr_out out{};  // valid for this once: the next one has to ask, too
      out.attr = wire_attributes(top_attributes());
      reply_raw(session_, header.unique, 0, &out, sizeof out);
      return true;
    }
    case kFuseStatx: {  // who wants to know more asks so
      if (has_to_wait(header.unique, static_cast<pid_t>(header.pid))) return true;
      StatxOut out{};
      out.stat = wire_statx(top_attributes(), {});
      reply_raw(session_, header.unique, 0, &out, sizeof out);
      return true;
    }
    case FUSE_FORGET:
    case FUSE_STATFS:
    case FUSE_SYNCFS:
    case FUSE_OPENDIR:
      return false;
    default:
      reply_raw(session_, header.unique, EACCES, nullptr, 0);
      return true;
  }
}

Status HiddenTop::step_down(const std::string& mount_point) {
  {
    const MutexLock guard(mutex_);
    stepper_ = static_cast<pid_t>(::syscall(SYS_gettid));
  }
  const Status replaced = replace(mount_point);
  let_go();
  return replaced;
}

Status HiddenTop::replace(const std::string& mount_point) {
  const FileDescriptor tree(clone_of(mount_point + "/" + std::string(kRootName)));
  if (!tree) return fail(errno, mount_point);
  // Where it can come beneath the top there is no moment in which nothing is mounted, and who writes there writes below. Else the clone
  // keeps the file system alive meanwhile.
  const bool is_beneath = move_to(tree.get(), mount_point, kBeneath) == 0;
  if (::umount2(mount_point.c_str(), MNT_DETACH) != 0) return fail(errno, mount_point);
  if (!is_beneath && move_to(tree.get(), mount_point) != 0) return fail(errno, mount_point);
  return {};
}

}  // namespace cffs
