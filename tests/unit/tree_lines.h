// A whole tree as text, a line for each name: to compare two of them.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "core/base/checksum.h"
#include "core/fs/file_system.h"

namespace cffs::test {

class TreeLines {
 public:
  // Everything that a user sees, but for the times of changes and of births.
  static std::vector<std::string> of(FileSystem& fs) {
    TreeLines lines(fs);
    lines.add("", *fs.getattr(kRootInode));
    return lines.lines_;
  }

 private:
  explicit TreeLines(FileSystem& fs) : fs_(fs) {}

  void add(const std::string& path, const Attributes& a) {
    std::string line = path;
    const auto put = [&](const std::string& what) {
      line += ' ';
      line += what;
    };
    const auto number = [&](auto n) { put(std::to_string(n)); };
    number(a.mode);
    number(a.uid);
    number(a.gid);
    number(a.nlink);
    number(a.rdev);
    number(a.mtime_ns);
    number(a.atime_ns);
    if (!S_ISDIR(a.mode)) put("first " + first_.try_emplace(a.ino, path).first->second);
    if (S_ISLNK(a.mode)) put("-> " + *fs_.readlink(a.ino));
    if (S_ISREG(a.mode)) put("size " + std::to_string(a.size) + " sum " + std::to_string(sum(a)));
    const auto names = fs_.listxattr(a.ino);
    for (const std::string& name : *names) put(name + "=" + *fs_.getxattr(a.ino, name));
    lines_.push_back(line);
    if (S_ISDIR(a.mode)) add_entries(path, a.ino);
  }

  void add_entries(const std::string& path, InodeId directory) {
    std::map<std::string, Attributes> entries;
    REQUIRE(fs_.readdir(directory, 2, true, [&](const DirectoryEntry& e) {
      entries.emplace(e.name, e.attributes);
      return true;
    }));
    for (const auto& [name, attributes] : entries) {
      add(path + "/" + name, attributes);
      fs_.forget(attributes.ino, 1);
    }
  }

  std::uint64_t sum(const Attributes& a) {
    std::string bytes(a.size, '\0');
    const auto n = fs_.read(a.ino, 0, as_writable_bytes(bytes));
    REQUIRE(n);
    CHECK(*n == bytes.size());
    return checksum(bytes);
  }

  FileSystem& fs_;
  std::map<InodeId, std::string> first_;  // path of each file's first name
  std::vector<std::string> lines_;
};

}  // namespace cffs::test
