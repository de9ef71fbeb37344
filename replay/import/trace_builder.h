// Builds a trace from calls as they come: keeps what is below the root, and finds out what the tree was like before.
//
// What was recorded is believed. Calls of clients that race are put in an order that explains them (operation_window.h); what
// still succeeded on something that is not there, or read more than there is, gets it just before, by an operation of
// the same client that nobody recorded. So one gap in a recording is one surprise, and a replay goes on as the
// recording did.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "replay/import/operation_window.h"
#include "replay/model/model_tree.h"
#include "replay/trace/trace.h"

namespace cffs::replay {

// "/a/./b//../c" -> "/a/c". Symlinks are not known here: ".." goes back by name.
std::string normalised_path(std::string_view path);

struct BuildCounts {
  std::uint64_t outside = 0;  // operations on files that are not below the root
  // Their outcome, or the size they showed, does not follow from the operations before: something was not recorded.
  std::uint64_t surprises = 0;
  std::string first_surprise;
  std::uint64_t supplied =
      0;  // operations that nobody recorded, without which others could not have succeeded
  std::uint64_t unlisted_parents = 0;  // directories that the list of the tree before did not have, and needs
  std::string first_unlisted;
  std::uint64_t from_outside = 0;  // names that came from outside of the root, or went there
  std::uint64_t moved = 0;         // operations that were written later than one that needed them
  // Operations and files with more bytes than a trace can hold (truncate -s 5E): left out, or the rest could not be read again.
  std::uint64_t too_large = 0;
};

class TraceBuilder {
 public:
  // `root`: absolute directory; only what is below it belongs to the trace. "/" is everything.
  explicit TraceBuilder(std::string root);

  // The tree as it was, where it is known: it is then not inferred. Call before the first operation.
  void know_initial(std::vector<InitialEntry> entries);
  // Interns an absolute path as one of the trace; nullopt: it is outside, or longer than a path can be.
  std::optional<PathId> trace_path(const std::string& absolute);
  // Puts both paths (absolute; empty: not known) of a rename or link in. An end outside of the root is in kOutside, where what
  // comes from there lies at first; `now`: where that can be looked at, of a recording that is going on, else empty. False: passed
  // over, since both are outside, or it failed, which says nothing of what is there.
  bool place_two(Operation& operation, const std::string& from, const std::string& to,
                 const std::string& now);
  // Times are as recorded; the first one becomes zero.
  void add(Operation operation);
  std::uint32_t new_handle() { return ++handles_; }
  // As it is after all operations so far.
  std::uint64_t size_of(std::uint32_t handle) {
    settle();
    return model_.size_of(handle);
  }

  // Whether the handle's file is the one of that name now.
  bool is_open_on(std::uint32_t handle, PathId path) {
    settle();
    return model_.is_open_on(handle, trace_.path(path));
  }

  // How a file is opened whose open was not recorded, given what it is used for first: it may be written later.
  std::uint32_t implied_flags(PathId path, std::uint32_t first_use);

  Trace& trace() { return trace_; }
  // An operation on files that are not below the root.
  void pass_over() { ++counts_.outside; }
  // Of all operations so far.
  const BuildCounts& counts() {
    settle();
    return counts_;
  }
  const std::string& root() const { return root_; }
  Trace finish();

 private:
  std::optional<PathId> outside_path(const std::string& absolute, bool comes, const std::string& now);
  void settle();
  void take_effect(Operation operation);
  // What `operation` shows that the tree did not; false: it follows.
  bool surprises(const Operation& operation, const Outcome& outcome);
  // Makes the tree one in which the operation could have succeeded; false: nothing was to be done.
  bool adopt(const Operation& operation, int error);
  bool adopt_size(const Operation& operation, std::uint64_t size);
  bool make_absent(const Operation& reason, PathId path);
  bool make_present(const Operation& reason, PathId path, bool itself);
  bool supply(const Operation& reason, Operation missing);
  // Those of the tree before; a mount's or a disk's may be as large as they like.
  void leave_out_too_large(std::vector<InitialEntry>& entries);

  const std::string root_;
  bool infers_ = true;
  Trace trace_;
  ModelTree model_;
  BuildCounts counts_;
  OperationWindow window_;
  std::unordered_map<std::uint32_t, PathId> opened_;  // where each handle was opened
  std::unordered_map<std::string, unsigned> came_;    // from outside, by path: how often
  std::set<std::string> listed_outside_;              // of the tree before, below kOutside
  std::uint32_t handles_ = 0;
  std::optional<std::int64_t> start_ns_;
};

}  // namespace cffs::replay
