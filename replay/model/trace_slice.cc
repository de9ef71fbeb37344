#include "replay/model/trace_slice.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <map>
#include <set>

#include "replay/model/model_tree.h"

namespace cffs::replay {
namespace {

std::string root_of(const Trace& trace) {
  const auto it = trace.about.find("root");
  return it == trace.about.end() ? "/" : it->second;
}

// A directory of a trace, as anybody may write it: "src", "src/", "/src", as cffs trace show prints paths.
std::string directory_of(std::string_view given) {
  std::string path;
  while (!given.empty()) {
    const std::string_view part = given.substr(0, given.find('/'));
    given.remove_prefix(std::min(part.size() + 1, given.size()));
    if (part.empty() || part == ".") continue;
    if (!path.empty()) path += '/';
    path += part;
  }
  return path;
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
  // `model`: the whole tree as it is before the operation.
  bool operation(Operation& o, ModelTree& model) {
    // A second path may be text: a symlink's target, an attribute's name.
    const bool text = o.call == Call::symlink || o.call == Call::getxattr || o.call == Call::setxattr ||
                      o.call == Call::removexattr;
    const bool two_names = o.call == Call::rename || o.call == Call::link;
    if (two_names) {
      if (!names(o, model)) return false;
    } else {
      if (!path(o.path)) return false;
      // A trace begins with its root, and ends with it.
      const bool of_root = o.call == Call::mkdir || o.call == Call::rmdir;
      if (of_root && o.result >= 0 && to_.path(o.path).empty()) return false;
      if (text && o.path2 != kNoPath) o.path2 = to_.intern(from_.path(o.path2));
      if (!text && !path(o.path2)) return false;
    }
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
  // Of a rename or a link. One end may be outside of the directory: what comes from there lies in kOutside at first, as it is just
  // then, and what goes there goes into it. Each has a name of its own, since one of outside may be used again and again.
  bool names(Operation& o, ModelTree& model) {
    constexpr std::uint32_t kBothWays = 2;  // RENAME_EXCHANGE
    const PathId from = o.path, to = o.path2;
    const bool from_inside = path(o.path), to_inside = path(o.path2);
    if (from_inside && to_inside) return true;
    if ((!from_inside && !to_inside) || o.result < 0) return false;
    if (made_.empty()) {
      for (const InitialEntry& entry : to_.initial) made_.insert(to_.path(entry.path));
    }
    const PathId outer = from_inside ? to : from;
    if (to_.path(from_inside ? o.path : o.path2).empty()) {
      // The root itself: what it brings is there, and it does not leave.
      for (auto& [below, entry] : from_inside ? ModelTree::Found() : model.present_at(from_.path(outer))) {
        if (!below.empty() && made_.insert(below).second) {
          entry.path = to_.intern(below);
          to_.initial.push_back(std::move(entry));
        }
      }
      return false;
    }
    std::string place;
    do {
      place = fmt::format("{}/{}/{}", kOutside, ++outside_, from_.path(outer));
      if (place.size() >= PATH_MAX) place = fmt::format("{}/{}/x", kOutside, outside_);
    } while (!made_.insert(place).second);
    for (std::size_t slash = place.find('/'); slash != std::string::npos;
         slash = place.find('/', slash + 1)) {
      const std::string parent = place.substr(0, slash);
      if (made_.insert(parent).second) to_.initial.push_back({to_.intern(parent), 'd', 0755, 0, {}});
    }
    if (!from_inside || (o.flags & kBothWays) != 0) {
      for (auto& [below, entry] : model.present_at(from_.path(outer))) {
        entry.path = to_.intern(below.empty() ? place : place + "/" + below);
        to_.initial.push_back(std::move(entry));
      }
    }
    (from_inside ? o.path2 : o.path) = to_.intern(place);
    return true;
  }

  const Trace& from_;
  Trace& to_;
  const std::string below_;
  std::set<std::uint32_t> open_;
  std::uint64_t outside_ = 0;
  std::set<std::string> made_;  // of the tree before
};

}  // namespace

Trace slice(const Trace& trace, const SliceOptions& options) {
  const std::string below = directory_of(options.below);
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
  // Counted of the whole: of a part they say nothing, and a replay holds them against its operations.
  for (const char* const counted :
       {"surprises", "supplied_operations", "lines", "malformed_lines", "too_large"})
    part.about.erase(counted);
  part.about["root"] = below.empty() ? root : (root == "/" ? "" : root) + "/" + below;
  Mover move(before, part, below);
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
    Operation o = trace.operations[i];
    // Operations are in the order in which they returned: one that began before all of these, and returned among them, is one of
    // them, or what it made would be nowhere. A fetch makes nothing.
    if (o.call == Call::fetch && !inside(i)) continue;
    const bool taken = move.operation(o, model);
    // What the tree becomes is asked where something comes into a part of it.
    if (!below.empty()) (void)model.apply(trace.operations[i], trace, i + 1, nullptr);
    if (!taken) continue;
    o.time_ns = std::max<std::int64_t>(0, o.time_ns - start_ns);
    part.operations.push_back(o);
  }
  std::sort(part.initial.begin(), part.initial.end(), [&](const InitialEntry& x, const InitialEntry& y) {
    return part.path(x.path) < part.path(y.path);
  });
  return part;
}

}  // namespace cffs::replay
