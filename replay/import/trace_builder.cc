#include "replay/import/trace_builder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <vector>

#include "core/base/printable.h"
#include "replay/import/snapshot.h"
#include "replay/logs/site_path.h"

namespace cffs::replay {
namespace {

void sort_by_path(std::vector<InitialEntry>& entries, const Trace& trace) {
  std::sort(entries.begin(), entries.end(), [&](const InitialEntry& a, const InitialEntry& b) {
    return trace.path(a.path) < trace.path(b.path);
  });
}

}  // namespace

std::string normalised_path(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  std::string whole;
  for (const std::string_view part : parts) whole.append("/").append(part);
  return whole.empty() ? "/" : whole;
}

TraceBuilder::TraceBuilder(std::string root)
    : root_(normalised_path(root)), model_(ModelTree::Mode::infers, root_) {
  trace_.about["root"] = root_;
}

void TraceBuilder::know_initial(std::vector<InitialEntry> entries) {
  infers_ = false;
  leave_out_too_large(entries);
  std::set<std::string> known;
  for (const InitialEntry& entry : entries) known.insert(trace_.path(entry.path));
  for (std::size_t i = 0, listed = entries.size(); i < listed; ++i) {
    const std::string path = trace_.path(entries[i].path);
    for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      const std::string parent = path.substr(0, slash);
      if (!known.insert(parent).second) continue;
      entries.push_back({trace_.intern(parent), 'd', 0755, 0, {}});
      if (counts_.unlisted_parents++ == 0) counts_.first_unlisted = printable(parent);
    }
  }
  sort_by_path(entries, trace_);
  model_ = ModelTree(ModelTree::Mode::replays, root_);
  for (const InitialEntry& entry : entries) model_.add(trace_.path(entry.path), entry);
  trace_.initial = std::move(entries);
}

std::optional<PathId> TraceBuilder::trace_path(const std::string& absolute) {
  const std::string path = normalised_path(absolute);
  if (path.size() > kLongestPath) return {};
  if (root_ == "/") return trace_.intern(path.substr(1));
  if (!path.starts_with(root_)) return {};
  if (path.size() == root_.size()) return trace_.intern("");
  if (path[root_.size()] != '/') return {};
  return trace_.intern(path.substr(root_.size() + 1));
}

std::optional<PathId> TraceBuilder::outside_path(const std::string& absolute, bool comes,
                                                 const std::string& now) {
  const std::string whole = normalised_path(absolute);
  std::string path = std::string(kOutside) + whole;
  // What came from there is not there any more: another one of that path, as `mv /tmp/new tree/file` brings again and again, is
  // another file, which was somewhere else before.
  if (comes) {
    unsigned& times = came_[whole];
    if (times++ > 0) {
      settle();
      if (model_.presence(path) != ModelTree::Presence::there)
        path = fmt::format("{}/{}{}", kOutside, times, whole);
    }
  }
  if (path.size() > kLongestPath) return {};
  ++counts_.from_outside;
  const PathId id = trace_.intern(path);
  if (infers_) return id;
  settle();
  const auto know = [&](const std::string& name, const InitialEntry& entry) {
    if (model_.presence(name) == ModelTree::Presence::there || !listed_outside_.insert(name).second) return;
    model_.add(name, entry);
    trace_.initial.push_back(entry);
  };
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string parent = path.substr(0, slash);
    know(parent, {trace_.intern(parent), 'd', 0755, 0, {}});
  }
  if (!comes) return id;
  InitialEntry entry{id, 'f', 0644, 0, {}};
  struct stat st;
  if (!now.empty() && ::lstat(now.c_str(), &st) == 0) {
    if (S_ISDIR(st.st_mode)) entry.kind = 'd';
    if (S_ISREG(st.st_mode)) entry.size = std::min(static_cast<std::uint64_t>(st.st_size), kMostFileBytes);
    entry.mode = st.st_mode & 07777;
  }
  know(path, entry);
  if (entry.kind != 'd') return id;
  if (const auto inside = snapshot(now)) {
    for (auto [name, below] : *inside) {
      const std::string inner = path + "/" + name;
      below.path = trace_.intern(inner);
      below.size = std::min(below.size, kMostFileBytes);
      know(inner, below);
    }
  }
  return id;
}

bool TraceBuilder::place_two(Operation& o, const std::string& from, const std::string& to,
                             const std::string& now) {
  constexpr std::uint32_t kExchange = 2;
  const auto place_of = [&](const std::string& path) {
    return path.empty() ? std::optional<PathId>() : trace_path(path);
  };
  auto source = place_of(from), target = place_of(to);
  // A local clone links its objects, a download is moved into its place.
  const bool half = source.has_value() != target.has_value() && !from.empty() && !to.empty();
  if (half && o.result >= 0 && (o.flags & kExchange) == 0) {
    auto& outside = source ? target : source;
    outside = outside_path(source ? to : from, !source, now);
  }
  if (!source || !target) {
    pass_over();
    return false;
  }
  o.path = *source;
  o.path2 = *target;
  return true;
}

std::uint32_t TraceBuilder::implied_flags(PathId path, std::uint32_t first_use) {
  settle();
  if ((first_use & O_DIRECTORY) != 0 || model_.is_directory(trace_.path(path))) return O_RDONLY;
  return O_RDWR;
}

void TraceBuilder::leave_out_too_large(std::vector<InitialEntry>& entries) {
  counts_.too_large +=
      std::erase_if(entries, [](const InitialEntry& entry) { return entry.size > kMostFileBytes; });
}

void TraceBuilder::add(Operation operation) {
  if (!has_possible_bytes(operation)) {
    ++counts_.too_large;
    return;
  }
  if (operation.call == Call::mkdir && operation.result >= 0 && trace_.path(operation.path).empty()) {
    pass_over();  // a trace begins with its root
    return;
  }
  if (!start_ns_) start_ns_ = operation.time_ns;
  operation.time_ns = std::max<std::int64_t>(0, operation.time_ns - *start_ns_);
  window_.push(operation, trace_);
  if (window_.full()) take_effect(window_.take(trace_, [this](auto path) { return model_.presence(path); }));
}

void TraceBuilder::settle() {
  while (!window_.empty())
    take_effect(window_.take(trace_, [this](auto path) { return model_.presence(path); }));
  counts_.moved = window_.moved();
}

void TraceBuilder::take_effect(Operation operation) {
  const auto apply = [&] { return model_.apply(operation, trace_, trace_.operations.size() + 1, nullptr); };
  Outcome outcome = apply();
  if (surprises(operation, outcome) && operation.result >= 0) {
    const bool adopted =
        outcome.error != 0 ? adopt(operation, outcome.error) : adopt_size(operation, outcome.length);
    if (adopted) outcome = apply();
  }
  if (operation.call == Call::open && operation.handle != kNoHandle)
    opened_[operation.handle] = operation.path;
  if (operation.call == Call::close) opened_.erase(operation.handle);
  trace_.operations.push_back(operation);
}

bool TraceBuilder::surprises(const Operation& o, const Outcome& outcome) {
  const bool attribute = o.call == Call::getxattr || o.call == Call::listxattr ||
                         o.call == Call::removexattr || o.call == Call::setxattr || o.call == Call::access;
  if (attribute) return false;
  const bool same = (outcome.error == 0) == (o.result >= 0);
  const bool sized = same && outcome.error == 0 && outcome.checkable;
  std::uint64_t recorded = outcome.length;
  if (sized && o.call == Call::read) recorded = static_cast<std::uint64_t>(o.result);
  if (sized && o.call == Call::stat && S_ISREG(o.mode) && o.length > 0) recorded = o.length;
  if (same && recorded == outcome.length) return false;
  ++counts_.surprises;
  if (counts_.first_surprise.empty()) {
    const std::string path = o.path == kNoPath ? "" : " " + printable(trace_.path(o.path));
    const std::string was = o.result < 0 ? std::strerror(static_cast<int>(-o.result)) : "success";
    const std::string expected = outcome.error != 0 ? std::strerror(outcome.error) : "success";
    counts_.first_surprise =
        fmt::format("operation {}, {}{}: recorded {}, expected {}", trace_.operations.size() + 1,
                    name_of(o.call), path, same ? fmt::format("{} bytes", recorded) : was,
                    same ? fmt::format("{} bytes", outcome.length) : expected);
  }
  return true;
}

bool TraceBuilder::supply(const Operation& reason, Operation missing) {
  missing.time_ns = reason.time_ns;
  missing.client = reason.client;
  if (!has_possible_bytes(missing)) return false;
  if (model_.apply(missing, trace_, trace_.operations.size() + 1, nullptr).error != 0) return false;
  trace_.operations.push_back(missing);
  ++counts_.supplied;
  return true;
}

bool TraceBuilder::make_present(const Operation& reason, PathId id, bool itself) {
  const std::string path = trace_.path(id);  // interning moves them
  bool made = false;
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const bool last = end == std::string::npos;
    if (last && !itself) break;
    const std::string part = path.substr(0, end);
    if (part.empty() || model_.presence(part) == ModelTree::Presence::there) continue;
    const bool directory = !last || reason.call == Call::rmdir || reason.call == Call::readdir ||
                           S_ISDIR(reason.mode) || (reason.flags & O_DIRECTORY) != 0;
    Operation o;
    o.call = directory ? Call::mkdir : reason.call == Call::readlink ? Call::symlink : Call::mknod;
    o.path = trace_.intern(part);
    o.mode = directory ? 0755 : S_IFREG | 0644;
    if (o.call == Call::symlink)
      o.path2 = trace_.intern(
          std::string(static_cast<std::size_t>(std::clamp<std::int64_t>(reason.result, 1, 4095)), 'x'));
    if (!supply(reason, o)) return made;
    made = true;
  }
  return made;
}

bool TraceBuilder::make_absent(const Operation& reason, PathId path) {
  Operation o;
  o.call = model_.is_directory(trace_.path(path)) ? Call::rmdir : Call::unlink;
  o.path = path;
  return supply(reason, o);
}

bool TraceBuilder::adopt(const Operation& o, int error) {
  if (o.path == kNoPath) return false;
  const bool two = o.call == Call::rename || o.call == Call::link;
  const bool makes = o.call == Call::mkdir || o.call == Call::mknod || o.call == Call::symlink ||
                     (o.call == Call::open && (o.flags & O_CREAT) != 0);
  if (error == EEXIST) return make_absent(o, two ? o.path2 : o.path);
  if (error != ENOENT) return false;
  bool changed = make_present(o, o.path, !makes);
  if (two) changed = make_present(o, o.path2, false) || changed;
  return changed;
}

// Only where there was more: less may be a call that was cut short, or one that another overtook.
bool TraceBuilder::adopt_size(const Operation& o, std::uint64_t size) {
  const bool reads = o.call == Call::read;
  const std::uint64_t recorded = reads ? static_cast<std::uint64_t>(o.result) : o.length;
  if (recorded <= size) return false;
  const auto it = opened_.find(o.handle);
  const PathId path = o.path != kNoPath ? o.path : it != opened_.end() ? it->second : kNoPath;
  if (path == kNoPath || (o.handle != kNoHandle && !model_.is_open_on(o.handle, trace_.path(path))))
    return false;
  Operation grows;
  grows.call = Call::truncate;
  grows.path = path;
  grows.length = reads ? o.offset + recorded : recorded;
  return supply(o, grows);
}

Trace TraceBuilder::finish() {
  settle();
  if (infers_) {
    trace_.initial = model_.inferred(trace_);
    leave_out_too_large(trace_.initial);
  }
  if (!infers_ && counts_.from_outside > 0) sort_by_path(trace_.initial, trace_);
  if (counts_.surprises > 0) trace_.about["surprises"] = std::to_string(counts_.surprises);
  if (counts_.supplied > 0) trace_.about["supplied_operations"] = std::to_string(counts_.supplied);
  if (counts_.too_large > 0) trace_.about["too_large"] = std::to_string(counts_.too_large);
  return std::move(trace_);
}

}  // namespace cffs::replay
