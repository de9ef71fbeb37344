// The store's own notes, by which its next user would destroy what is there where they are not true.
#include <algorithm>

#include "core/inspect/consistency.h"
#include "core/table/table.h"

namespace cffs {

// What has a larger number than the counter would be overwritten by whoever gets it next. A malformed row is reported with the others.
Status ConsistencyCheck::check_counter() {
  CFFS_TRY(const UsedNumbers::Counter counter, numbers_.judge_counter(fs_.table(), fs_.objects()));
  if (!counter.gives || counter.is_good()) return {};
  report("the store gives numbers from " + std::to_string(*counter.gives) + " on, " +
         (counter.is_behind ? "has used " + std::to_string(numbers_.next() - 1) : "which no file may have"));
  return {};
}

// They would go when the store is opened next.
void ConsistencyCheck::check_removals(const std::set<std::string>& wanted) {
  for (const std::string& name : pending_) {
    if (wanted.contains(name)) report("object " + name + " waits for its removal, and a row names it");
  }
  for (const std::uint64_t ino : nameless_) {
    if (std::binary_search(inodes_.begin(), inodes_.end(), ino))
      report(ino, " waits for its removal, and a row names it");
  }
}

Status ConsistencyCheck::check_values() {
  CFFS_TRY(const auto miscounted, fs_.table().find_miscounted_values());
  for (const std::string& sentence : miscounted) report(sentence);
  return {};
}

}  // namespace cffs
