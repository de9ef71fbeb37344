// strace's output as a trace: `strace -f -ttt -y` (and most other ways to call it), one file or one for each process.
//
// Followed: fork, clone (shared descriptors and working directories too), exec with O_CLOEXEC, dup, relative paths and *at
// calls, calls cut in two. Seeks move an offset and are no operation; a mapping that may be read counts as a read of its
// range; sendfile and copy_file_range are a read and a write. A descriptor whose open was not recorded is opened where it
// is first used, by the path that -y printed.
//
// Of a process whose clone was not recorded (-p, a filter without process calls) descriptors tell whose it is: a file
// that another process has open by the same number and path is that process's file. Where that was opened after this
// one's first line, it came through a table that both share: from then on the two are threads of one process. A standard
// descriptor that nobody was seen making (a shell's redirection, without dup or clone lines) is of the open file that was
// made last of its path: make's children go on writing where the one before them stopped.
#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"
#include "replay/import/open_files.h"
#include "replay/import/trace_builder.h"
#include "replay/logs/strace_line.h"

namespace cffs::replay {

struct StraceCounts {
  std::uint64_t lines = 0, malformed = 0, calls = 0;
  std::uint64_t passed_over = 0;  // calls that reach no file system, or carry too little: pipes, ioctl, ...
  std::vector<std::string> samples;  // of malformed lines
};

class StraceImporter {
 public:
  // `directory`: where the first process was started, for relative paths without -y. `is_live`: the recording goes on now.
  StraceImporter(TraceBuilder& builder, std::string directory, bool is_live = false);

  // `process`: of a file that holds one process alone (strace -ff), where lines have no pid.
  void line(const std::string& text, std::uint64_t process = 0);
  // A process that is known to be over: what it had open is closed.
  void ended(std::uint64_t process);
  // Ends what did not end.
  void finish();
  const StraceCounts& counts() const { return counts_; }

 private:
  friend struct StraceCalls;
  struct Process {
    std::shared_ptr<std::string> directory;  // shared by threads
    std::string unfinished;
    std::int64_t unfinished_ns = 0;
    bool forks = false;  // the unfinished call makes a process
    std::uint64_t child = 0;  // of the unfinished call, where its first line came before
    bool known = false;
    bool announced = false;   // a clone or fork of it was recorded: whose descriptors it has is known
    std::uint64_t began = 0;  // its first line
  };

  // The open file that redirections of a path stand for.
  struct Redirection {
    std::weak_ptr<OpenFile> file;  // where a process has it open
    std::uint64_t offset = 0;      // else: where it was left
    bool appends = false;
  };

  Process& process(std::uint64_t pid);
  void opened_to_redirect(const OpenFile& file, std::uint32_t flags);
  void call(std::uint64_t pid, std::int64_t time_ns, const StraceLine& line);

  // What the calls are made of.
  Operation begin(Call call) const;
  void emit(Operation operation) { builder_.add(operation); }
  std::string absolute(const StraceDescriptor& directory, const std::string& path);
  // Of paths that are arguments; empty: not printed.
  std::string absolute_at(std::size_t directory_argument, std::size_t path_argument);
  std::string absolute_argument(std::size_t index);
  std::optional<PathId> path_at(std::size_t directory_argument, std::size_t path_argument);
  std::optional<PathId> path_argument(std::size_t index);
  std::shared_ptr<OpenFile> file_argument(std::size_t index, std::uint32_t flags_if_unseen);
  // The file behind a descriptor of the process at hand, as far as the recording tells; none: nobody was seen opening it.
  std::shared_ptr<OpenFile> known_file(const StraceDescriptor& descriptor);
  std::string_view argument(std::size_t index) const;
  // Puts path or handle of a call's target in, from a path or a descriptor; false: outside.
  bool target_path(Operation& o, std::optional<PathId> path) const;
  bool target_file(Operation& o, const std::shared_ptr<OpenFile>& file) const;

  TraceBuilder& builder_;
  const bool is_live_;
  OpenFiles files_;
  std::unordered_map<std::uint64_t, Process> processes_;
  std::map<std::pair<std::string, bool>, Redirection> redirections_;  // by path, and whether it is written to
  // Of a process whose start was not recorded: the directory seen last, most likely its parent's.
  std::string latest_directory_;
  StraceCounts counts_;

  // The call at hand.
  std::uint64_t pid_ = 0;
  StraceClock clock_;
  std::int64_t time_ns_ = 0;  // when the call at hand began
  const StraceLine* line_ = nullptr;
  std::int64_t result_ = 0;
};

// Reads one file, or merges several by time (strace -ff: NAME.PID).
Status import_strace(const std::vector<std::string>& files, TraceBuilder& builder, StraceCounts& counts,
                     const std::function<void(const StraceCounts&)>& progress);

}  // namespace cffs::replay
