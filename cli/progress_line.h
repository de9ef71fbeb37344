// How far a long job is, on stderr: where that is a terminal a line that is rewritten in place, else a line every ten seconds, for whoever
// reads a log later. Short jobs show nothing there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/work_pace.h"

namespace cffs::cli {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();  // the line goes
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // As often as anything happens: what is too soon to be read is left out.
  void show(const std::string& text);
  // Of what comes more often than texts can be made: it is asked for when it is shown.
  void show(const std::function<std::string()>& text);
  // With how fast it goes, and how long it takes yet.
  void show(const WorkStep& step);
  void show(const std::function<WorkStep()>& step);
  // Before something else is written to the terminal.
  void clear();
  // From now on, no line at all of this process.
  static void silence() { silent_ = true; }

 private:
  bool is_due(std::int64_t now_ms) const;
  void write(const std::string& text, std::int64_t now_ms);

  const bool terminal_;
  std::int64_t last_ms_;
  bool shown_ = false;
  WorkPace pace_;
  static bool silent_;
};

}  // namespace cffs::cli
