// Puts many files into a store at once, for import: straight into a composite in the order given, without staging.
//
// One load() makes one composite (or, under a policy without composites, table rows) and a few batches. Contract:
// FileSystem::load().
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/fs/file_count.h"
#include "core/fs/homes.h"
#include "core/fs/new_file.h"
#include "core/fs/node_rows.h"
#include "core/fs/removals.h"
#include "core/fs/space_guard.h"
#include "core/table/inode_counter.h"
#include "grouping/policy.h"

namespace cffs {

class BulkLoader {
 public:
  BulkLoader(Table& table, RowLocks& locks, NodeTable& nodes, NodeRows& rows, Homes& homes,
             CompositeStore& composites, Removals& removals, InodeCounter& counter, FileCount& count,
             SpaceGuard& space)
      : table_(table),
        locks_(locks),
        nodes_(nodes),
        rows_(rows),
        homes_(homes),
        composites_(composites),
        removals_(removals),
        counter_(counter),
        count_(count),
        space_(space) {}

  // Files of at most `table_bytes` become table rows whatever the policy.
  Result<std::vector<std::string>> load(std::vector<std::vector<NewFile>> groups,
                                        const grouping::Policy& policy, std::uint64_t table_bytes);

 private:
  using Files = std::vector<NewFile*>;
  Status make(const CompositeBuilder& composite, const Files& members);
  Status insert(std::span<NewFile*> files, const CompositeBuilder* builder, grouping::PolicyId policy,
                std::vector<std::string>& taken);
  void stop_counting(std::span<NewFile* const> files) const;
  Result<Row*> row_of(Key key, std::map<Key, Row>& rows) const CFFS_REQUIRES(row_stripes);

  Table& table_;
  RowLocks& locks_;
  NodeTable& nodes_;
  NodeRows& rows_;
  Homes& homes_;
  CompositeStore& composites_;
  Removals& removals_;
  InodeCounter& counter_;
  FileCount& count_;
  SpaceGuard& space_;
};

}  // namespace cffs
