// Builds a trace from calls as they come: keeps what is below the root, and finds out what the tree was like before.
#pragma once

#include <optional>
#include <string>

#include "replay/model/model_tree.h"
#include "replay/trace/trace.h"

namespace cffs::replay {

// "/a/./b//../c" -> "/a/c". Symlinks are not known here: ".." goes back by name.
std::string normalised_path(std::string_view path);

struct BuildCounts {
  std::uint64_t outside = 0;  // operations on files that are not below the root
  std::uint64_t surprises =
      0;  // their outcome does not follow from the operations before: something was not recorded
  std::string first_surprise;
};

class TraceBuilder {
 public:
  // `root`: absolute directory; only what is below it belongs to the trace. "/" is everything.
  explicit TraceBuilder(std::string root);

  // The tree as it was, where it is known: it is then not inferred. Call before the first operation.
  void know_initial(std::vector<InitialEntry> entries);
  // Interns an absolute path as one of the trace; nullopt: it is outside.
  std::optional<PathId> trace_path(const std::string& absolute);
  // Times are as recorded; the first one becomes zero.
  void add(Operation operation);
  std::uint32_t new_handle() { return ++handles_; }
  std::uint64_t size_of(std::uint32_t handle) const { return model_.size_of(handle); }

  // Whether the handle's file is the one of that name now.
  bool is_open_on(std::uint32_t handle, PathId path) { return model_.is_open_on(handle, trace_.path(path)); }

  // How a file is opened whose open was not recorded, given what it is used for first: it may be written later.
  std::uint32_t implied_flags(PathId path, std::uint32_t first_use);

  Trace& trace() { return trace_; }
  BuildCounts& counts() { return counts_; }
  const std::string& root() const { return root_; }
  Trace finish();

 private:
  const std::string root_;
  bool infers_ = true;
  Trace trace_;
  ModelTree model_;
  BuildCounts counts_;
  std::uint32_t handles_ = 0;
  std::optional<std::int64_t> start_ns_;
};

}  // namespace cffs::replay
