// A change of a file's content under way: what joins its batch, and how the inode was, should it fail. What the node has
// beside its inode (bytes or an object of a file without a name) changes only once nothing can fail any more.
#pragma once

#include <memory>
#include <utility>

#include "core/composite/composite_accounts.h"
#include "core/table/table.h"

namespace cffs {

struct ContentChange {
  ContentChange(Table& table, Inode inode) : accounts(table), before(std::move(inode)) {}

  Batch batch;
  CompositeAccounts accounts;
  const Inode before;
  std::shared_ptr<Object> new_blob;  // made for this change; nobody's until it has succeeded
};

}  // namespace cffs
