#include "core/fs/regrouper.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "core/fs/access_record.h"
#include "core/fs/plan_object.h"
#include "grouping/frequency_policy.h"
#include "grouping/mining/mine_groups.h"
#include "grouping/mining/sessions.h"

namespace cffs {
namespace {

// A server's process reads for many clients without a pause: its stream is cut into windows.
constexpr std::int64_t kRecordGapMs = 2'000;
constexpr std::size_t kRecordWindow = 64;
// Worth it: at least this share of the reads saved, and a read for every so many bytes copied (what a disk moves in the
// time of one random read).
constexpr double kLeastSaved = 0.05;
constexpr std::uint64_t kBytesPerRead = 256 * 1024;

struct Place {
  std::uint64_t composite = 0, offset = 0, size = 0;
  std::string path;
};

}  // namespace

Result<OwnPlan> mine_own_accesses(FileSystem& fs, bool always) {
  OwnPlan own;
  if (fs.access_record() != nullptr) CFFS_TRY_VOID(fs.access_record()->flush());
  std::unordered_map<std::uint64_t, grouping::Item> items;
  std::vector<std::uint64_t> files;
  grouping::Transactions transactions;
  bool kept = true;
  grouping::SessionOptions session_options;
  session_options.gap_ms = kRecordGapMs;
  session_options.max_files = kRecordWindow;
  session_options.cut = true;
  grouping::Sessions sessions(session_options,
                              [&](std::span<const grouping::Item> s) { kept = transactions.add(s) && kept; });
  CFFS_TRY_VOID(AccessRecord::visit(fs.objects(), [&](const AccessRecord::Access& a) {
    const auto [it, fresh] = items.try_emplace(a.file.value, static_cast<grouping::Item>(files.size()));
    if (fresh) files.push_back(a.file.value);
    sessions.add({a.time_ms, a.stream, it->second, false});
    ++own.accesses;
  }));
  sessions.finish();
  if (!kept) return fail(ENOSPC, "the temporary file for sessions");
  own.sessions = transactions.size();
  own.files = files.size();
  if (files.empty()) return own;

  std::vector<Place> places(files.size());
  CFFS_TRY_VOID(visit_small_files(fs, [&](const SmallFile& f) {
    if (const auto it = items.find(f.ino.value); it != items.end()) {
      const bool member = f.home == Home::composite;
      places[it->second] = {member ? f.composite.value : 0, member ? f.group_offset : f.ino.value, f.size,
                            f.path};
    }
  }));
  std::vector<std::uint64_t> sizes;
  // What is gone, empty or large cannot be a member.
  for (const Place& p : places) sizes.push_back(p.size > 0 ? p.size : ~std::uint64_t{0} >> 16);
  grouping::GroupMiningOptions mining;
  mining.max_itemsets = 500'000;
  const auto mined = grouping::mine_groups(transactions, sizes, mining);

  std::vector<std::size_t> group_of(files.size(), ~std::size_t{0});
  auto plan = std::make_shared<grouping::PlanGroups>();
  for (std::size_t g = 0; g < mined.groups.size(); ++g) {
    std::set<std::pair<std::uint64_t, std::uint64_t>> before;
    std::vector<grouping::PlanGroups::Member> members;
    for (const grouping::Item item : mined.groups[g].items) {
      group_of[item] = g;
      before.emplace(places[item].composite, places[item].offset);
      members.push_back({places[item].path, files[item]});
    }
    if (before.size() > 1) own.bytes_to_move += mined.groups[g].bytes;
    plan->add_group(std::move(members));
  }
  std::set<std::pair<std::uint64_t, std::uint64_t>> now, then;
  (void)transactions.for_each([&](std::uint64_t, std::span<const grouping::Item> session) {
    now.clear();
    then.clear();
    for (const grouping::Item item : session) {
      now.emplace(places[item].composite, places[item].offset);
      if (group_of[item] != ~std::size_t{0}) {
        then.emplace(~std::uint64_t{0}, group_of[item]);
      } else {
        then.emplace(places[item].composite, places[item].offset);
      }
    }
    own.reads_now += now.size();
    own.reads_then += then.size();
  });
  const std::uint64_t saved = own.reads_now - std::min(own.reads_now, own.reads_then);
  const bool pays = static_cast<double>(saved) >= kLeastSaved * static_cast<double>(own.reads_now) &&
                    saved > 0 && saved * kBytesPerRead >= own.bytes_to_move;
  if (plan->size() > 0 && (always || pays)) own.groups = std::move(plan);
  return own;
}

Regrouper::Regrouper(FileSystem& fs, RegrouperOptions options)
    : fs_(fs), options_(options), thread_([this] { run(); }) {}

Regrouper::~Regrouper() {
  stopping_.store(true);
  {
    const std::lock_guard guard(mutex_);  // so that the wake-up is not lost
  }
  wake_.notify_all();
  thread_.join();
}

Status Regrouper::start(std::shared_ptr<const grouping::Policy> policy, bool dry_run) {
  const std::lock_guard guard(mutex_);
  if (wanted_ || state_ == "running") return fail(EBUSY, "a regrouping is under way");
  wanted_ = std::move(policy);
  wanted_dry_run_ = dry_run;
  state_ = "running";
  progress_ = "starting";
  error_.clear();
  report_.clear();
  wake_.notify_all();
  return {};
}

std::string Regrouper::status_json() const {
  const std::lock_guard guard(mutex_);
  nlohmann::ordered_json j{
      {"state", state_}, {"policy", fs_.policy()->name()}, {"progress", progress_}, {"error", error_}};
  if (!report_.empty()) j["report"] = nlohmann::ordered_json::parse(report_);
  return j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

void Regrouper::say(const std::string& progress) {
  const std::lock_guard guard(mutex_);
  progress_ = progress;
}

void Regrouper::job(std::shared_ptr<const grouping::Policy> policy, bool dry_run,
                    std::uint64_t bytes_per_second) {
  const auto before = fs_.policy();
  fs_.set_policy(std::move(policy));
  RegroupOptions options;
  options.dry_run = dry_run;
  options.bytes_per_second = bytes_per_second;
  options.stop = &stopping_;
  options.on_progress = [&](const std::string& text) { say(text); };
  const auto report = regroup(fs_, options);
  if (dry_run) fs_.set_policy(before);
  const std::lock_guard guard(mutex_);
  state_ = report ? "done" : "failed";
  if (report) report_ = regroup_json(*report);
  if (!report) error_ = report.error().message();
  progress_.clear();
}

void Regrouper::run() {
  std::unique_lock guard(mutex_);
  auto next = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.interval_ms);
  while (!stopping_.load()) {
    const auto woken = [&] { return stopping_.load() || wanted_ != nullptr; };
    if (options_.interval_ms > 0) {
      wake_.wait_until(guard, next, woken);
    } else {
      wake_.wait(guard, woken);
    }
    if (stopping_.load()) return;
    if (wanted_) {
      auto policy = std::exchange(wanted_, nullptr);
      const bool dry_run = wanted_dry_run_;
      guard.unlock();
      job(std::move(policy), dry_run, 0);
      guard.lock();
      continue;
    }
    next = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.interval_ms);
    if (fs_.policy()->id() != grouping::PolicyId::frequency) continue;
    state_ = "running";
    progress_ = "mining the access record";
    guard.unlock();
    const auto own = mine_own_accesses(fs_, false);
    if (own && own->groups) {
      fs_.log("regrouping by what " + std::to_string(own->sessions) +
              " recorded sessions used together: " + std::to_string(own->groups->size()) + " groups, " +
              std::to_string(own->reads_now) + " reads become " + std::to_string(own->reads_then));
      job(std::make_shared<grouping::FrequencyPolicy>(own->groups), false, options_.bytes_per_second);
      guard.lock();
    } else {
      guard.lock();
      state_ = own ? "idle" : "failed";
      error_ = own ? "" : own.error().message();
      progress_.clear();
    }
  }
}

}  // namespace cffs
