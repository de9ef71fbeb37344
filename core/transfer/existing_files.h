// What an import finds where it goes: the same file, another, or nothing; and how another is replaced and things are taken away.
//
// Replaced is by a temporary name and a rename, so that a name shows the old file or the new one, whole, whatever happens meanwhile.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>

#include "core/transfer/destination.h"

namespace cffs {

class ExistingFiles {
 public:
  ExistingFiles(Destination& to, bool by_content) : to_(to), by_content_(by_content) {}

  // Nothing is in this directory but what this import brings: nobody looks there.
  void is_new(InodeId directory) { new_.insert(directory); }
  void none_is_new() { new_.clear(); }
  bool is_empty(InodeId directory) const;

  enum class What { nothing, same, differs, directory };
  struct Found {
    What what = What::nothing;
    bool attributes_differ = false;  // of one that is the same: mode, owner or time
    std::optional<InodeId> linked;   // of one that is the same, and has other names
  };
  // Whether a file's content is what is read there, which has its size; only asked where files are told apart by content.
  using SameContent = std::function<bool(const ReadAt&)>;
  Result<Found> look(InodeId parent, const std::string& name, const Inode& wanted,
                     const SameContent& same) const;

  // The file of the temporary name takes the name. Where it cannot, it goes.
  Status take_name(InodeId parent, const std::string& temporary, const std::string& name);

  // With all that is in it, but what is to be kept and the directories that it lies in. Returns how many names went.
  using Keep = std::function<bool(std::string_view path, bool is_directory)>;  // paths go on from `path`
  Result<std::uint64_t> remove(InodeId parent, const std::string& name, const Keep& keep = {},
                               const std::string& path = {});
  // What transfers that were killed left in a directory. Returns how many files that were.
  Result<std::uint64_t> clear(InodeId directory);

 private:
  bool is_same(InodeId parent, const std::string& name, const Attributes& there, const Inode& wanted,
               const SameContent& same) const;

  Destination& to_;
  const bool by_content_;
  std::unordered_set<InodeId> new_;
};

}  // namespace cffs
