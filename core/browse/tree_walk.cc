#include "core/browse/tree_walk.h"

#include <algorithm>
#include <unordered_set>

namespace cffs {

std::vector<ListedEntry> list_by_name(FileSystem& fs, InodeId directory, Status& problem) {
  std::vector<ListedEntry> entries;
  problem = fs.readdir(directory, 2, false, [&](const DirectoryEntry& e) {
    entries.push_back({std::string(e.name), e.attributes});
    return true;
  });
  std::sort(entries.begin(), entries.end(),
            [](const ListedEntry& a, const ListedEntry& b) { return a.name < b.name; });
  return entries;
}

namespace {

// A directory that was descended into; referenced, but for the start.
struct Opened {
  WalkedFile file;
  std::vector<ListedEntry> entries;
  std::size_t next = 0;
};

class Walk {
 public:
  Walk(FileSystem& fs, const TreeWalker& walker) : fs_(fs), walker_(walker) {}
  ~Walk() {
    while (!open_.empty()) close_last();
  }
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  Status run(const Attributes& start) {
    const WalkedFile first{"", start, 0, start.ino};
    CFFS_TRY(Onward onward, walker_.enter(first));
    if (onward == Onward::descend && S_ISDIR(start.mode)) descend(first);
    while (onward != Onward::end && !open_.empty()) {
      Opened& directory = open_.back();
      if (directory.next == directory.entries.size()) {
        if (walker_.leave) CFFS_TRY_VOID(walker_.leave(directory.file));
        close_last();
        continue;
      }
      const ListedEntry entry = std::move(directory.entries[directory.next++]);
      const WalkedFile& above = directory.file;
      WalkedFile file{above.path.empty() ? entry.name : above.path + "/" + entry.name, entry.attributes,
                      above.depth + 1, above.attributes.ino};
      CFFS_TRY(onward, walker_.enter(file));
      if (onward != Onward::descend || !S_ISDIR(file.attributes.mode)) continue;
      // An entry has no reference; a listing takes one.
      const auto referred = fs_.lookup(above.attributes.ino, entry.name);
      if (!referred) {
        trouble(file, referred.error());
        continue;
      }
      file.attributes = *referred;
      descend(std::move(file));
    }
    return {};
  }

 private:
  void trouble(const WalkedFile& file, const Error& error) const {
    if (walker_.trouble) walker_.trouble(file, error);
  }

  void descend(WalkedFile file) {
    const InodeId ino = file.attributes.ino;
    Opened directory{std::move(file), {}, 0};
    if (!entered_.insert(ino).second) {  // rows of a damaged store may lead in a circle
      trouble(directory.file, Error::corruption("the directory has two names"));
    } else {
      Status problem;
      directory.entries = list_by_name(fs_, ino, problem);
      if (!problem) trouble(directory.file, problem.error());
    }
    open_.push_back(std::move(directory));
  }

  void close_last() {
    if (open_.size() > 1) fs_.forget(open_.back().file.attributes.ino, 1);
    open_.pop_back();
  }

  FileSystem& fs_;
  const TreeWalker& walker_;
  std::vector<Opened> open_;
  std::unordered_set<InodeId> entered_;
};

}  // namespace

Status walk_tree(FileSystem& fs, const Attributes& start, const TreeWalker& walker) {
  return Walk(fs, walker).run(start);
}

}  // namespace cffs
