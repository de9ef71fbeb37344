// The operations of a ModelTree, one after the other.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "replay/model/model_tree.h"

namespace cffs::replay {
namespace {

constexpr std::uint32_t kNoReplace = 1, kExchange = 2;  // of renameat2

Outcome error(int value) { return {value, 0, false, false}; }

// Whether the last component of its path is followed where it is a symlink: as replays do it, so that attributes are set
// on the same thing whatever it points to.
bool follows(const Operation& o) {
  switch (o.call) {
    case Call::stat:
      return (o.flags & 1) != 0;
    case Call::readlink:
    case Call::chown:
    case Call::utimens:
    case Call::getxattr:
    case Call::setxattr:
    case Call::listxattr:
    case Call::removexattr:
      return false;
    default:
      return true;
  }
}

}  // namespace

Outcome ModelTree::apply_open(const Operation& o, const Trace& trace) {
  const bool creates = (o.flags & O_CREAT) != 0;
  const bool exclusive = creates && (o.flags & O_EXCL) != 0;
  const bool writes = (o.flags & O_ACCMODE) != O_RDONLY;
  Evidence evidence = evidence_of(o);
  // A successful create says nothing about what was there before: taken for a new file.
  if (creates && o.result >= 0) evidence = {};
  const bool unnamed = (o.flags & O_TMPFILE) == O_TMPFILE;
  const bool follow = (o.flags & O_NOFOLLOW) == 0 && !exclusive;
  WalkEnd end = walk(0, trace.path(o.path), follow, evidence, 0);
  if (creates && end.error == ENOENT && end.entry == 0) end = walk_to_new(o.path, o.result >= 0, trace);
  NodeIndex node = end.node;
  if (unnamed && end.error == 0) {
    node = make_node('f', false);
  } else if (end.error == ENOENT && creates && end.entry != 0) {
    node = make_node('f', false);
    nodes_[node].mode = o.mode;
    put(end, node);
  } else if (end.error != 0) {
    return error(end.error);
  } else if (exclusive) {
    return error(EEXIST);
  }
  Node& opened = nodes_[node];
  if (opened.kind != 'd' && (o.flags & O_DIRECTORY) != 0 && !unnamed) return error(ENOTDIR);
  if (opened.kind == 'l' && (o.flags & O_PATH) == 0) return error(ELOOP);  // O_PATH opens the link itself
  if (opened.kind == 'd' && writes) return error(EISDIR);
  if ((o.flags & O_TRUNC) != 0 && writes) {
    truncate(node, 0);
  } else {
    touch_node(node, Touch::How::shared);
  }
  if (o.handle != kNoHandle && !refused_) {
    handles_[o.handle] = {node, o.flags};
    touch_handle(o.handle, Touch::How::exclusive);
  }
  return {0, 0, false, opened.kind == 'd'};
}

// A name that is about to be made: only its directory must have been there, which is inferred where it was `made`.
ModelTree::WalkEnd ModelTree::walk_to_new(PathId id, bool made, const Trace& trace) {
  const std::string& path = trace.path(id);
  const std::size_t slash = path.rfind('/');
  if (made && mode_ == Mode::infers && slash != std::string::npos) {
    (void)walk(0, std::string_view(path).substr(0, slash), true, {true, 'd'}, 0);
  }
  return walk(0, path, false, {}, 0);
}

Outcome ModelTree::make_entry(const Operation& o, const Trace& trace, char kind) {
  const WalkEnd end =
      refused_ ? walk(0, trace.path(o.path), false, evidence_of(o), 0) : walk_to_new(o.path, true, trace);
  if (end.error == 0) return error(EEXIST);
  if (end.error != ENOENT || end.entry == 0) return error(end.error);
  const NodeIndex node = make_node(kind, false);
  nodes_[node].mode = o.mode;
  if (kind == 'l') nodes_[node].target = trace.path(o.path2);
  put(end, node);
  return {0, 0, false, kind == 'd'};
}

Outcome ModelTree::remove_entry(const Operation& o, const Trace& trace) {
  const WalkEnd end = walk(0, trace.path(o.path), false, evidence_of(o), 0);
  if (end.error != 0) return error(end.error);
  if (end.entry == 0) return error(EBUSY);  // the root
  const Node& node = nodes_[end.node];
  const bool wants_directory = o.call == Call::rmdir;
  const bool trusted = mode_ == Mode::infers && node.initial && o.result >= 0;
  if (wants_directory && node.kind != 'd') return error(ENOTDIR);
  if (!wants_directory && node.kind == 'd') return error(EISDIR);
  if (wants_directory && node.children > 0 && !trusted) {
    touch_listing(end.node, Touch::How::shared);
    return error(ENOTEMPTY);
  }
  if (wants_directory) touch_listing(end.node, Touch::How::exclusive);
  const NodeIndex gone = end.node;
  put(end, kAbsent);
  touch_node(gone, Touch::How::exclusive);
  return {};
}

Outcome ModelTree::apply_rename(const Operation& o, const Trace& trace) {
  const WalkEnd from = walk(0, trace.path(o.path), false, evidence_of(o), 0);
  if (from.error != 0) return error(from.error);
  const WalkEnd to = walk_to_new(o.path2, o.result >= 0, trace);
  if ((to.error != 0 && to.error != ENOENT) || to.entry == 0) return error(to.error == 0 ? EBUSY : to.error);
  if (from.entry == 0) return error(EBUSY);
  const bool there = to.error == 0;
  if (there && (o.flags & kNoReplace) != 0) return error(EEXIST);
  if (!there && (o.flags & kExchange) != 0) return error(ENOENT);
  if (there && to.node == from.node) return {};
  if (there && (o.flags & kExchange) == 0) {
    const Node& old = nodes_[to.node];
    if (old.kind == 'd' && nodes_[from.node].kind != 'd') return error(EISDIR);
    if (old.kind != 'd' && nodes_[from.node].kind == 'd') return error(ENOTDIR);
    if (old.kind == 'd' && old.children > 0) return error(ENOTEMPTY);
    touch_node(to.node, Touch::How::exclusive);
  }
  put(from, (o.flags & kExchange) != 0 ? to.node : kAbsent);
  put(to, from.node);
  return {};
}

Outcome ModelTree::apply_link(const Operation& o, const Trace& trace) {
  const WalkEnd from = walk(0, trace.path(o.path), false, evidence_of(o), 0);
  if (from.error != 0) return error(from.error);
  const WalkEnd to = walk_to_new(o.path2, o.result >= 0, trace);
  if (to.error == 0) return error(EEXIST);
  if (to.error != ENOENT || to.entry == 0) return error(to.error);
  if (nodes_[from.node].kind == 'd') return error(EPERM);
  put(to, from.node);
  return {};
}

Outcome ModelTree::list(NodeIndex index) {
  settle_kind(index, 'd');
  const Node& node = nodes_[index];
  if (node.kind != 'd') return error(ENOTDIR);
  touch_listing(index, Touch::How::shared);
  return {0, node.children, mode_ == Mode::replays, true};
}

Outcome ModelTree::read(NodeIndex index, const Operation& o, std::vector<Segment>* segments) {
  settle_kind(index, 'f');
  see_size(index, o);
  const Node& node = nodes_[index];
  if (node.kind == 'd') return error(EISDIR);
  touch_node(index, Touch::How::shared);
  const std::uint64_t from = o.call == Call::fetch ? 0 : o.offset;
  const std::uint64_t most = o.call == Call::fetch ? kToTheEnd : o.length;
  const std::uint64_t end = from < node.size ? from + std::min(most, node.size - from) : from;
  if (segments != nullptr && end > from) {
    std::uint64_t at = from;
    auto it = node.extents.upper_bound(from);
    if (it != node.extents.begin()) --it;
    for (; it != node.extents.end() && it->first < end; ++it) {
      const std::uint64_t begin = std::max(at, it->first);
      const std::uint64_t stop = std::min(end, it->first + it->second.length);
      if (stop <= begin) continue;
      if (begin > at) segments->push_back({at, begin - at, 0});
      segments->push_back({begin, stop - begin, it->second.stamp});
      at = stop;
    }
    if (at < end) segments->push_back({at, end - at, 0});
  }
  return {0, end - from, true, false};
}

// Removes what is known of [from, to).
void ModelTree::cut(Node& node, std::uint64_t from, std::uint64_t to) {
  auto it = node.extents.upper_bound(from);
  if (it != node.extents.begin()) --it;
  while (it != node.extents.end() && it->first < to) {
    const Segment old = it->second;
    const std::uint64_t end = old.offset + old.length;
    if (end <= from) {
      ++it;
      continue;
    }
    it = node.extents.erase(it);
    if (old.offset < from) node.extents[old.offset] = {old.offset, from - old.offset, old.stamp};
    if (end > to) node.extents[to] = {to, end - to, old.stamp};
  }
}

Outcome ModelTree::write(NodeIndex index, const Operation& o, std::uint64_t stamp) {
  settle_kind(index, 'f');
  Node& node = nodes_[index];
  if (node.kind == 'd') return error(EISDIR);
  touch_node(index, Touch::How::exclusive);
  const std::uint64_t bytes = refused_ ? 0 : static_cast<std::uint64_t>(o.result);
  node.changed = node.changed || bytes > 0;
  if (bytes > 0) {
    cut(node, o.offset, o.offset + bytes);
    node.extents[o.offset] = {o.offset, bytes, stamp};
    node.size = std::max(node.size, o.offset + bytes);
  }
  return {0, bytes, true, false};
}

void ModelTree::truncate(NodeIndex index, std::uint64_t size) {
  if (refused_) return;
  touch_node(index, Touch::How::exclusive);
  Node& node = nodes_[index];
  node.changed = true;
  cut(node, size, kToTheEnd);
  node.size = size;
}

Outcome ModelTree::apply(const Operation& o, const Trace& trace, std::uint64_t stamp,
                         std::vector<Segment>* segments) {
  touches_.clear();
  refused_ = o.result < 0;
  switch (o.call) {
    case Call::open:
      return apply_open(o, trace);
    case Call::mkdir:
      return make_entry(o, trace, 'd');
    case Call::mknod:
      return make_entry(o, trace, 'f');
    case Call::symlink:
      return make_entry(o, trace, 'l');
    case Call::unlink:
    case Call::rmdir:
      return remove_entry(o, trace);
    case Call::rename:
      return apply_rename(o, trace);
    case Call::link:
      return apply_link(o, trace);
    case Call::sync:
    case Call::spawn:
    case Call::reap:
      return {};
    case Call::close:
      touch_handle(o.handle, Touch::How::exclusive);
      return on_handle(o.handle) == kAbsent ? error(EBADF) : Outcome{};
    default:
      break;
  }
  // The rest concerns one existing node, by handle or by path.
  NodeIndex node = kAbsent;
  if (o.handle != kNoHandle) {
    touch_handle(o.handle, Touch::How::shared);
    node = on_handle(o.handle);
    if (node == kAbsent) return error(EBADF);
    if (const int refusal = refusal_on_handle(o); refusal != 0) return error(refusal);
  } else {
    const WalkEnd end = walk(0, trace.path(o.path), follows(o), evidence_of(o), 0);
    if (end.error != 0) return error(end.error);
    node = end.node;
  }
  switch (o.call) {
    case Call::read:
    case Call::fetch:
      return read(node, o, segments);
    case Call::write:
      return write(node, o, stamp);
    case Call::truncate:
      if (nodes_[node].kind == 'd') return error(EISDIR);
      truncate(node, o.length);
      return {};
    case Call::readdir:
      return list(node);
    case Call::readlink:
      if (nodes_[node].kind != 'l') return error(EINVAL);
      touch_node(node, Touch::How::shared);
      if (mode_ == Mode::infers && nodes_[node].initial && nodes_[node].target.empty()) {
        constexpr std::int64_t kMostTarget = 4095;  // whatever the log says
        nodes_[node].target =
            std::string(static_cast<std::size_t>(std::clamp<std::int64_t>(o.result, 1, kMostTarget)), 'x');
      }
      return {0, nodes_[node].target.size(), false, false};
    case Call::stat:
      settle_kind(node, '?');
      see_size(node, o);
      touch_node(node, Touch::How::shared);
      return {0, nodes_[node].kind == 'f' ? nodes_[node].size : 0, nodes_[node].kind == 'f',
              nodes_[node].kind == 'd'};
    case Call::chmod:
    case Call::chown:
    case Call::setxattr:
    case Call::removexattr:
    case Call::utimens:
      touch_node(node, Touch::How::exclusive);
      return {};
    case Call::getxattr:
    case Call::listxattr:
    default:
      touch_node(node, Touch::How::shared);
      return {};
  }
}

}  // namespace cffs::replay
