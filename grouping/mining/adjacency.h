// The composite-file paper's own variant of Apriori (FAST'16): files accessed one right after the other, in a stream.
//
// A pair is counted when B is accessed right after A, or A right after B. A set of k is counted when k accesses in a
// row are to its k files, in any order; it is looked at only where the two runs of k-1 inside it are frequent (a
// frequent sequence holds frequent subsequences). The log is taken in batches; a set is frequent in a batch where its
// count reaches the relative support, a share of the batch's accesses. Counts of a set are added up over the batches
// in which it is frequent; the latest such batch is its recency.
//
// Thread safety: none.
#pragma once

#include <map>
#include <unordered_map>

#include "grouping/mining/itemset.h"

namespace cffs::grouping {

struct AdjacencyOptions {
  double support = 0.05;       // share of a batch's accesses
  std::size_t batch = 50'000;  // accesses
  std::size_t max_size = 16;   // files of a set
};

class AdjacencyMiner {
 public:
  explicit AdjacencyMiner(const AdjacencyOptions& options) : options_(options) {}

  // An access to the file that the stream accessed last counts as no access: a burst.
  void add(std::uint64_t stream, Item item);
  MiningResult finish();
  std::uint64_t batches() const { return batches_; }

 private:
  void mine_batch();

  const AdjacencyOptions options_;
  std::unordered_map<std::uint64_t, std::size_t> index_;  // stream -> place in streams_
  std::vector<std::vector<Item>> streams_;                // of this batch, in order of appearance
  std::size_t accesses_ = 0;
  std::uint64_t batches_ = 0;
  std::map<std::vector<Item>, Itemset> found_;
};

}  // namespace cffs::grouping
