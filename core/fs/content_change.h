// A change of a file's content under way: what joins its batch, and how the inode was, should it fail.
#pragma once

#include <utility>

#include "core/composite/composite_accounts.h"
#include "core/table/table.h"

namespace cffs {

struct ContentChange {
  ContentChange(Table& table, Inode inode) : accounts(table), before(std::move(inode)) {}

  Batch batch;
  CompositeAccounts accounts;
  const Inode before;
};

}  // namespace cffs
