// What each system call of a recording means for a file system: one call at hand, by families.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "replay/import/strace_import.h"

namespace cffs::replay {

struct StraceCalls {
  StraceImporter& in;
  const StraceLine& line;

  // Each answers whether the name is one of its calls. What they found goes to the trace's builder.
  bool names(std::string_view n);
  bool attributes(std::string_view n);
  bool data(std::string_view n);
  bool processes(std::string_view n);

  std::string_view argument(std::size_t i) const { return in.argument(i); }

  // --- a path, or an open file, and nothing more ---
  void on_path(Call call, std::optional<PathId> path, std::uint32_t mode = 0, std::uint32_t flags = 0);
  void on_file(Call call, std::uint64_t length = 0, std::uint32_t mode = 0);

  // --- names ---
  void open(std::size_t path_index, bool at);
  void creat();
  void opened_as(Operation& o, std::optional<PathId> place, const StraceDescriptor& opened,
                 const std::string& path, std::size_t directory_index);
  // Absolute; empty: it was not printed.
  void two_paths(Call call, const std::string& from, const std::string& to, std::uint32_t flags = 0);
  void symlink(std::size_t target_index, std::optional<PathId> path);

  // --- attributes ---
  void stat(Operation& o);
  void stat_path(std::optional<PathId> path, bool follows);
  void stat_file(std::size_t index);
  // fstatat and statx: an empty path means the descriptor.
  void stat_at(std::size_t flags_index);

  // --- data and open files ---
  // No offset: the file's own. `at_end`: written behind the file's end, whatever the offset says, as Linux does it of a file that appends, too.
  void move(std::size_t index, bool writes, std::uint64_t length, std::optional<std::uint64_t> offset,
            bool at_end = false);
  void seek();
  void list();
  void map();
  void close();
  void close_range();
  void duplicate(bool close_on_exec);
  void control();
  void allocate();                                                // grows the file as truncate would
  std::optional<std::uint64_t> pointed(std::size_t index) const;  // "[4096]", "[0] => [4096]"
  void copy(std::size_t from, std::size_t from_offset, std::size_t to, std::size_t to_offset);

  // --- processes ---
  void spawn();
  void reap(std::uint64_t child);
  void execute(std::size_t path_index, bool at);
  void change_directory(const std::string& to);
};

inline bool holds(std::string_view text, std::string_view word) { return text.find(word) != text.npos; }
// "st_size=17" of a printed structure.
std::optional<std::uint64_t> field(std::string_view structure, std::string_view name);
// "S_IFREG|0644", "S_IFDIR|S_ISVTX|0777"
std::uint32_t printed_mode(std::string_view text);

}  // namespace cffs::replay
