#include <sys/stat.h>

#include <memory>
#include <unordered_map>
#include <vector>

#include "core/transfer/directory_destination.h"
#include "core/transfer/export.h"
#include "core/transfer/import_target.h"
#include "core/transfer/tree_visit.h"

namespace cffs {
namespace {

ExportReport report_of(const ImportReport& r) {
  ExportReport out;
  static_cast<Failures&>(out) = r;
  out.files = r.files + r.symlinks + r.links + r.specials;
  out.directories = r.directories;
  out.bytes = r.bytes;
  out.same = r.same;
  out.same_bytes = r.same_bytes;
  out.updated = r.updated;
  out.removed = r.removed;
  out.left_over = r.left_over;
  out.out_of_room = r.out_of_room;
  out.interrupted = r.interrupted;
  return out;
}

// Gives a store's tree to who takes imports.
class StoreSource {
 public:
  StoreSource(FileSystem& fs, std::string shown, ImportTarget& target)
      : fs_(fs), shown_(std::move(shown)), target_(target) {}

  // Ends the visit where there is no more room.
  Status enter(const VisitedFile& file) {
    if (target_.stopped()) return fail(ENOSPC);
    const Status done = S_ISDIR(file.attributes.mode) ? directory(file) : give(file);
    if (!done) {
      const bool whole = done.error().kind == ErrorKind::usage;  // names the file itself
      const std::string problem =
          whole ? done.error().message() : "'" + file.path + "': " + done.error().message();
      if (S_ISDIR(file.attributes.mode)) {
        target_.failed(problem);
      } else {
        target_.did_not_come(levels_.back().made, name_of(file), problem);
      }
    }
    return {};
  }
  bool descends() const { return last_was_made_; }
  void listed(const VisitedFile& file, const std::set<std::string, std::less<>>& names) {
    if (target_.rules().erase) target_.only(levels_.back().made, file.path, names);
  }
  Status leave(const VisitedFile&) {
    levels_.pop_back();
    return {};
  }

 private:
  struct Level {
    InodeId from, made;
  };
  struct Forget {
    FileSystem* fs;
    void operator()(const InodeId* ino) const {
      fs->forget(*ino, 1);
      delete ino;
    }
  };

  static std::string name_of(const VisitedFile& file) { return file.path.substr(file.path.rfind('/') + 1); }

  Result<Inode> inode_of(const Attributes& a) {
    Inode inode;
    inode.mode = a.mode;
    inode.uid = a.uid;
    inode.gid = a.gid;
    inode.rdev = a.rdev;
    inode.size = S_ISREG(a.mode) ? a.size : 0;
    inode.atime_ns = a.atime_ns;
    inode.mtime_ns = a.mtime_ns;
    CFFS_TRY(const auto names, fs_.listxattr(a.ino));
    for (const std::string& name : names) {
      CFFS_TRY(std::string value, fs_.getxattr(a.ino, name));
      inode.xattrs.emplace_back(name, std::move(value));
    }
    return inode;
  }

  Status directory(const VisitedFile& file) {
    last_was_made_ = false;
    CFFS_TRY(const Inode attributes, inode_of(file.attributes));
    InodeId made = target_.root();
    if (file.path.empty()) {
      target_.directory_attributes(made, attributes);
    } else {
      CFFS_TRY(made, target_.directory(levels_.back().made, name_of(file), attributes));
    }
    levels_.push_back({file.attributes.ino, made});
    last_was_made_ = true;
    return {};
  }

  Status give(const VisitedFile& file) {
    const Attributes& a = file.attributes;
    const InodeId parent = levels_.back().made;
    const std::string name = name_of(file);
    if (a.nlink > 1) {
      const auto [it, first] = first_names_.try_emplace(a.ino, parent, name);
      if (!first) {
        target_.hard_link(parent, name, it->second.first, it->second.second);
        return {};
      }
    }
    CFFS_TRY(Inode attributes, inode_of(a));
    if (S_ISLNK(a.mode)) {
      CFFS_TRY(attributes.target, fs_.readlink(a.ino));
      target_.symlink(parent, name, attributes);
    } else if (!S_ISREG(a.mode)) {
      target_.special(parent, name, attributes);
    } else {
      CFFS_TRY_VOID(regular(file, parent, name, std::move(attributes)));
    }
    return {};
  }

  // A worker reads it when the visit is elsewhere, so it has a reference of its own.
  Status regular(const VisitedFile& file, InodeId parent, const std::string& name, Inode attributes) {
    CFFS_TRY(const Attributes again, fs_.lookup(levels_.back().from, name));
    const std::shared_ptr<const InodeId> held(new InodeId(again.ino), Forget{&fs_});
    const auto copy = [this, held, a = file.attributes, path = shown_ + file.path](const WriteAt& write) {
      Status from_there;
      const Status done = visit_data(fs_, a, [&](std::uint64_t offset, std::string_view bytes) {
        from_there = write(offset, bytes);
        return from_there;
      });
      // What could not be read is named as the store has it.
      if (!done && from_there)
        return Status(fail(Error::usage(path + " in the store: " + done.error().message())));
      return done;
    };
    const auto same = [this, held, size = attributes.size](const ReadAt& there) {
      std::string here(std::min<std::uint64_t>(size, 1u << 20), '\0'), other = here;
      for (std::uint64_t at = 0; at < size;) {
        const auto n = fs_.read(*held, at, as_writable_bytes(here));
        if (!n || *n == 0) return false;
        const auto m = there(at, as_writable_bytes(other).first(*n));
        if (!m || *m != *n || here.compare(0, *n, other, 0, *n) != 0) return false;
        at += *n;
      }
      return true;
    };
    target_.large_file(parent, name, std::move(attributes), copy, same);
    return {};
  }

  FileSystem& fs_;
  const std::string shown_;
  ImportTarget& target_;
  std::vector<Level> levels_;
  bool last_was_made_ = false;
  std::unordered_map<InodeId, std::pair<InodeId, std::string>> first_names_;
};

}  // namespace

Result<ExportReport> export_directory(FileSystem& fs, const std::string& path, const std::string& destination,
                                      const ImportRules& rules, unsigned jobs,
                                      const ExportProgress& on_progress) {
  CFFS_TRY(const Attributes start, resolve(fs, path));
  const std::shared_ptr<void> held(nullptr, [&](void*) { fs.forget(start.ino, 1); });
  if (!S_ISDIR(start.mode)) return fail(ENOTDIR, "'" + path + "' in the store");
  CFFS_TRY(auto to, DirectoryDestination::at(destination, true));
  ImportTarget target(
      std::move(to), jobs,
      [&](const ImportReport& r) {
        if (on_progress) on_progress(report_of(r));
      },
      rules);
  CFFS_TRY_VOID(target.begin_at(""));
  StoreSource source(fs, path.empty() || path.ends_with('/') ? path : path + "/", target);
  VisitChoice choice;
  choice.excludes = &rules.excludes;
  choice.descend = [&](const VisitedFile&) { return source.descends(); };
  choice.listed = [&](const VisitedFile& f, const auto& names) { source.listed(f, names); };
  const Status visited = visit_tree(
      fs, start, [&](const VisitedFile& f) { return source.enter(f); },
      [&](const VisitedFile& f) { return source.leave(f); }, choice);
  CFFS_TRY(const ImportReport report, target.finish());
  if (!visited && !target.stopped()) return fail(visited.error());
  return report_of(report);
}

}  // namespace cffs
