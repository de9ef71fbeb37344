#include "grouping/mining/benefit.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <queue>
#include <unordered_set>

#include "grouping/mining/projection.h"

namespace cffs::grouping {
namespace {

constexpr std::size_t kNeighbours = 64;        // pairs remembered of a file
constexpr std::size_t kGroupNeighbours = 256;  // of a group
constexpr std::size_t kWindow = 256;           // files of a long session to either side, by how rare they are
constexpr std::uint64_t kMostSteps = 1'000'000'000;  // comparisons of sessions: some twenty seconds at worst
constexpr std::uint64_t kStepsOfPair =
    64;  // as long as so many comparisons: to queue a pair, or pass it over
constexpr std::uint32_t kGone = ~std::uint32_t{0};

struct Neighbour {
  std::uint32_t group = 0;
  std::uint64_t together = 0;  // sessions that use both; of groups at most so many
};

// A file at first; a group when it was merged. Of the sessions those of one file are only counted: they use nothing both.
struct Cluster {
  std::vector<Item> items;          // of the projection
  std::vector<std::uint32_t> rows;  // that hold one of them, ascending
  std::uint64_t sessions = 0;
  std::uint64_t bytes = 0;
  std::vector<Neighbour> neighbours;
};

struct Merge {
  double gain = 0;  // bytes
  std::uint32_t a = 0, b = 0;
  std::uint64_t together = 0;
  bool exact = false;  // else no more than this
};
// Last: what is merged first.
struct Later {
  bool operator()(const Merge& x, const Merge& y) const {
    if (x.gain != y.gain) return x.gain < y.gain;
    if (x.a != y.a) return x.a > y.a;
    return x.b > y.b;
  }
};

class Merging {
 public:
  Merging(const Transactions& transactions, const std::vector<std::uint64_t>& sizes, const BenefitOptions& o)
      : options_(o), p_(project(transactions, o.min_together)) {
    const std::size_t files = p_.originals.size();
    clusters_.resize(files);
    for (Item item = 0; item < files; ++item) {
      Cluster& c = clusters_[item];
      c.items = {item};
      c.sessions = p_.supports[item];
      c.bytes = p_.originals[item] < sizes.size() ? sizes[p_.originals[item]] : 0;
    }
    for (std::uint32_t r = 0; r < p_.rows.size(); ++r) {
      windowed_ = windowed_ || p_.rows[r].size() > kWindow;
      for (const Item item : p_.rows[r]) clusters_[item].rows.push_back(r);
    }
    merged_into_.resize(files);
    std::iota(merged_into_.begin(), merged_into_.end(), 0u);
  }

  std::vector<std::vector<Item>> run() {
    count_pairs();
    while (!queue_.empty() && steps_ < kMostSteps) {
      const Merge merge = queue_.top();
      queue_.pop();
      steps_ += kStepsOfPair;
      if (merged_into_[merge.a] != merge.a || merged_into_[merge.b] != merge.b) {
        look_again(now(merge.a), now(merge.b));
      } else if (merge.exact) {
        join(merge);
      } else {
        look_at(merge.a, merge.b);
      }
    }
    std::vector<std::vector<Item>> groups;
    for (std::uint32_t c = 0; c < clusters_.size(); ++c) {
      if (merged_into_[c] != c || clusters_[c].items.size() < 2) continue;
      std::vector<Item>& group = groups.emplace_back();
      for (const Item item : clusters_[c].items) group.push_back(p_.originals[item]);
    }
    return groups;
  }

 private:
  bool fit(const Cluster& a, const Cluster& b) const {
    return a.bytes <= options_.max_bytes && b.bytes <= options_.max_bytes - a.bytes &&
           a.items.size() + b.items.size() <= options_.max_members;
  }

  double gain(const Cluster& a, const Cluster& b, std::uint64_t both) const {
    const auto number = [](std::uint64_t n) { return static_cast<double>(n); };
    return number(both) * options_.exchange_bytes - number(a.sessions - both) * number(b.bytes) -
           number(b.sessions - both) * number(a.bytes);
  }

  void offer(std::uint32_t a, std::uint32_t b, std::uint64_t both, bool exact) {
    if (both < options_.min_together || !fit(clusters_[a], clusters_[b])) return;
    const double bytes = gain(clusters_[a], clusters_[b], both);
    if (bytes > 0) queue_.push({bytes, std::min(a, b), std::max(a, b), both, exact});
  }

  void look_at(std::uint32_t a, std::uint32_t b) {
    offer(a, b, together(clusters_[a].rows, clusters_[b].rows), true);
  }

  // A pair of which one has merged since: the group may have only the other's word that they are neighbours.
  void look_again(std::uint32_t a, std::uint32_t b) {
    if (a == b || !fit(clusters_[a], clusters_[b])) return;
    if (looked_again_.insert(std::uint64_t{std::min(a, b)} << 32 | std::max(a, b)).second) look_at(a, b);
  }

  // Keeps the neighbours that promise most.
  void trim(Cluster& cluster, std::size_t most) const {
    if (cluster.neighbours.size() <= most) return;
    const auto better = [&](const Neighbour& x, const Neighbour& y) {
      const double gx = gain(cluster, clusters_[x.group], x.together);
      const double gy = gain(cluster, clusters_[y.group], y.together);
      return gx != gy ? gx > gy : x.group < y.group;
    };
    const auto end = cluster.neighbours.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(cluster.neighbours.begin(), end, cluster.neighbours.end(), better);
    cluster.neighbours.erase(end, cluster.neighbours.end());
    cluster.neighbours.shrink_to_fit();
  }

  static bool knows(const Cluster& cluster, std::uint32_t other) {
    return std::any_of(cluster.neighbours.begin(), cluster.neighbours.end(),
                       [&](const Neighbour& n) { return n.group == other; });
  }

  // How many sessions use each two files.
  void count_pairs() {
    std::vector<std::uint64_t> counts(clusters_.size());
    std::vector<Item> seen;
    for (Item item = 0; item < clusters_.size(); ++item) {
      Cluster& cluster = clusters_[item];
      for (const std::uint32_t r : cluster.rows) {
        const std::vector<Item>& row = p_.rows[r];
        const auto at =
            static_cast<std::size_t>(std::lower_bound(row.begin(), row.end(), item) - row.begin());
        const std::size_t end = std::min(row.size(), at + kWindow + 1);
        for (std::size_t i = at < kWindow ? 0 : at - kWindow; i < end; ++i) {
          if (counts[row[i]] == 0) seen.push_back(row[i]);
          counts[row[i]] += p_.weights[r];
        }
      }
      std::sort(seen.begin(), seen.end());
      for (const Item other : seen) {
        if (other != item && fit(cluster, clusters_[other]))
          cluster.neighbours.push_back({other, counts[other]});
        counts[other] = 0;
      }
      seen.clear();
      trim(cluster, kNeighbours);
      for (const Neighbour& n : cluster.neighbours) {
        if (n.group > item || !knows(clusters_[n.group], item)) offer(item, n.group, n.together, !windowed_);
      }
    }
  }

  std::uint32_t now(std::uint32_t cluster) {
    while (merged_into_[cluster] != cluster) {
      merged_into_[cluster] = merged_into_[merged_into_[cluster]];
      cluster = merged_into_[cluster];
    }
    return cluster;
  }

  std::uint64_t together(const std::vector<std::uint32_t>& x, const std::vector<std::uint32_t>& y) {
    const auto& few = x.size() < y.size() ? x : y;
    const auto& many = x.size() < y.size() ? y : x;
    std::uint64_t sum = 0;
    auto from = many.begin();
    if (many.size() / 16 > few.size()) {
      for (const std::uint32_t row : few) {
        from = std::lower_bound(from, many.end(), row);
        if (from == many.end()) break;
        if (*from == row) sum += p_.weights[row];
      }
      steps_ += few.size() * 16;
      return sum;
    }
    for (const std::uint32_t row : few) {
      while (from != many.end() && *from < row) ++from;
      if (from == many.end()) break;
      if (*from == row) sum += p_.weights[row];
    }
    steps_ += few.size() + many.size();
    return sum;
  }

  void join(const Merge& merge) {
    Cluster a = std::move(clusters_[merge.a]), b = std::move(clusters_[merge.b]);
    const auto id = static_cast<std::uint32_t>(clusters_.size());
    merged_into_[merge.a] = merged_into_[merge.b] = id;
    merged_into_.push_back(id);
    Cluster c;
    c.sessions = a.sessions + b.sessions - merge.together;
    c.bytes = a.bytes + b.bytes;
    c.items = std::move(a.items);
    c.items.insert(c.items.end(), b.items.begin(), b.items.end());
    c.rows.reserve(a.rows.size() + b.rows.size());
    std::set_union(a.rows.begin(), a.rows.end(), b.rows.begin(), b.rows.end(), std::back_inserter(c.rows));
    c.rows.shrink_to_fit();
    steps_ += c.rows.size() + kStepsOfPair * (a.neighbours.size() + b.neighbours.size());
    clusters_[merge.a] = clusters_[merge.b] = {};
    c.neighbours = std::move(a.neighbours);
    c.neighbours.insert(c.neighbours.end(), b.neighbours.begin(), b.neighbours.end());
    for (Neighbour& n : c.neighbours) n.group = now(n.group);
    std::sort(c.neighbours.begin(), c.neighbours.end(),
              [](const Neighbour& x, const Neighbour& y) { return x.group < y.group; });
    std::vector<Neighbour> kept;
    for (const Neighbour& n : c.neighbours) {
      if (n.group == id || !fit(c, clusters_[n.group])) continue;
      if (kept.empty() || kept.back().group != n.group) kept.push_back({n.group, 0});
      // Sessions that use both parts are counted twice: no more than these.
      kept.back().together =
          std::min({kept.back().together + n.together, c.sessions, clusters_[n.group].sessions});
    }
    c.neighbours = std::move(kept);
    trim(c, kGroupNeighbours);
    clusters_.push_back(std::move(c));
    for (const Neighbour& n : clusters_[id].neighbours) offer(id, n.group, n.together, false);
  }

  const BenefitOptions options_;
  const Projection p_;
  std::vector<Cluster> clusters_;
  std::vector<std::uint32_t> merged_into_;  // of each cluster; itself: it still is one
  std::priority_queue<Merge, std::vector<Merge>, Later> queue_;
  std::unordered_set<std::uint64_t> looked_again_;  // pairs, the lesser in the upper half
  std::uint64_t steps_ = 0;
  bool windowed_ = false;  // some rows are so long that a window misses sessions of pairs
};

// What sessions made of each group.
void fill_in(std::vector<SelectedGroup>& groups, const Transactions& transactions,
             const std::vector<std::uint64_t>& sizes) {
  const auto size_of = [&](Item item) { return item < sizes.size() ? sizes[item] : 0; };
  std::vector<std::uint32_t> group_of;
  for (std::uint32_t g = 0; g < groups.size(); ++g) {
    for (const Item item : groups[g].items) {
      if (item >= group_of.size()) group_of.resize(item + std::size_t{1}, kGone);
      group_of[item] = g;
      groups[g].bytes += size_of(item);
    }
  }
  std::vector<double> used(groups.size()), read(groups.size());
  std::vector<std::uint32_t> met(groups.size());
  (void)transactions.for_each([&](std::uint64_t, std::span<const Item> items) {
    const auto each = [&](const auto& visit) {
      for (const Item item : items) {
        if (item < group_of.size() && group_of[item] != kGone) visit(group_of[item], item);
      }
    };
    each([&](std::uint32_t g, Item item) {
      used[g] += static_cast<double>(size_of(item));
      ++met[g];
      if (met[g] == 1) read[g] += static_cast<double>(groups[g].bytes);
      if (met[g] == 2) ++groups[g].support;
    });
    each([&](std::uint32_t g, Item) { met[g] = 0; });
  });
  for (std::size_t g = 0; g < groups.size(); ++g) groups[g].confidence = read[g] > 0 ? used[g] / read[g] : 1;
}

}  // namespace

std::vector<SelectedGroup> benefit_groups(const Transactions& transactions,
                                          const std::vector<std::uint64_t>& sizes,
                                          const BenefitOptions& options) {
  std::vector<SelectedGroup> groups;
  for (auto& items : Merging(transactions, sizes, options).run()) {
    SelectedGroup& group = groups.emplace_back();
    group.items = std::move(items);
  }
  fill_in(groups, transactions, sizes);
  return groups;
}

}  // namespace cffs::grouping
