#include "fusefs/operations.h"

#include "fusefs/connection.h"
#include "fusefs/reply.h"

namespace cffs {
namespace {

void init(void* user, fuse_conn_info* conn) {
  auto& mount = *static_cast<MountContext*>(user);
  configure_connection(conn);
  // A default ACL takes the umask's place, so the engine applies it, not the kernel.
  if (mount.acl && (conn->capable & FUSE_CAP_POSIX_ACL) != 0) {
    conn->want |= FUSE_CAP_POSIX_ACL | FUSE_CAP_DONT_MASK;
  }
  conn->want |= conn->capable & FUSE_CAP_EXPORT_SUPPORT;
  if (mount.on_initialised) mount.on_initialised();
}

}  // namespace

fuse_lowlevel_ops fuse_operations() {
  fuse_lowlevel_ops ops{};
  ops.init = init;
  fuse::add_namespace_operations(ops);
  fuse::add_attribute_operations(ops);
  fuse::add_data_operations(ops);
  return ops;
}

}  // namespace cffs
