// Signals that ask a command to stop, rather than end it: it looks whether one came, and stops where all is whole.
#pragma once

#include <atomic>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

namespace cffs::cli {

// Ctrl-C, and the others that ask a program to end.
inline const std::vector<int> kStopSignals{SIGINT, SIGTERM, SIGHUP};

// While one lives; then signals are what they were before, but where one came: the command says where it stopped also to who presses
// Ctrl-C twice. One at a time.
class StopSignals {
 public:
  explicit StopSignals(const std::vector<int>& signals);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Those of them that whoever started the process has not told it to ignore, as shells do for what runs in the background.
  static std::vector<int> not_ignored(std::vector<int> signals);
  // Whether one came, of this or an earlier one.
  static bool came() { return flag().load(); }
  // The same for whoever looks by itself.
  static const std::atomic<bool>& flag();
  // What a process ends with that was asked to: 128 and the signal.
  static int exit_code();

 private:
  std::vector<std::pair<int, struct sigaction>> before_;
};

// For work that changes nothing, and need not end anywhere: while one lives, a signal says this on stderr and ends the process, after
// `first`, which may do what a handler of signals may. One at a time.
class EndingSignals {
 public:
  explicit EndingSignals(const std::string& sentence, void (*first)() = nullptr);
  ~EndingSignals();
  EndingSignals(const EndingSignals&) = delete;
  EndingSignals& operator=(const EndingSignals&) = delete;

 private:
  const std::string text_;
  std::vector<std::pair<int, struct sigaction>> before_;
};

}  // namespace cffs::cli
