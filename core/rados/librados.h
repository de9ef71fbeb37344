// librados, loaded when the first store in a Ceph pool is opened: with what it needs it takes 15 MB and 15 ms of whoever links it, and
// most users of cffs have no cluster. Its header is needed to build, its library only to run.
//
// Functions are called as librados().aio_write(...), for rados_aio_write().
#pragma once

#include <rados/librados.h>

#include <string>

#include "core/base/error.h"

namespace cffs::rados {

#define CFFS_LIBRADOS_FUNCTIONS(F)                                                                         \
  F(create2)                                                                                               \
  F(conf_set)                                                                                              \
  F(conf_get)                                                                                              \
  F(conf_read_file)                                                                                        \
  F(conf_parse_env)                                                                                        \
  F(connect) F(shutdown) F(ioctx_create) F(ioctx_destroy) F(ioctx_set_namespace) F(set_pool_full_try)      \
      F(aio_flush) F(wait_for_latest_osdmap) F(mon_command) F(buffer_free) F(blocklist_add)                \
          F(create_write_op) F(release_write_op) F(write_op_create) F(write_op_write) F(write_op_setxattr) \
              F(write_op_rmxattr) F(write_op_truncate) F(write_op_zero) F(write_op_omap_set2)              \
                  F(write_op_omap_rm_keys2) F(write_op_operate) F(aio_write_op_operate) F(create_read_op)  \
                      F(release_read_op) F(read_op_stat) F(read_op_read) F(aio_read_op_operate)            \
                          F(read_op_getxattrs) F(read_op_omap_get_vals2) F(read_op_operate)                \
                              F(getxattrs_next) F(getxattrs_end) F(omap_get_next2) F(omap_get_end)         \
                                  F(aio_create_completion2) F(aio_release) F(aio_get_return_value)         \
                                      F(aio_wait_for_complete) F(aio_write) F(aio_remove) F(aio_stat)      \
                                          F(lock_exclusive) F(lock_shared) F(unlock) F(break_lock)         \
                                              F(list_lockers) F(watch3) F(unwatch2) F(watch_check)         \
                                                  F(watch_flush) F(notify2) F(notify_ack)                  \
                                                      F(decode_notify_response) F(free_notify_response)

struct Librados {
#define CFFS_LIBRADOS_MEMBER(name) decltype(&::rados_##name) name = nullptr;
  CFFS_LIBRADOS_FUNCTIONS(CFFS_LIBRADOS_MEMBER)
#undef CFFS_LIBRADOS_MEMBER
};

// Once for the process. `usage`: it is not there, or too old.
Status load_librados();
// Loaded by load_librados().
const Librados& librados();
// These instead, from now on, whether the library is there or not: for tests (tests/pool). Before anybody connects, on one thread.
void use_librados(const Librados& functions);

}  // namespace cffs::rados
