#include "replay/model/model_tree.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "core/base/checksum.h"
#include "replay/trace/open_flags.h"

namespace cffs::replay {
namespace {

constexpr int kMostSymlinks = 40;
constexpr std::uint64_t kInitial = std::uint64_t{1} << 63;

char kind_of_mode(std::uint32_t mode) {
  if (S_ISDIR(mode)) return 'd';
  if (S_ISLNK(mode)) return 'l';
  return (mode & S_IFMT) != 0 ? 'f' : '?';
}

}  // namespace

std::uint64_t ModelTree::initial_stamp(std::string_view path) { return checksum(path) | kInitial; }

ModelTree::ModelTree(Mode mode, std::string root) : mode_(mode), root_(std::move(root)) {
  nodes_.emplace_back();
  nodes_[0].kind = 'd';
  nodes_[0].kind_certain = true;
  nodes_[0].initial = mode == Mode::infers;
  entry_nodes_.push_back(0);  // entry 0 stands for the root, which has no name
}

std::uint32_t ModelTree::entry_of(NodeIndex directory, std::string_view name) {
  const auto [it, fresh] =
      entries_.try_emplace({directory, std::string(name)}, static_cast<std::uint32_t>(entry_nodes_.size()));
  if (fresh) entry_nodes_.push_back(nodes_[directory].initial && mode_ == Mode::infers ? kUnknown : kAbsent);
  return it->second;
}

NodeIndex ModelTree::make_node(char kind, bool initial) {
  const auto index = static_cast<NodeIndex>(nodes_.size());
  Node& node = nodes_.emplace_back();
  node.kind = kind == '?' ? 'f' : kind;
  node.kind_certain = kind != '?';
  node.initial = initial;
  return index;
}

NodeIndex ModelTree::infer(NodeIndex directory, std::string_view name, char kind) {
  const NodeIndex made = make_node(kind, true);
  const std::string& above = nodes_[directory].initial_path;
  nodes_[made].initial_path = above.empty() ? std::string(name) : above + "/" + std::string(name);
  ++nodes_[directory].children;
  return made;
}

// A node that was taken for a file until something else came to light.
void ModelTree::settle_kind(NodeIndex index, char kind) {
  Node& node = nodes_[index];
  if (node.kind_certain || kind == '?') return;
  node.kind = kind;
  node.kind_certain = true;
}

std::optional<std::string> ModelTree::within(const std::string& target) const {
  if (root_ == "/" || root_.empty()) return target.substr(1);
  if (!target.starts_with(root_)) return {};
  if (target.size() == root_.size()) return std::string();
  if (target[root_.size()] != '/') return {};
  return target.substr(root_.size() + 1);
}

ModelTree::WalkEnd ModelTree::walk(NodeIndex from, std::string_view path, bool follow,
                                   const Evidence& evidence, int depth) {
  WalkEnd end;
  end.node = from;
  if (depth > kMostSymlinks) {
    end.error = ELOOP;
    return end;
  }
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(name.size() + 1, path.size()));
    const bool last = path.empty();
    if (name.empty() || name == ".") continue;
    if (evidence.exists) settle_kind(end.node, 'd');
    if (nodes_[end.node].kind != 'd') {
      end.error = ENOTDIR;
      end.node = kAbsent;
      end.entry = 0;
      return end;
    }
    if (name == "..") {
      end.node = nodes_[end.node].parent;
      continue;
    }
    end.directory = end.node;
    end.entry = entry_of(end.directory, name);
    touch_entry(end.entry, Touch::How::shared);
    NodeIndex there = entry_nodes_[end.entry];
    if (there == kUnknown && evidence.exists) {
      there = infer(end.directory, name, last ? evidence.kind : 'd');
      entry_nodes_[end.entry] = there;
    } else if (there == kUnknown && last && evidence.kind == '-') {
      entry_nodes_[end.entry] = kAbsent;
    }
    if (there == kUnknown || there == kAbsent) {
      end.node = kAbsent;
      end.error = ENOENT;
      if (!last) end.entry = 0;
      return end;
    }
    end.node = there;
    const Node& found = nodes_[there];
    if (found.kind != 'l' || (last && !follow)) continue;
    std::optional<std::string> target = found.target;
    const bool absolute = found.target.starts_with('/');
    if (absolute) target = within(found.target);
    if (!target || target->empty()) {  // leads out of the trace, or is not known
      end.node = kAbsent;
      end.entry = 0;
      end.error = ENOENT;
      return end;
    }
    if (!last) *target += "/" + std::string(path);
    return walk(absolute ? 0 : end.directory, *target, follow, evidence, depth + 1);
  }
  return end;
}

void ModelTree::put(const WalkEnd& end, NodeIndex node) {
  if (refused_) return;
  NodeIndex& there = entry_nodes_[end.entry];
  const bool was = there != kAbsent && there != kUnknown;
  const bool is = node != kAbsent;
  nodes_[end.directory].children += (is ? 1u : 0u) - (was ? 1u : 0u);
  there = node;
  if (is && nodes_[node].kind == 'd') nodes_[node].parent = end.directory;
  touch_entry(end.entry, Touch::How::exclusive);
  touch_listing(end.directory, Touch::How::additive);
}

void ModelTree::add(const std::string& path, const InitialEntry& entry) {
  touches_.clear();
  refused_ = false;
  NodeIndex at = 0;
  std::string_view rest = path;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (name.empty()) continue;
    WalkEnd end;
    end.directory = at;
    end.entry = entry_of(at, name);
    NodeIndex there = entry_nodes_[end.entry];
    if (there == kAbsent || there == kUnknown) {
      there = make_node(rest.empty() ? entry.kind : 'd', true);
      put(end, there);
    }
    at = there;
  }
  Node& node = nodes_[at];
  node.initial = true;
  node.initial_path = path;
  node.mode = entry.mode;
  node.target = entry.target;
  if (entry.kind == 'f') {
    node.size = node.initial_size = entry.size;
    node.size_certain = true;
    if (entry.size > 0) node.extents[0] = {0, entry.size, initial_stamp(path)};
  }
}

NodeIndex ModelTree::on_handle(std::uint32_t handle) const {
  const auto it = handles_.find(handle);
  return it == handles_.end() ? kAbsent : it->second.node;
}

// errno where a handle was not opened for what is done with it. What a recording tells of descriptors that nobody was
// seen to open is a guess, so whoever infers takes its word; who was given the tree before does not.
int ModelTree::refusal_on_handle(const Operation& o) const {
  const auto it = handles_.find(o.handle);
  return mode_ == Mode::infers || it == handles_.end() ? 0 : refusal_of(o.call, it->second.flags);
}

std::uint64_t ModelTree::size_of(std::uint32_t handle) const {
  const NodeIndex node = on_handle(handle);
  return node == kAbsent ? 0 : nodes_[node].size;
}

bool ModelTree::is_directory(const std::string& path) {
  const WalkEnd end = walk(0, path, true, {}, 0);
  return end.error == 0 && nodes_[end.node].kind == 'd';
}

ModelTree::Presence ModelTree::presence(std::string_view path) const {
  NodeIndex at = 0;
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(name.size() + 1, path.size()));
    if (nodes_[at].kind == 'l') return Presence::there;
    const auto it = entries_.find({at, std::string(name)});
    const bool may_be = nodes_[at].initial && mode_ == Mode::infers;
    const NodeIndex node = it != entries_.end() ? entry_nodes_[it->second] : may_be ? kUnknown : kAbsent;
    if (node == kUnknown) return Presence::unknown;
    if (node == kAbsent) return Presence::absent;
    at = node;
  }
  return Presence::there;
}

bool ModelTree::is_open_on(std::uint32_t handle, const std::string& path) {
  const WalkEnd end = walk(0, path, true, {}, 0);
  return end.error == 0 && end.node == on_handle(handle);
}

// What the call's outcome says about the last component of its path.
ModelTree::Evidence ModelTree::evidence_of(const Operation& o) const {
  if (mode_ != Mode::infers) return {};
  const bool good = o.result >= 0;
  switch (o.call) {
    case Call::open:
      if (good) return {true, (o.flags & O_DIRECTORY) != 0 ? 'd' : '?'};
      if (o.result == -EEXIST) return {true, '?'};
      if (o.result == -EISDIR) return {true, 'd'};
      break;
    case Call::mkdir:
      if (o.result == -EEXIST) return {true, 'd'};
      break;
    case Call::symlink:
    case Call::mknod:
      if (o.result == -EEXIST) return {true, '?'};
      break;
    case Call::stat:
      if (good) return {true, kind_of_mode(o.mode)};
      break;
    case Call::readlink:
      if (good) return {true, 'l'};
      if (o.result == -EINVAL) return {true, '?'};
      break;
    case Call::readdir:
      if (good) return {true, 'd'};
      break;
    case Call::rmdir:
      if (good || o.result == -ENOTEMPTY || o.result == -EEXIST) return {true, 'd'};
      break;
    case Call::fetch:
    case Call::read:
    case Call::write:
    case Call::truncate:
      if (good) return {true, 'f'};
      break;
    default:
      if (good || o.result == -ENODATA || o.result == -EOPNOTSUPP) return {true, '?'};
      break;
  }
  if (o.result == -ENOENT) return {false, '-'};
  return {};
}

// Sizes that the recording showed, for files that were there before and that nothing has changed yet.
void ModelTree::see_size(NodeIndex index, const Operation& o) {
  Node& node = nodes_[index];
  if (mode_ != Mode::infers || !node.initial || node.changed || node.kind == 'd' || o.result < 0) return;
  std::uint64_t seen = 0;
  if (o.call == Call::stat) {
    if (kind_of_mode(o.mode) != 'f') return;
    seen = o.length;
    node.size_certain = true;
    node.mode = o.mode & 07777;
  } else if (o.call == Call::read) {
    seen = o.offset + static_cast<std::uint64_t>(o.result);
  } else if (o.call == Call::fetch) {
    seen = static_cast<std::uint64_t>(o.result);
  }
  node.size = node.initial_size = std::max(seen, node.size);
  node.extents.clear();
  if (node.size > 0) node.extents[0] = {0, node.size, 1};
}

std::vector<InitialEntry> ModelTree::inferred(Trace& trace) const {
  std::vector<InitialEntry> entries;
  for (const Node& node : nodes_) {
    if (!node.initial || node.initial_path.empty()) continue;
    InitialEntry entry;
    entry.path = trace.intern(node.initial_path);
    entry.kind = node.kind;
    entry.mode = node.mode != 0 ? node.mode : node.kind == 'd' ? 0755u : 0644u;
    entry.size = node.kind == 'f' ? node.initial_size : 0;
    entry.target = node.target;
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [&](const InitialEntry& a, const InitialEntry& b) {
    return trace.path(a.path) < trace.path(b.path);
  });
  return entries;
}

ModelTree::Children ModelTree::children() const {
  Children children;
  for (const auto& [key, entry] : entries_) {
    const NodeIndex node = entry_nodes_[entry];
    if (node != kAbsent && node != kUnknown) children[key.directory].emplace_back(&key.name, node);
  }
  return children;
}

// As it is now, but for its path.
InitialEntry ModelTree::described(const Node& node) {
  InitialEntry entry{kNoPath, node.kind, node.mode & 07777, node.kind == 'f' ? node.size : 0, node.target};
  if (entry.mode == 0) entry.mode = node.kind == 'd' ? 0755 : 0644;
  return entry;
}

ModelTree::Found ModelTree::present_at(const std::string& path) {
  const WalkEnd end = walk(0, path, false, {}, 0);
  if (end.error != 0) return {{"", {}}};
  Found found{{"", described(nodes_[end.node])}};
  if (nodes_[end.node].kind != 'd') return found;
  const Children below = children();
  std::vector<std::pair<NodeIndex, std::string>> open{{end.node, ""}};
  while (!open.empty()) {
    const auto [directory, where] = std::move(open.back());
    open.pop_back();
    const auto in = below.find(directory);
    if (in == below.end()) continue;
    for (const auto& [name, index] : in->second) {
      const std::string whole = where.empty() ? *name : where + "/" + *name;
      found.emplace_back(whole, described(nodes_[index]));
      if (nodes_[index].kind == 'd') open.emplace_back(index, whole);
    }
  }
  return found;
}

std::vector<InitialEntry> ModelTree::present(Trace& trace,
                                             std::unordered_map<std::uint32_t, PathId>& open_paths) const {
  Children children = this->children();
  std::vector<InitialEntry> found;
  std::unordered_map<NodeIndex, PathId> path_of;
  std::vector<std::pair<NodeIndex, std::string>> open{{0, ""}};
  while (!open.empty()) {
    const auto [directory, path] = std::move(open.back());
    open.pop_back();
    path_of.emplace(directory, trace.intern(path));
    for (const auto& [name, index] : children[directory]) {
      const std::string whole = path.empty() ? *name : path + "/" + *name;
      const Node& node = nodes_[index];
      InitialEntry entry = described(node);
      entry.path = trace.intern(whole);
      path_of.emplace(index, entry.path);
      found.push_back(std::move(entry));
      if (node.kind == 'd') open.emplace_back(index, whole);
    }
  }
  for (const auto& [handle, opened] : handles_) {
    if (const auto it = path_of.find(opened.node); it != path_of.end()) open_paths[handle] = it->second;
  }
  std::sort(found.begin(), found.end(), [&](const InitialEntry& a, const InitialEntry& b) {
    return trace.path(a.path) < trace.path(b.path);
  });
  return found;
}

}  // namespace cffs::replay
