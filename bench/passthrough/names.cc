// Names: found, made, moved, removed, forgotten.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "bench/passthrough/nodes.h"
#include "bench/passthrough/operations.h"

namespace cffs::bench::passthrough {
namespace {

void reply_found(fuse_req_t req, fuse_ino_t parent, const char* name) {
  fuse_entry_param entry{};
  if (const int problem = Nodes::of(req).find(directory_of(req, parent), name, entry); problem != 0) {
    fuse_reply_err(req, problem);
  } else {
    fuse_reply_entry(req, &entry);
  }
}

void lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
  fuse_entry_param entry{};
  const int problem = Nodes::of(req).find(directory_of(req, parent), name, entry);
  if (problem == ENOENT) {
    entry = {};
    entry.entry_timeout = kForEver;
  } else if (problem != 0) {
    fuse_reply_err(req, problem);
    return;
  }
  fuse_reply_entry(req, &entry);
}

void forget(fuse_req_t req, fuse_ino_t node, std::uint64_t n) {
  Nodes::of(req).forget(node, n);
  fuse_reply_none(req);
}

void forget_multi(fuse_req_t req, std::size_t count, fuse_forget_data* forgets) {
  for (std::size_t i = 0; i < count; ++i) Nodes::of(req).forget(forgets[i].ino, forgets[i].nlookup);
  fuse_reply_none(req);
}

// New files belong to who asked for them, as they would without us.
class AsCaller {
 public:
  explicit AsCaller(fuse_req_t req) {
    const fuse_ctx* ctx = fuse_req_ctx(req);
    if (ctx->uid == 0 && ctx->gid == 0) return;
    changed_ = true;
    ::syscall(SYS_setresgid, -1, ctx->gid, -1);
    ::syscall(SYS_setresuid, -1, ctx->uid, -1);
  }
  ~AsCaller() {
    if (!changed_) return;
    ::syscall(SYS_setresuid, -1, 0, -1);
    ::syscall(SYS_setresgid, -1, 0, -1);
  }
  AsCaller(const AsCaller&) = delete;
  AsCaller& operator=(const AsCaller&) = delete;

 private:
  bool changed_ = false;
};

void mknod(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode, dev_t rdev) {
  int made = 0;
  {
    const AsCaller as(req);
    made = ::mknodat(directory_of(req, parent), name, mode, rdev);
  }
  made == 0 ? reply_found(req, parent, name) : reply_result(req, made);
}

void mkdir(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode) {
  int made = 0;
  {
    const AsCaller as(req);
    made = ::mkdirat(directory_of(req, parent), name, mode);
  }
  made == 0 ? reply_found(req, parent, name) : reply_result(req, made);
}

void symlink(fuse_req_t req, const char* target, fuse_ino_t parent, const char* name) {
  int made = 0;
  {
    const AsCaller as(req);
    made = ::symlinkat(target, directory_of(req, parent), name);
  }
  made == 0 ? reply_found(req, parent, name) : reply_result(req, made);
}

void link(fuse_req_t req, fuse_ino_t node, fuse_ino_t parent, const char* name) {
  const Opened file(req, node, O_PATH);
  const int made =
      ::linkat(AT_FDCWD, file.name().c_str(), directory_of(req, parent), name, AT_SYMLINK_FOLLOW);
  made == 0 ? reply_found(req, parent, name) : reply_result(req, made);
}

void unlink(fuse_req_t req, fuse_ino_t parent, const char* name) {
  Nodes::of(req).keep_open(directory_of(req, parent), name);
  reply_result(req, ::unlinkat(directory_of(req, parent), name, 0));
}

void rmdir(fuse_req_t req, fuse_ino_t parent, const char* name) {
  reply_result(req, ::unlinkat(directory_of(req, parent), name, AT_REMOVEDIR));
}

void rename(fuse_req_t req, fuse_ino_t parent, const char* name, fuse_ino_t new_parent, const char* new_name,
            unsigned flags) {
  Nodes::of(req).keep_open(directory_of(req, new_parent), new_name);
  reply_result(req,
               ::renameat2(directory_of(req, parent), name, directory_of(req, new_parent), new_name, flags));
}

}  // namespace

void add_name_operations(fuse_lowlevel_ops& ops) {
  ops.lookup = lookup;
  ops.forget = forget;
  ops.forget_multi = forget_multi;
  ops.mknod = mknod;
  ops.mkdir = mkdir;
  ops.symlink = symlink;
  ops.link = link;
  ops.unlink = unlink;
  ops.rmdir = rmdir;
  ops.rename = rename;
}

}  // namespace cffs::bench::passthrough
