#include "core/reorganise/own_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/fs/access_record.h"
#include "core/fs/kept_in_table.h"
#include "core/reorganise/regrouping.h"
#include "core/reorganise/small_files.h"
#include "core/reorganise/store_paths.h"
#include "grouping/mining/mine_groups.h"
#include "grouping/mining/sessions.h"

namespace cffs {
namespace {

// A server's process reads for many clients without a pause: its stream is cut into windows.
constexpr std::int64_t kRecordGapMs = 2'000;
constexpr std::size_t kRecordWindow = 64;
constexpr std::size_t kMostItemsets = 500'000;
// Worth it: at least this share of the reads saved, and a read for every so many bytes copied (what a disk moves in the
// time of one random read), where it is not known better.
constexpr double kLeastSaved = 0.05;
constexpr std::uint64_t kBytesPerRead = 256 * 1024;
// What is gone, empty or large cannot be a member.
constexpr std::uint64_t kTooLarge = ~std::uint64_t{0} >> 16;

// Where a file lies: equal for files that one read fetches.
using Spot = std::pair<std::uint64_t, std::uint64_t>;

class OwnMining {
 public:
  OwnMining(FileSystem& fs, std::uint64_t exchange_bytes)
      : fs_(fs), before_(fs.policy()->plan()), exchange_bytes_(exchange_bytes) {}

  Result<OwnPlan> run(bool always) {
    CFFS_TRY_VOID(read_record());
    if (files_.empty()) return own_;
    CFFS_TRY_VOID(locate());
    grouping::GroupMiningOptions mining;
    mining.max_itemsets = kMostItemsets;
    if (exchange_bytes_ > 0) {
      mining.algorithm = "benefit";
      mining.exchange_bytes = static_cast<double>(exchange_bytes_);
    }
    mining.table_bytes = kept_in_table(*fs_.policy(), fs_.store_format());
    std::vector<std::uint64_t> sizes;
    for (const RecordedFile& file : files_) sizes.push_back(file.size > 0 ? file.size : kTooLarge);
    auto mined = grouping::mine_groups(transactions_, sizes, mining).groups;
    assign(mined);
    if (!always) drop_those_that_do_not_pay(mined);
    auto plan = plan_of(mined);
    count_reads();
    CFFS_TRY_VOID(check_sessions());
    if (plan->size() == 0 || (!always && !pays())) return own_;
    if (!always) keep_former_groups(*plan);
    CFFS_TRY_VOID(check_sessions());
    own_.groups = std::move(plan);
    return own_;
  }

 private:
  struct RecordedFile {
    std::uint64_t number = 0;
    Spot spot;  // now
    std::uint64_t size = 0;
    std::string path;
    std::optional<std::size_t> group;
  };

  Status read_record() {
    // Without room for the newest accesses, what is recorded is mined.
    if (fs_.access_record() != nullptr) (void)fs_.access_record()->flush();
    grouping::SessionOptions options;
    options.gap_ms = kRecordGapMs;
    options.max_files = kRecordWindow;
    options.cut = true;
    grouping::Sessions sessions(options,
                                [&](std::span<const grouping::Item> s) { (void)transactions_.add(s); });
    CFFS_TRY_VOID(AccessRecord::visit(fs_.objects(), [&](const AccessRecord::Access& a) {
      const auto [it, fresh] = items_.try_emplace(a.file.value, static_cast<grouping::Item>(files_.size()));
      if (fresh) files_.push_back({a.file.value, {}, 0, {}, {}});
      sessions.add({a.time_ms, a.stream, it->second, false});
      ++own_.accesses;
    }));
    sessions.finish();
    CFFS_TRY_VOID(check_sessions());
    own_.sessions = transactions_.size();
    own_.files = files_.size();
    return {};
  }

  // Whether all of them were kept, and read back whenever that was wanted.
  Status check_sessions() const {
    if (transactions_.problem() == 0) return {};
    return fail(transactions_.problem(), "the temporary file for sessions");
  }

  Status locate() {
    for (std::size_t g = 0; before_ && g < before_->size(); ++g) {
      for (const auto& member : before_->members(g)) not_met_.insert(member.file);
    }
    return visit_small_files(fs_, [&](const SmallFile& f) {
      not_met_.erase(f.ino.value);
      if (f.home == Home::composite) ++files_at_[{f.composite.value, f.group_offset}];
      const auto it = items_.find(f.ino.value);
      if (it == items_.end()) return;
      RecordedFile& file = files_[it->second];
      const bool member = f.home == Home::composite;
      file.spot = {member ? f.composite.value : 0, member ? f.group_offset : f.ino.value};
      file.size = f.size;
      file.path = f.path;
    });
  }

  using Groups = std::vector<grouping::SelectedGroup>;

  std::uint64_t worth_of_a_read() const { return exchange_bytes_ > 0 ? exchange_bytes_ : kBytesPerRead; }

  void assign(const Groups& groups) {
    for (RecordedFile& file : files_) file.group.reset();
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (const grouping::Item item : groups[g].items) files_[item].group = g;
    }
  }

  // What is copied for a group has to be worth the reads that it saves, not that others save: popularity moves a little every
  // day, and most of what could be moved for it saves hardly anything (docs/GROUPING.md).
  void drop_those_that_do_not_pay(Groups& groups) {
    std::vector<std::uint64_t> saved(groups.size());
    std::map<std::size_t, std::set<Spot>> places;  // of each group that the session is in
    (void)transactions_.for_each([&](std::uint64_t, std::span<const grouping::Item> session) {
      places.clear();
      for (const grouping::Item item : session) {
        const RecordedFile& file = files_[item];
        if (file.group) places[*file.group].insert(file.spot);
      }
      for (const auto& [group, spots] : places) saved[group] += spots.size() - 1;
    });
    Groups kept;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (in_place(groups[g]) || saved[g] * worth_of_a_read() >= groups[g].bytes)
        kept.push_back(std::move(groups[g]));
    }
    groups = std::move(kept);
    assign(groups);
  }

  bool in_place(const grouping::SelectedGroup& group) const {
    const Spot& first = files_[group.items.front()].spot;
    const auto there = files_at_.find(first);
    return there != files_at_.end() && lies_in_place(group.items.size(), there->second) &&
           std::all_of(group.items.begin(), group.items.end(),
                       [&](grouping::Item item) { return files_[item].spot == first; });
  }

  // Behind the new ones, those of the plan before, as far as no new one has their files: where nothing is won by moving a file, it
  // stays. But for those that the record speaks against: their files were used, and no two of them together. Files that have gone since
  // go from it, or it would have all that ever were; what it names by a path alone may be still to come.
  void keep_former_groups(grouping::PlanGroups& plan) const {
    if (!before_) return;
    std::unordered_set<std::string> taken;
    for (std::size_t g = 0; g < plan.size(); ++g) {
      for (const auto& member : plan.members(g)) taken.insert(member.path);
    }
    std::vector<std::vector<grouping::PlanGroups::Member>> former(before_->size());
    std::unordered_map<grouping::Item, std::size_t> former_of;
    StorePaths paths(fs_);
    for (std::size_t g = 0; g < before_->size(); ++g) {
      for (const auto& member : before_->members(g)) {
        const bool by_number = !not_met_.contains(member.file);
        if (!by_number && taken.contains(member.path)) continue;
        if (!by_number && member.file != 0 && !paths.find(member.path)) continue;  // nor is another there
        const auto recorded = items_.find(member.file);
        if (member.file != 0 && recorded != items_.end()) {
          if (files_[recorded->second].group) continue;
          former_of.emplace(recorded->second, g);
        }
        former[g].push_back(member);
      }
    }
    std::vector<bool> used(former.size()), together(former.size());
    std::map<std::size_t, std::size_t> met;
    (void)transactions_.for_each([&](std::uint64_t, std::span<const grouping::Item> session) {
      met.clear();
      for (const grouping::Item item : session) {
        const auto group = former_of.find(item);
        if (group != former_of.end()) ++met[group->second];
      }
      for (const auto& [group, members] : met) (members > 1 ? together : used)[group] = true;
    });
    for (std::size_t g = 0; g < former.size(); ++g) {
      if (former[g].size() > 1 && (together[g] || !used[g]))
        plan.add_group(std::move(former[g]), before_->share(g));
    }
  }

  std::shared_ptr<grouping::PlanGroups> plan_of(const Groups& groups) {
    auto plan = std::make_shared<grouping::PlanGroups>();
    if (before_) {  // where files go that no group has is not what was mined
      plan->set_rest_bytes(before_->rest_bytes());
      plan->set_table_bytes(before_->table_bytes());
    }
    for (const grouping::SelectedGroup& group : groups) {
      std::vector<grouping::PlanGroups::Member> members;
      for (const grouping::Item item : group.items)
        members.push_back({files_[item].path, files_[item].number});
      if (!in_place(group)) own_.bytes_to_move += group.bytes;
      plan->add_group(std::move(members), group.confidence);
    }
    return plan;
  }

  void count_reads() {
    std::set<Spot> now, then;
    (void)transactions_.for_each([&](std::uint64_t, std::span<const grouping::Item> session) {
      now.clear();
      then.clear();
      for (const grouping::Item item : session) {
        const RecordedFile& file = files_[item];
        now.insert(file.spot);
        then.insert(file.group ? Spot{~std::uint64_t{0}, *file.group} : file.spot);
      }
      own_.reads_now += now.size();
      own_.reads_then += then.size();
    });
  }

  bool pays() const {
    const std::uint64_t saved = own_.reads_now - std::min(own_.reads_now, own_.reads_then);
    return saved > 0 && static_cast<double>(saved) >= kLeastSaved * static_cast<double>(own_.reads_now) &&
           saved * worth_of_a_read() >= own_.bytes_to_move;
  }

  FileSystem& fs_;
  const std::shared_ptr<const grouping::PlanGroups> before_;  // null: none
  const std::uint64_t exchange_bytes_;
  OwnPlan own_;
  std::unordered_map<std::uint64_t, grouping::Item> items_;
  std::vector<RecordedFile> files_;
  std::map<Spot, std::size_t> files_at_;  // in composites
  // Numbers of the plan before: gone, empty or large by now. 0 stands for what has none.
  std::unordered_set<std::uint64_t> not_met_;
  grouping::Transactions transactions_;
};

}  // namespace

Result<OwnPlan> mine_own_accesses(FileSystem& fs, bool always, std::uint64_t exchange_bytes) {
  return OwnMining(fs, exchange_bytes).run(always);
}

}  // namespace cffs
