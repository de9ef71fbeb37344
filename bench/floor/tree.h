// Files in memory, and nothing else: what the floor serves. With a pack the data is on a disk. One thread at a time.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <ctime>
#include <map>
#include <string>
#include <unordered_map>

#include "bench/floor/pack.h"

namespace cffs::bench::floor {

struct Node {
  struct stat attributes {};  // st_ino is the node's address, st_size follows the data
  std::string data;           // of a file, or a symlink's target
  Extents extents;            // of a file whose data is in a pack
  std::uint64_t known = 0;    // how often the kernel was told of it
  // Of a directory: by cookies that only grow, so that a listing goes on where it was whatever is removed meanwhile.
  struct Entry {
    std::string name;
    Node* node = nullptr;
  };
  std::map<std::uint64_t, Entry> entries;
  std::unordered_map<std::string, std::uint64_t> cookies;
  std::uint64_t last_cookie = 2;  // "." and ".." are before
  Node* parent = nullptr;

  bool is_directory() const { return S_ISDIR(attributes.st_mode); }
  void changed();                       // its content: size and times follow
  void changed_to(std::uint64_t size);  // the same, where the data is in a pack
};

class Tree {
 public:
  Tree();
  ~Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  Node& root() { return root_; }
  // Null: there is none.
  static Node* find(const Node& directory, const std::string& name);
  // Null: the name is taken.
  Node* make(Node& directory, const std::string& name, mode_t mode, uid_t uid, gid_t gid);
  // These return 0 or an errno.
  int link(Node& directory, const std::string& name, Node& node);
  int remove(Node& directory, const std::string& name, bool is_directory);
  int rename(Node& from, const std::string& name, Node& to, const std::string& new_name, unsigned flags);
  void forget(Node& node, std::uint64_t times);

 private:
  static void enter(Node& directory, const std::string& name, Node& node);
  static Node* leave(Node& directory, const std::string& name);
  static void drop_if_unknown(Node& node);
  static void destroy(Node& node);
  Node root_;
};

timespec now();

}  // namespace cffs::bench::floor
