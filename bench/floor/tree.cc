#include "bench/floor/tree.h"

#include <cerrno>
#include <memory>

namespace cffs::bench::floor {

timespec now() {
  timespec t{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &t);
  return t;
}

void Node::changed() { changed_to(is_directory() ? entries.size() : data.size()); }

void Node::changed_to(std::uint64_t size) {
  attributes.st_size = static_cast<off_t>(size);
  attributes.st_blocks = (attributes.st_size + 511) / 512;
  attributes.st_mtim = attributes.st_ctim = now();
}

Tree::Tree() {
  root_.attributes.st_mode = S_IFDIR | 0755;
  root_.attributes.st_nlink = 2;
  root_.attributes.st_ino = 1;
  root_.parent = &root_;
  root_.changed();
}

Tree::~Tree() { destroy(root_); }

void Tree::destroy(Node& node) {
  for (auto& [cookie, entry] : node.entries) {
    if (entry.node->is_directory()) destroy(*entry.node);
    if (entry.node->is_directory() || --entry.node->attributes.st_nlink == 0)
      const std::unique_ptr<Node> gone(entry.node);
  }
}

Node* Tree::find(const Node& directory, const std::string& name) {
  const auto found = directory.cookies.find(name);
  return found == directory.cookies.end() ? nullptr : directory.entries.at(found->second).node;
}

void Tree::enter(Node& directory, const std::string& name, Node& node) {
  directory.cookies[name] = ++directory.last_cookie;
  directory.entries[directory.last_cookie] = {name, &node};
  if (node.is_directory()) {
    node.parent = &directory;
    ++directory.attributes.st_nlink;
  }
  directory.changed();
}

Node* Tree::leave(Node& directory, const std::string& name) {
  const auto found = directory.cookies.find(name);
  const auto entry = directory.entries.find(found->second);
  Node* node = entry->second.node;
  directory.entries.erase(entry);
  directory.cookies.erase(found);
  if (node->is_directory()) --directory.attributes.st_nlink;
  directory.changed();
  return node;
}

Node* Tree::make(Node& directory, const std::string& name, mode_t mode, uid_t uid, gid_t gid) {
  if (find(directory, name) != nullptr) return nullptr;
  auto made = std::make_unique<Node>();
  made->attributes.st_mode = mode;
  made->attributes.st_uid = uid;
  made->attributes.st_gid = gid;
  made->attributes.st_nlink = S_ISDIR(mode) ? 2 : 1;
  made->attributes.st_ino = reinterpret_cast<ino_t>(made.get());
  made->changed();
  made->attributes.st_atim = made->attributes.st_mtim;
  enter(directory, name, *made);
  return made.release();
}

int Tree::link(Node& directory, const std::string& name, Node& node) {
  if (find(directory, name) != nullptr) return EEXIST;
  ++node.attributes.st_nlink;
  enter(directory, name, node);
  return 0;
}

int Tree::remove(Node& directory, const std::string& name, bool is_directory) {
  Node* node = find(directory, name);
  if (node == nullptr) return ENOENT;
  if (node->is_directory() != is_directory) return is_directory ? ENOTDIR : EISDIR;
  if (is_directory && !node->entries.empty()) return ENOTEMPTY;
  leave(directory, name);
  node->attributes.st_nlink = is_directory ? 0 : node->attributes.st_nlink - 1;
  node->attributes.st_ctim = now();
  drop_if_unknown(*node);
  return 0;
}

int Tree::rename(Node& from, const std::string& name, Node& to, const std::string& new_name, unsigned flags) {
  if (flags != 0) return EINVAL;
  Node* node = find(from, name);
  if (node == nullptr) return ENOENT;
  if (Node* there = find(to, new_name); there == node) {
    return 0;
  } else if (there != nullptr) {
    if (there->is_directory() != node->is_directory()) return there->is_directory() ? EISDIR : ENOTDIR;
    if (const int problem = remove(to, new_name, there->is_directory()); problem != 0) return problem;
  }
  leave(from, name);
  enter(to, new_name, *node);
  return 0;
}

void Tree::forget(Node& node, std::uint64_t times) {
  if (&node == &root_) return;
  node.known -= times;
  drop_if_unknown(node);
}

void Tree::drop_if_unknown(Node& node) {
  if (node.known == 0 && node.attributes.st_nlink == 0) const std::unique_ptr<Node> gone(&node);
}

}  // namespace cffs::bench::floor
