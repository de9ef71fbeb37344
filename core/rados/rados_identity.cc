#include "core/rados/rados_identity.h"

namespace cffs::rados {

Status give_id(const Pool& pool, const std::string& head) {
  WriteOperation operation;
  operation.set_attribute("id", random_text());
  return pool.run(operation, head);
}

Result<std::string> id_of(const Pool& pool, const std::string& head, const Pool::Stat& known,
                          bool read_only) {
  if (!known.attribute("id").empty()) return known.attribute("id");
  if (read_only) {
    return fail(Error::usage(pool.address().text() +
                             " has no id to keep a local cache by; mount it for writing with one, once"));
  }
  CFFS_TRY_VOID(give_id(pool, head));
  CFFS_TRY(const Pool::Stat now, pool.stat(head));
  return now.attribute("id");
}

}  // namespace cffs::rados
