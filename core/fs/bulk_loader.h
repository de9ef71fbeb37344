// Puts many files into a store at once, for import: straight into a composite in the order given, without staging.
//
// One load() makes one composite (or, under a policy without composites, table rows) and a few batches. Contract:
// FileSystem::load().
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/composite/twin_search.h"
#include "core/fs/content_claims.h"
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
        twins_(table, composites),
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
  // A file, and what is known of its content.
  struct Placed {
    NewFile* file = nullptr;
    std::size_t extent_number =
        0;  // which of the builder's extents it is, where it is in a composite of this load
    std::optional<Extent> twin;  // a member that is there and has the same content
    enum class Content { table, own, same, twin } content = Content::table;
  };
  using Files = std::vector<Placed>;
  struct Left {
    std::vector<std::string> taken;
    std::vector<NewFile*> unplaced;  // what they were to share, or their composite, went meanwhile
    std::vector<NewFile*> awaiting;  // another load is writing their content
    std::vector<Key> awaited;        // these contents
  };
  Status load(const std::vector<std::vector<NewFile*>>& groups, const grouping::Policy& policy,
              std::uint64_t table_bytes, bool with_others, Left& left);
  Status place(NewFile& file, CompositeBuilder& builder, bool with_others, ContentClaims::Held& claims,
               Files& files, Left& left);
  Status make(const CompositeBuilder& composite, Files& files);
  // The composite of a load, as far as rows name it.
  struct Made {
    const CompositeBuilder* builder = nullptr;  // null: the load has none
    bool named = false;                         // a row says that there is such a composite
    std::vector<Extent> wasted;                 // until then
  };
  Status insert(std::span<const Placed> files, Made& made, grouping::PolicyId policy, Left& left);
  Result<bool> join(CompositeAccounts& accounts, const Placed& placed) const;
  void stop_counting(std::span<const Placed> files) const;
  Result<Row*> row_of(Key key, std::map<Key, Row>& rows) const CFFS_REQUIRES(row_stripes);

  Table& table_;
  const TwinSearch twins_;
  RowLocks& locks_;
  NodeTable& nodes_;
  NodeRows& rows_;
  Homes& homes_;
  CompositeStore& composites_;
  Removals& removals_;
  InodeCounter& counter_;
  FileCount& count_;
  SpaceGuard& space_;
  ContentClaims claims_;
};

}  // namespace cffs
