#include "fusefs/operations.h"

#include "fusefs/connection.h"
#include "fusefs/reply.h"

namespace cffs {
namespace {

void init(void* user, fuse_conn_info* conn) {
  auto& mount = *static_cast<MountContext*>(user);
  configure_connection(conn);
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
