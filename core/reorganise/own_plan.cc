#include "core/reorganise/own_plan.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/fs/access_record.h"
#include "core/fs/kept_in_table.h"
#include "core/reorganise/small_files.h"
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
  OwnMining(FileSystem& fs, std::uint64_t exchange_bytes) : fs_(fs), exchange_bytes_(exchange_bytes) {}

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
    auto plan = plan_of(grouping::mine_groups(transactions_, sizes, mining).groups);
    count_reads();
    if (plan->size() > 0 && (always || pays())) own_.groups = std::move(plan);
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
    if (fs_.access_record() != nullptr) CFFS_TRY_VOID(fs_.access_record()->flush());
    bool kept = true;
    grouping::SessionOptions options;
    options.gap_ms = kRecordGapMs;
    options.max_files = kRecordWindow;
    options.cut = true;
    grouping::Sessions sessions(
        options, [&](std::span<const grouping::Item> s) { kept = transactions_.add(s) && kept; });
    CFFS_TRY_VOID(AccessRecord::visit(fs_.objects(), [&](const AccessRecord::Access& a) {
      const auto [it, fresh] = items_.try_emplace(a.file.value, static_cast<grouping::Item>(files_.size()));
      if (fresh) files_.push_back({a.file.value, {}, 0, {}, {}});
      sessions.add({a.time_ms, a.stream, it->second, false});
      ++own_.accesses;
    }));
    sessions.finish();
    if (!kept) return fail(ENOSPC, "the temporary file for sessions");
    own_.sessions = transactions_.size();
    own_.files = files_.size();
    return {};
  }

  Status locate() {
    return visit_small_files(fs_, [&](const SmallFile& f) {
      const auto it = items_.find(f.ino.value);
      if (it == items_.end()) return;
      RecordedFile& file = files_[it->second];
      const bool member = f.home == Home::composite;
      file.spot = {member ? f.composite.value : 0, member ? f.group_offset : f.ino.value};
      file.size = f.size;
      file.path = f.path;
    });
  }

  template <typename Groups>
  std::shared_ptr<grouping::PlanGroups> plan_of(const Groups& groups) {
    auto plan = std::make_shared<grouping::PlanGroups>();
    if (const auto before = fs_.policy()->plan()) {  // where files go that no group has is not what was mined
      plan->set_rest_bytes(before->rest_bytes());
      plan->set_table_bytes(before->table_bytes());
    }
    for (std::size_t g = 0; g < groups.size(); ++g) {
      std::set<Spot> before;
      std::vector<grouping::PlanGroups::Member> members;
      for (const grouping::Item item : groups[g].items) {
        files_[item].group = g;
        before.insert(files_[item].spot);
        members.push_back({files_[item].path, files_[item].number});
      }
      if (before.size() > 1) own_.bytes_to_move += groups[g].bytes;
      plan->add_group(std::move(members));
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
           saved * (exchange_bytes_ > 0 ? exchange_bytes_ : kBytesPerRead) >= own_.bytes_to_move;
  }

  FileSystem& fs_;
  const std::uint64_t exchange_bytes_;
  OwnPlan own_;
  std::unordered_map<std::uint64_t, grouping::Item> items_;
  std::vector<RecordedFile> files_;
  grouping::Transactions transactions_;
};

}  // namespace

Result<OwnPlan> mine_own_accesses(FileSystem& fs, bool always, std::uint64_t exchange_bytes) {
  return OwnMining(fs, exchange_bytes).run(always);
}

}  // namespace cffs
