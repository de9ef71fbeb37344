// The last operations of a recording, held back a little: strace writes a call when it sees it return, and of two threads
// that race it may see the later one first, a child's mkdir before its parent's. An operation that needs a name which
// another client's operation in the window makes comes after that one.
//
// What is moved brings along what must come before it: the earlier operations of its client, those on its open files and
// on its paths, and the start of its client. Where that would move what the operation itself depends on, nothing moves.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "replay/model/model_tree.h"
#include "replay/trace/trace.h"

namespace cffs::replay {

class OperationWindow {
 public:
  static constexpr std::size_t kOperations = 256;

  bool empty() const { return operations_.empty(); }
  bool full() const { return operations_.size() >= kOperations; }
  // Times are as recorded.
  void push(const Operation& operation, const Trace& trace);
  // The next operation to take effect; `presence` tells what is at a path after those that were taken before.
  Operation take(const Trace& trace, const std::function<ModelTree::Presence(std::string_view)>& presence);
  std::uint64_t moved() const { return moved_; }  // operations that came before one that was written earlier

 private:
  // Puts operation `maker`, and what must come before it, to the front; false: that cannot be.
  bool bring_forward(std::size_t maker);
  void count_maker(const Operation& operation, const Trace& trace, int by);

  std::deque<Operation> operations_;
  std::map<std::string, int, std::less<>> makers_;  // how many in the window make this path
  std::uint64_t moved_ = 0;
};

}  // namespace cffs::replay
