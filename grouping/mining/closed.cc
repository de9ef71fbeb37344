#include "grouping/mining/closed.h"

#include <algorithm>

#include "grouping/mining/apriori.h"
#include "grouping/mining/projection.h"

namespace cffs::grouping {
namespace {

// The transactions that hold the current set, without its items. Ahead: items beyond the last extension, ascending;
// passed: items before it. Both end to end.
struct Database {
  struct Row {
    std::uint32_t ahead = 0, ahead_end = 0, passed = 0, passed_end = 0;
    std::uint64_t weight = 0, last = 0;
  };
  std::vector<Item> items;
  std::vector<Row> rows;

  std::span<const Item> ahead(const Row& row) const {
    return std::span(items).subspan(row.ahead, row.ahead_end - row.ahead);
  }
  std::span<const Item> passed(const Row& row) const {
    return std::span(items).subspan(row.passed, row.passed_end - row.passed);
  }
};

class ClosedRun {
 public:
  ClosedRun(const Transactions& transactions, const MiningOptions& options,
            const std::vector<Item>* roots = nullptr)
      : options_(options),
        p_(project(transactions, options.min_support, roots != nullptr)),
        // What every transaction of a part holds need not be in every closed set.
        total_(roots != nullptr ? ~std::uint64_t{0} : transactions.size()) {
    if (roots == nullptr) return;
    is_root_.resize(p_.originals.size());
    for (Item item = 0; item < p_.originals.size(); ++item)
      is_root_[item] = std::ranges::binary_search(*roots, p_.originals[item]);
  }

  MiningResult run() {
    Database all;
    for (std::size_t r = 0; r < p_.rows.size(); ++r) {
      const auto begin = static_cast<std::uint32_t>(all.items.size());
      all.items.insert(all.items.end(), p_.rows[r].begin(), p_.rows[r].end());
      const auto end = static_cast<std::uint32_t>(all.items.size());
      all.rows.push_back({begin, end, end, end, p_.weights[r], p_.row_lasts[r]});
    }
    // A projection drops the rows of one item, but they count for the support of that item alone.
    std::vector<std::uint64_t> in_rows(p_.originals.size());
    for (std::size_t r = 0; r < p_.rows.size(); ++r) {
      for (const Item item : p_.rows[r]) in_rows[item] += p_.weights[r];
    }
    for (Item item = 0; item < p_.originals.size(); ++item) {
      const std::uint64_t alone = p_.supports[item] - in_rows[item];
      if (alone == 0) continue;
      const auto begin = static_cast<std::uint32_t>(all.items.size());
      all.items.push_back(item);
      const auto end = begin + 1;
      all.rows.push_back({begin, end, end, end, alone, p_.lasts[item]});
    }
    counts_.resize(p_.originals.size());
    // Items that every transaction holds are in every closed set.
    std::vector<Item> root;
    for (Item item = 0; item < p_.originals.size(); ++item) {
      if (p_.supports[item] == total_) root.push_back(item);
    }
    if (!root.empty()) {
      if (options_.max_size > 0 && root.size() > options_.max_size) return found_.take();
      if (!found_.add(root, total_, total_ - 1)) return found_.take();
      for (Database::Row& row : all.rows) {
        const auto kept = std::remove_if(all.items.begin() + row.ahead, all.items.begin() + row.ahead_end,
                                         [&](Item i) { return p_.supports[i] == total_; });
        row.ahead_end = static_cast<std::uint32_t>(kept - all.items.begin());
      }
    }
    extend(root, all);
    return found_.take();
  }

 private:
  // Every closed set that extends `set` beyond the items passed.
  void extend(const std::vector<Item>& set, const Database& db) {
    // Where each item ahead occurs: buckets, in one pass.
    std::vector<Item> candidates;
    for (const Database::Row& row : db.rows) {
      for (const Item item : db.ahead(row)) {
        if (counts_[item].rows == 0) candidates.push_back(item);
        counts_[item].support += row.weight;
        ++counts_[item].rows;
      }
    }
    std::sort(candidates.begin(), candidates.end());
    struct Bucket {
      Item item;
      std::uint64_t support;
      std::uint32_t begin, end;
    };
    std::vector<Bucket> buckets;
    std::uint32_t places = 0;
    for (const Item item : candidates) {
      Count& count = counts_[item];
      if (count.support >= options_.min_support) {
        buckets.push_back({item, count.support, places, places});
        places += count.rows;
        count.bucket = static_cast<std::uint32_t>(buckets.size());
      }
    }
    std::vector<std::uint32_t> occurrences(places);
    for (std::uint32_t r = 0; r < db.rows.size(); ++r) {
      for (const Item item : db.ahead(db.rows[r])) {
        if (const std::uint32_t b = counts_[item].bucket; b > 0) occurrences[buckets[b - 1].end++] = r;
      }
    }
    for (const Item item : candidates) counts_[item] = {};
    for (const Bucket& bucket : buckets) {
      if (found_.gave_up()) return;
      if (set.empty() && !is_root_.empty() && !is_root_[bucket.item]) continue;
      extend_by(set, db, bucket.item, bucket.support,
                std::span(occurrences).subspan(bucket.begin, bucket.end - bucket.begin));
    }
  }

  void extend_by(const std::vector<Item>& set, const Database& db, Item item, std::uint64_t support,
                 std::span<const std::uint32_t> rows) {
    // How often everything else occurs with it.
    std::vector<Item> seen;
    std::uint64_t last = 0;
    const auto count = [&](Item other, std::uint64_t weight) {
      if (counts_[other].support == 0) seen.push_back(other);
      counts_[other].support += weight;
    };
    for (const std::uint32_t r : rows) {
      const Database::Row& row = db.rows[r];
      last = std::max(last, row.last);
      for (const Item other : db.passed(row)) count(other, row.weight);
      for (const Item other : db.ahead(row)) count(other, row.weight);
    }
    std::vector<Item> closed = set;
    closed.push_back(item);
    bool met_before = false;
    for (const Item other : seen) {
      if (counts_[other].support != support || other == item) continue;
      if (other < item) met_before = true;  // this closure is found from that item
      closed.push_back(other);
    }
    const bool fits = options_.max_size == 0 || closed.size() <= options_.max_size;
    Database below;
    if (!met_before && fits) {
      std::sort(closed.begin(), closed.end());
      if (found_.add(closed, support, last) &&
          (options_.max_size == 0 || closed.size() < options_.max_size)) {
        below = restrict_to(db, item, support, rows);
      }
    }
    for (const Item other : seen) counts_[other] = {};
    if (!below.rows.empty()) extend(closed, below);
  }

  // The database of the extension; counts_ holds the supports of its items.
  Database restrict_to(const Database& db, Item item, std::uint64_t support,
                       std::span<const std::uint32_t> rows) const {
    Database below;
    const auto wanted = [&](Item other) {
      return counts_[other].support >= options_.min_support && counts_[other].support != support;
    };
    for (const std::uint32_t r : rows) {
      const Database::Row& row = db.rows[r];
      Database::Row kept;
      kept.weight = row.weight;
      kept.last = row.last;
      kept.ahead = static_cast<std::uint32_t>(below.items.size());
      for (const Item other : db.ahead(row)) {
        if (other > item && wanted(other)) below.items.push_back(other);
      }
      kept.ahead_end = kept.passed = static_cast<std::uint32_t>(below.items.size());
      if (kept.ahead == kept.ahead_end) continue;  // nothing to extend by
      for (const Item other : db.passed(row)) {
        if (wanted(other)) below.items.push_back(other);
      }
      for (const Item other : db.ahead(row)) {
        if (other < item && wanted(other)) below.items.push_back(other);
      }
      kept.passed_end = static_cast<std::uint32_t>(below.items.size());
      std::sort(below.items.begin() + kept.passed, below.items.begin() + kept.passed_end);
      below.rows.push_back(kept);
    }
    merge_equal(below);
    return below;
  }

  static void merge_equal(Database& db) {
    std::sort(db.rows.begin(), db.rows.end(), [&](const Database::Row& a, const Database::Row& b) {
      const auto x = db.ahead(a), y = db.ahead(b);
      return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
    });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < db.rows.size(); ++i) {
      if (kept > 0 && std::ranges::equal(db.ahead(db.rows[kept - 1]), db.ahead(db.rows[i]))) {
        Database::Row& into = db.rows[kept - 1];
        into.weight += db.rows[i].weight;
        into.last = std::max(into.last, db.rows[i].last);
        // What both have; the result is never longer than the first, so it fits where that was.
        const auto x = db.passed(into), y = db.passed(db.rows[i]);
        const auto end =
            std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), db.items.begin() + into.passed);
        into.passed_end = static_cast<std::uint32_t>(end - db.items.begin());
        continue;
      }
      db.rows[kept++] = db.rows[i];
    }
    db.rows.resize(kept);
  }

  struct Count {
    std::uint64_t support = 0;
    std::uint32_t rows = 0, bucket = 0;
  };
  const MiningOptions& options_;
  const Projection p_;
  const std::uint64_t total_;
  std::vector<bool> is_root_;  // of a part; empty: all are
  std::vector<Count> counts_;  // scratch, all zero between uses
  ItemsetSink found_{p_, options_};
};

}  // namespace

MiningResult ClosedMiner::mine(const Transactions& transactions, const MiningOptions& options) const {
  return ClosedRun(transactions, options).run();
}

MiningResult mine_closed_part(const Transactions& transactions, const std::vector<Item>& roots,
                              const MiningOptions& options) {
  return ClosedRun(transactions, options, &roots).run();
}

std::unique_ptr<Miner> make_miner(std::string_view name) {
  if (name == "apriori") return std::make_unique<AprioriMiner>();
  if (name == "closed") return std::make_unique<ClosedMiner>();
  return nullptr;
}

}  // namespace cffs::grouping
