#include "replay/import/operation_window.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace cffs::replay {
namespace {

// The path that a successful operation gives a file; kNoPath: none.
PathId made_by(const Operation& o) {
  if (o.result < 0) return kNoPath;
  switch (o.call) {
    case Call::mkdir:
    case Call::mknod:
    case Call::symlink:
      return o.path;
    case Call::rename:
    case Call::link:
      return o.path2;
    case Call::open:
      return (o.flags & O_CREAT) != 0 ? o.path : kNoPath;
    default:
      return kNoPath;
  }
}

// Whether its success shows that nothing was there before.
bool proves_absence(const Operation& o) {
  if (o.call == Call::open) return (o.flags & O_EXCL) != 0;
  return o.call != Call::rename;
}

// Whether it shows that something was at `path`, and leaves it there.
bool shows(const Operation& o, PathId path) {
  const bool two = o.call == Call::rename || o.call == Call::link;
  if (o.result < 0) return o.result == -EEXIST && path == (two ? o.path2 : o.path);
  const bool removes = o.call == Call::unlink || o.call == Call::rmdir || o.call == Call::rename;
  return o.path == path && !removes && made_by(o) != path;
}

bool is_of_processes(const Operation& o) { return o.call == Call::spawn || o.call == Call::reap; }

// Whether `later` must stay behind `earlier` whatever the clients.
bool depends(const Operation& later, const Operation& earlier) {
  if (later.client == earlier.client) return true;
  if (earlier.call == Call::spawn && earlier.handle == later.client) return true;
  if (later.call == Call::reap && later.handle == earlier.client) return true;
  if (is_of_processes(later) || is_of_processes(earlier)) return false;
  if (later.handle != kNoHandle && later.handle == earlier.handle) return true;
  const PathId made = made_by(later);
  const bool first = made != kNoPath && proves_absence(later);
  const auto names = [&](PathId path) {
    if (path == kNoPath || (path != earlier.path && path != earlier.path2)) return false;
    return !(first && path == made && shows(earlier, path));  // whoever found it came after who made it
  };
  return names(later.path) || names(later.path2);
}

// A call that began when the other had returned cannot have come before it; a microsecond is what times are told in.
bool may_precede(const Operation& maker, const Operation& user) {
  constexpr std::int64_t kTold = 1000;
  return user.duration_ns == 0 || maker.time_ns <= user.time_ns + user.duration_ns + kTold;
}

}  // namespace

void OperationWindow::count_maker(const Operation& o, const Trace& trace, int by) {
  const PathId made = made_by(o);
  if (made == kNoPath) return;
  const auto it = makers_.try_emplace(trace.path(made), 0).first;
  it->second += by;
  if (it->second == 0) makers_.erase(it);
}

void OperationWindow::push(const Operation& operation, const Trace& trace) {
  operations_.push_back(operation);
  count_maker(operation, trace, 1);
}

bool OperationWindow::bring_forward(std::size_t maker) {
  std::vector<bool> comes(maker + 1);
  comes[maker] = true;
  for (std::size_t later = maker + 1; later-- > 0;) {
    if (!comes[later]) continue;
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      if (!comes[earlier] && depends(operations_[later], operations_[earlier])) {
        if (earlier == 0) return false;
        comes[earlier] = true;
      }
    }
  }
  std::vector<Operation> in_order;
  for (const bool first : {true, false}) {
    for (std::size_t i = 0; i <= maker; ++i) {
      if (comes[i] == first) in_order.push_back(operations_[i]);
    }
  }
  std::copy(in_order.begin(), in_order.end(), operations_.begin());
  return true;
}

Operation OperationWindow::take(const Trace& trace,
                                const std::function<ModelTree::Presence(std::string_view)>& presence) {
  // The operation in the window that makes what the first one needs and has not; 0: none.
  const auto maker_for = [&](PathId id, bool itself) -> std::size_t {
    if (id == kNoPath || makers_.empty()) return 0;
    const std::string& path = trace.path(id);
    for (std::size_t end = 0; end != std::string::npos;) {
      end = path.find('/', end + 1);
      if (end == std::string::npos && !itself) break;
      const std::string_view part = std::string_view(path).substr(0, end);
      if (!makers_.contains(part)) continue;
      const auto there = presence(part);
      if (there == ModelTree::Presence::there) continue;
      for (std::size_t i = 1; i < operations_.size(); ++i) {
        const Operation& o = operations_[i];
        const PathId made = made_by(o);
        if (made == kNoPath || o.client == operations_[0].client || trace.path(made) != part) continue;
        if (there == ModelTree::Presence::unknown && !proves_absence(o)) return 0;
        return may_precede(o, operations_[0]) ? i : 0;
      }
    }
    return 0;
  };
  constexpr int kMostMoves = 16;  // a chain of directories, each made by somebody else
  for (int moves = 0; moves < kMostMoves; ++moves) {
    const Operation& first = operations_.front();
    if (is_of_processes(first)) break;
    const PathId made = made_by(first);
    std::size_t maker = 0;
    if (first.result >= 0) {
      maker = maker_for(first.path, first.path != made);
      if (maker == 0 && first.path2 != kNoPath && first.path2 == made) maker = maker_for(first.path2, false);
    } else if (first.result == -EEXIST) {
      maker =
          maker_for(first.call == Call::rename || first.call == Call::link ? first.path2 : first.path, true);
    }
    if (maker == 0 || !bring_forward(maker)) break;
    ++moved_;
  }
  const Operation next = operations_.front();
  operations_.pop_front();
  count_maker(next, trace, -1);
  return next;
}

}  // namespace cffs::replay
