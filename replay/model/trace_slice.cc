#include "replay/model/trace_slice.h"

#include <fcntl.h>

#include <algorithm>
#include <map>
#include <set>

#include "replay/model/model_tree.h"

namespace cffs::replay {
namespace {

std::string root_of(const Trace& trace) {
  const auto it = trace.about.find("root");
  return it == trace.about.end() ? "/" : it->second;
}

// Copies operations into another trace whose root is a directory of theirs.
class Mover {
 public:
  Mover(const Trace& from, Trace& to, const std::string& below) : from_(from), to_(to), below_(below) {}

  bool path(PathId& id) const {
    if (id == kNoPath) return true;
    const std::string& old = from_.path(id);
    if (below_.empty()) {
      id = to_.intern(old);
    } else if (old == below_) {
      id = to_.intern("");
    } else if (old.starts_with(below_) && old[below_.size()] == '/') {
      id = to_.intern(old.substr(below_.size() + 1));
    } else {
      return false;
    }
    return true;
  }
  bool operation(Operation& o) {
    // A second path may be text: a symlink's target, an attribute's name.
    const bool text = o.call == Call::symlink || o.call == Call::getxattr || o.call == Call::setxattr ||
                      o.call == Call::removexattr;
    if (!path(o.path)) return false;
    if (text && o.path2 != kNoPath) o.path2 = to_.intern(from_.path(o.path2));
    if (!text && !path(o.path2)) return false;
    o.client = to_.client(from_.clients()[o.client]);
    const bool of_process = o.call == Call::spawn || o.call == Call::reap;
    if (of_process) o.handle = to_.client(from_.clients()[o.handle]);
    if (!of_process && o.handle != kNoHandle) {
      if (o.call == Call::open) open_.insert(o.handle);
      if (!open_.contains(o.handle)) return false;
    }
    return true;
  }
  void opened(std::uint32_t handle) { open_.insert(handle); }

 private:
  const Trace& from_;
  Trace& to_;
  const std::string below_;
  std::set<std::uint32_t> open_;
};

}  // namespace

Trace slice(const Trace& trace, const SliceOptions& options) {
  const auto inside = [&](std::size_t index) {
    const double seconds = static_cast<double>(trace.operations[index].time_ns) / 1e9;
    return index + 1 >= options.first && index < options.last && seconds >= options.from_s &&
           seconds < options.to_s;
  };
  std::size_t begin = 0, end = trace.operations.size();
  while (begin < end && !inside(begin)) ++begin;
  while (end > begin && !inside(end - 1)) --end;

  // What the tree is at the beginning. Interning may add paths, so a copy of the names takes them.
  Trace before;
  for (const std::string& path : trace.paths()) (void)before.intern(path);
  for (const std::string& client : trace.clients()) (void)before.client(client);
  const std::string root = root_of(trace);
  ModelTree model(ModelTree::Mode::replays, root);
  for (const InitialEntry& entry : trace.initial) model.add(trace.path(entry.path), entry);
  std::map<std::uint32_t, std::uint32_t> open;  // handle -> flags
  for (std::size_t i = 0; i < begin; ++i) {
    const Operation& o = trace.operations[i];
    (void)model.apply(o, trace, i + 1, nullptr);
    if (o.call == Call::open && o.handle != kNoHandle) open[o.handle] = o.flags;
    if (o.call == Call::close) open.erase(o.handle);
  }
  std::unordered_map<std::uint32_t, PathId> open_paths;
  const std::vector<InitialEntry> present = model.present(before, open_paths);

  Trace part;
  part.about = trace.about;
  part.about["root"] = options.below.empty() ? root : (root == "/" ? "" : root) + "/" + options.below;
  Mover move(before, part, options.below);
  for (InitialEntry entry : present) {
    if (move.path(entry.path) && !part.path(entry.path).empty()) part.initial.push_back(std::move(entry));
  }
  if (begin == end) return part;
  // Logs are written as requests end: the first line is not always the earliest.
  std::int64_t start_ns = trace.operations[begin].time_ns;
  for (std::size_t i = begin; i < end; ++i) {
    if (inside(i)) start_ns = std::min(start_ns, trace.operations[i].time_ns);
  }
  // Files that were open are opened first, by whoever uses them next.
  for (std::size_t i = begin; i < end; ++i) {
    const Operation& o = trace.operations[i];
    const bool of_process = o.call == Call::spawn || o.call == Call::reap;
    const auto was = of_process ? open.end() : open.find(o.handle);
    if (was == open.end()) continue;
    const std::uint32_t flags = was->second & ~static_cast<std::uint32_t>(O_CREAT | O_EXCL | O_TRUNC);
    open.erase(was);
    if (!open_paths.contains(o.handle)) continue;
    Operation again;
    again.call = Call::open;
    again.client = o.client;
    again.path = open_paths[o.handle];
    again.handle = o.handle;
    again.flags = flags;
    PathId path = again.path;
    if (!move.path(path)) continue;
    again.path = path;
    again.client = part.client(trace.clients()[again.client]);
    part.operations.push_back(again);
    move.opened(again.handle);
  }
  for (std::size_t i = begin; i < end; ++i) {
    if (!inside(i)) continue;
    Operation o = trace.operations[i];
    if (!move.operation(o)) continue;
    o.time_ns -= start_ns;
    part.operations.push_back(o);
  }
  return part;
}

}  // namespace cffs::replay
