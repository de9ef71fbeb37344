#include "core/browse/compared_tree.h"
#include "core/browse/tree_path.h"

namespace cffs {
namespace {

// What the store knows of transfers that were killed, in attributes that no mount shows and no export brings.
constexpr std::string_view kOwnNotes = "user.cffs.";

class StoreTreeData final : public TreeData {
 public:
  StoreTreeData(FileSystem& fs, InodeId file) : fs_(fs), file_(file) {}
  ~StoreTreeData() override { fs_.forget(file_, 1); }
  StoreTreeData(const StoreTreeData&) = delete;
  StoreTreeData& operator=(const StoreTreeData&) = delete;
  Result<std::size_t> read(std::uint64_t offset, Bytes out) override { return fs_.read(file_, offset, out); }

 private:
  FileSystem& fs_;
  const InodeId file_;
};

class StoreTree final : public ComparedTree {
 public:
  StoreTree(FileSystem& fs, const Attributes& start) : fs_(fs), start_(start) {}
  ~StoreTree() override {
    for (std::size_t i = 1; i < entered_.size(); ++i) fs_.forget(entered_[i], 1);
    fs_.forget(start_.ino, 1);
  }
  StoreTree(const StoreTree&) = delete;
  StoreTree& operator=(const StoreTree&) = delete;

  const Attributes& start() const override { return start_; }

  Result<std::vector<ListedEntry>> enter(const std::string& directory) override {
    InodeId ino = start_.ino;
    if (!entered_.empty()) {
      CFFS_TRY(const Attributes found, fs_.lookup(entered_.back(), directory));
      ino = found.ino;
    }
    entered_.push_back(ino);
    Status problem;
    auto entries = list_by_name(fs_, ino, problem);
    if (problem) return entries;
    (void)StoreTree::leave();
    return fail(problem.error());
  }
  Status leave() override {
    if (entered_.size() > 1) fs_.forget(entered_.back(), 1);
    entered_.pop_back();
    return {};
  }

  Result<std::unique_ptr<TreeData>> open(const std::string& file) override {
    CFFS_TRY(const InodeId ino, refer(file));
    return std::make_unique<StoreTreeData>(fs_, ino);
  }
  Result<std::string> target(const std::string& link) override {
    return of<std::string>(link, [&](InodeId ino) { return fs_.readlink(ino); });
  }
  Result<Xattrs> xattrs(const std::string& file, mode_t) override {
    return of<Xattrs>(file, [&](InodeId ino) -> Result<Xattrs> {
      CFFS_TRY(const auto names, fs_.listxattr(ino));
      Xattrs found;
      for (const std::string& name : names) {
        if (ino == kRootInode && name.starts_with(kOwnNotes)) continue;
        CFFS_TRY(std::string value, fs_.getxattr(ino, name));
        found.emplace_back(name, std::move(value));
      }
      std::sort(found.begin(), found.end());
      return found;
    });
  }

 private:
  Result<InodeId> refer(const std::string& name) {
    CFFS_TRY(const Attributes found,
             entered_.empty() ? fs_.lookup(start_.ino, ".") : fs_.lookup(entered_.back(), name));
    return found.ino;
  }
  template <typename T, typename Ask>
  Result<T> of(const std::string& name, const Ask& ask) {
    CFFS_TRY(const InodeId ino, refer(name));
    Result<T> answer = ask(ino);
    fs_.forget(ino, 1);
    return answer;
  }

  FileSystem& fs_;
  const Attributes start_;        // referenced
  std::vector<InodeId> entered_;  // the start, and below it what is referenced
};

}  // namespace

Result<std::unique_ptr<ComparedTree>> compared_store_tree(FileSystem& fs, const std::string& path,
                                                          const std::string& name) {
  CFFS_TRY(const Attributes start, find_path(fs, path, LastLink::follow, name));
  return std::make_unique<StoreTree>(fs, start);
}

}  // namespace cffs
