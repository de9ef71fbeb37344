// The descriptors of the processes of a recording: which numbers stand for which open file, through dup, fork and exec.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "replay/trace/operation.h"

namespace cffs::replay {

// An open file description: what descriptors share.
struct OpenFile {
  std::uint32_t handle = kNoHandle;  // none: outside the trace
  std::string path;                  // absolute, as opened
  std::uint64_t offset = 0;
  bool appends = false;
  bool listed = false;  // its entries were read since the last rewind
  // A standard descriptor, opened by nobody who was recorded: whether it is written to.
  std::optional<bool> redirected;
  // Where in the recording it was opened, and by whom; line 0: that was not recorded.
  std::uint64_t line = 0, opener = 0;
};

class OpenFiles {
 public:
  using Closed = std::function<void(const OpenFile&)>;  // told when the last descriptor of a file goes
  explicit OpenFiles(Closed closed) : closed_(std::move(closed)) {}

  std::shared_ptr<OpenFile> find(std::uint64_t process, std::int64_t number);
  void put(std::uint64_t process, std::int64_t number, std::shared_ptr<OpenFile> file, bool close_on_exec);
  void set_close_on_exec(std::uint64_t process, std::int64_t number, bool on);
  void close(std::uint64_t process, std::int64_t first, std::int64_t last);
  // What another process has open by that number and path, and which process: of several the one opened last.
  struct Elsewhere {
    std::uint64_t process = 0;
    std::shared_ptr<OpenFile> file;
  };
  Elsewhere elsewhere(std::uint64_t process, std::int64_t number, std::string_view path) const;
  // From here on both use one table, as threads do; of two files by one number the one opened last is meant.
  void join(std::uint64_t process, std::uint64_t other);
  void fork(std::uint64_t parent, std::uint64_t child, bool shares);
  void exec(std::uint64_t process);
  void exit(std::uint64_t process);
  void exit_all();

 private:
  struct Slot {
    std::shared_ptr<OpenFile> file;
    bool close_on_exec = false;
  };
  using Table = std::map<std::int64_t, Slot>;
  Table& table(std::uint64_t process);
  void drop(std::shared_ptr<OpenFile> file);

  Closed closed_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Table>> tables_;
};

}  // namespace cffs::replay
