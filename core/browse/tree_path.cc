#include "core/browse/tree_path.h"

#include <vector>

#include "core/base/printable.h"

namespace cffs {
namespace {

constexpr int kMostLinks = 40;  // as Linux has it

std::vector<std::string> components(const std::string& path) {
  std::vector<std::string> names;
  for (std::size_t from = 0; from < path.size();) {
    const std::size_t slash = std::min(path.find('/', from), path.size());
    if (slash > from) names.push_back(path.substr(from, slash - from));
    from = slash + 1;
  }
  return names;
}

// The directories from the root down to where the path has come, each with a reference.
class Descent {
 public:
  explicit Descent(FileSystem& fs) : fs_(fs) {}
  ~Descent() {
    for (const InodeId ino : above_) fs_.forget(ino, 1);
  }
  Descent(const Descent&) = delete;
  Descent& operator=(const Descent&) = delete;
  InodeId here() const { return above_.empty() ? kRootInode : above_.back(); }
  bool at_root() const { return above_.empty(); }
  void enter(InodeId directory) { above_.push_back(directory); }
  void climb() {
    fs_.forget(above_.back(), 1);
    above_.pop_back();
  }

 private:
  FileSystem& fs_;
  std::vector<InodeId> above_;
};

}  // namespace

Result<Attributes> find_path(FileSystem& fs, const std::string& path, LastLink last,
                             const std::string& named) {
  const std::string shown = printable(named);
  std::vector<std::string> coming = components(path);
  std::reverse(coming.begin(), coming.end());
  const bool wants_directory = path.ends_with('/');
  Descent descent(fs);
  int links = 0;
  bool from_link = false;
  while (!coming.empty()) {
    const std::string name = coming.back();
    coming.pop_back();
    if (name == ".") continue;
    if (name == "..") {
      if (!descent.at_root()) {
        descent.climb();
      } else if (from_link) {
        return fail(Error::usage(shown + ": a symbolic link on the way leads out of the store"));
      }
      continue;
    }
    auto next = fs.lookup(descent.here(), name);
    if (!next) {
      if (next.error().kind != ErrorKind::os) return fail(next.error());
      return fail(next.error().errno_value, shown);
    }
    const bool is_last = coming.empty();
    if (S_ISLNK(next->mode) && (!is_last || last == LastLink::follow || wants_directory)) {
      auto target = fs.readlink(next->ino);
      fs.forget(next->ino, 1);
      if (!target) return fail(target.error());
      if (++links > kMostLinks) return fail(ELOOP, shown);
      if (target->starts_with('/')) {
        return fail(Error::usage(shown + ": the symbolic link '" + printable(name) + "' leads to " +
                                 printable(*target) + ", which is out of the store"));
      }
      std::vector<std::string> names = components(*target);
      coming.insert(coming.end(), names.rbegin(), names.rend());
      from_link = true;
      continue;
    }
    if (S_ISDIR(next->mode)) {
      descent.enter(next->ino);
      continue;
    }
    if (is_last && !wants_directory) return next;
    fs.forget(next->ino, 1);
    return fail(ENOTDIR, shown);
  }
  return fs.lookup(descent.here(), ".");
}

}  // namespace cffs
