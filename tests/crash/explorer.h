// Runs a workload on a store that a crash may meet at any operation, keeps what the medium is then, and holds each survivor
// against what may survive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/crash/calls.h"
#include "tests/crash/session.h"
#include "tests/crash/survival.h"

namespace cffs::test {

// A number for each: which calls, on what, what fails, where it is cut and how. One number replays it.
struct CrashState {
  static constexpr std::uint64_t kFaults = 32, kCuts = 256, kVariants = 64;
  static std::uint64_t workloads();
  static CrashState of(std::uint64_t number);
  std::uint64_t number() const { return ((workload * kFaults + fault) * kCuts + cut) * kVariants + variant; }
  // fault: 0 none; odd: sync number (fault + 1) / 2 fails, and loses what it was for; even: write number fault / 2 is torn.
  std::uint64_t workload = 0, fault = 0, cut = 0, variant = 0;
};

struct Workload {
  static constexpr std::uint64_t kBeginnings = 4;
  explicit Workload(std::uint64_t number);
  // The number of these calls, by their names.
  static std::uint64_t number_of(std::uint64_t beginning, const std::vector<std::string>& names);
  std::string name() const;
  std::uint64_t beginning = 0;        // how full the table is, and when LevelDB works
  std::vector<const Call*> sequence;  // of one to three
};

template <typename Ground>
struct RecordingOn {
  History history;
  std::vector<typename SessionOn<Ground>::Cut> cuts;
  std::uint64_t table_work = 0;        // pieces of LevelDB's own
  std::optional<std::string> failure;  // of a call, where a fault was asked for
  std::optional<std::string> problem;  // without any crash
};

template <typename Ground>
class ExplorerOn {
 public:
  using Session = SessionOn<Ground>;
  using Medium = typename Ground::Medium;
  using Recording = RecordingOn<Ground>;
  ExplorerOn();
  // After the first call that fails only syncs follow, and one cut is kept.
  Recording record(const Workload& workload, std::uint64_t fault = 0) const;
  // What is wrong with this state; nullopt: nothing.
  std::optional<std::string> find_problem(const Recording& recording, std::uint64_t cut,
                                          std::uint64_t variant);
  std::uint64_t checked() const { return checked_; }
  std::uint64_t recoveries_cut() const { return recoveries_cut_; }

 private:
  std::optional<std::string> examine(Medium medium, const History& history, std::size_t calls, bool killed,
                                     bool goes_on);
  class Recorder;
  std::vector<Medium> bases_;  // by how many files the table has at first
  std::uint64_t checked_ = 0, recoveries_cut_ = 0;
};

extern template class ExplorerOn<CrashStore>;
extern template class ExplorerOn<CrashRegions>;
#ifdef CFFS_WITH_RADOS
extern template class ExplorerOn<CrashPool>;
#endif
using Explorer = ExplorerOn<CrashStore>;
using Recording = RecordingOn<CrashStore>;

}  // namespace cffs::test
