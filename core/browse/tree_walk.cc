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

// A directory that was descended into; referenced, but for the start. Its path is the beginning of that of what is walked: with one for
// each level, a deep tree would take the square of its depth.
struct Opened {
  Attributes attributes;
  InodeId parent;
  std::size_t path_bytes = 0;
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
    file_ = {"", start, 0, start.ino};
    CFFS_TRY(Onward onward, walker_.enter(file_));
    if (onward == Onward::descend && S_ISDIR(start.mode)) descend();
    while (onward != Onward::end && !open_.empty()) {
      Opened& directory = open_.back();
      if (directory.next == directory.entries.size()) {
        file_.path.resize(directory.path_bytes);
        file_.attributes = directory.attributes;
        file_.depth = static_cast<unsigned>(open_.size() - 1);
        file_.parent = directory.parent;
        if (walker_.leave) CFFS_TRY_VOID(walker_.leave(file_));
        close_last();
        continue;
      }
      const ListedEntry entry = std::move(directory.entries[directory.next++]);
      file_.path.resize(directory.path_bytes);
      if (!file_.path.empty()) file_.path += '/';
      file_.path += entry.name;
      file_.attributes = entry.attributes;
      file_.depth = static_cast<unsigned>(open_.size());
      file_.parent = directory.attributes.ino;
      CFFS_TRY(onward, walker_.enter(file_));
      if (onward != Onward::descend || !S_ISDIR(file_.attributes.mode)) continue;
      // An entry has no reference; a listing takes one.
      const auto referred = fs_.lookup(file_.parent, entry.name);
      if (!referred) {
        trouble(referred.error());
        continue;
      }
      file_.attributes = *referred;
      descend();
    }
    return {};
  }

 private:
  void trouble(const Error& error) const {
    if (walker_.trouble) walker_.trouble(file_, error);
  }

  // Into file_.
  void descend() {
    const InodeId ino = file_.attributes.ino;
    Opened directory{file_.attributes, file_.parent, file_.path.size(), {}, 0};
    if (!entered_.insert(ino).second) {  // rows of a damaged store may lead in a circle
      trouble(Error::corruption("the directory has two names"));
    } else {
      Status problem;
      directory.entries = list_by_name(fs_, ino, problem);
      if (!problem) trouble(problem.error());
    }
    open_.push_back(std::move(directory));
  }

  void close_last() {
    if (open_.size() > 1) fs_.forget(open_.back().attributes.ino, 1);
    open_.pop_back();
  }

  FileSystem& fs_;
  const TreeWalker& walker_;
  WalkedFile file_;  // that the walk is at
  std::vector<Opened> open_;
  std::unordered_set<InodeId> entered_;
};

}  // namespace

Status walk_tree(FileSystem& fs, const Attributes& start, const TreeWalker& walker) {
  return Walk(fs, walker).run(start);
}

}  // namespace cffs
