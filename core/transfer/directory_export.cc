#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <unordered_map>

#include "core/object/beneath.h"
#include "core/object/file_descriptor.h"
#include "core/transfer/export.h"
#include "core/transfer/tree_visit.h"

namespace cffs {
namespace {

// Writes below one directory and nowhere else, whatever the names say and whoever changes that directory meanwhile: each is
// made in a folder's descriptor, and no symbolic link is followed, be it one that was exported before.
class DirectoryExport {
 public:
  DirectoryExport(FileSystem& fs, std::string destination, FileDescriptor root)
      : fs_(fs), destination_(std::move(destination)), root_(std::move(root)), beneath_(root_.get()) {}

  Status enter(const VisitedFile& file) {
    const auto made = make(file);
    if (made && *made == Made::file) ++report.files;
    if (made && *made == Made::directory) ++report.directories;
    if (made) return {};
    report.fail(made.error().message());
    // A directory that cannot be made takes its children along: stop there.
    return S_ISDIR(file.attributes.mode) ? Status(fail(made.error())) : Status();
  }

  // Directories get their attributes when they are full.
  Status leave(const VisitedFile& file) {
    if (const Status done = settle(file); !done) report.fail(done.error().message());
    return {};
  }

  ExportReport report;

 private:
  enum class Made { file, link, directory };
  std::string place(const VisitedFile& file) const {
    return file.path.empty() ? destination_ : destination_ + "/" + file.path;
  }

  // Where a path is made: its folder's descriptor, and its last component ("." of the destination itself).
  struct Spot {
    int folder;
    std::string name;
  };
  Result<Spot> spot(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return Spot{root_.get(), path.empty() ? "." : path};
    const std::string folder = path.substr(0, slash);
    if (!folder_ || folder != folder_path_) {
      folder_ = beneath_.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (!folder_) return fail(errno, destination_ + "/" + folder);
      folder_path_ = folder;
    }
    return Spot{folder_.get(), path.substr(slash + 1)};
  }

  Status make_directory(const VisitedFile& file, const Spot& at) {
    if (file.path.empty() || ::mkdirat(at.folder, at.name.c_str(), 0700) == 0) return {};
    const int reason = errno;
    struct stat st;
    const bool there = reason == EEXIST &&
                       ::fstatat(at.folder, at.name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                       S_ISDIR(st.st_mode);
    return there ? Status() : Status(fail(reason, place(file)));
  }

  // False: it is the file's first name.
  Result<bool> make_link(const VisitedFile& file) {
    const auto [it, first] = first_names_.try_emplace(file.attributes.ino, file.path);
    if (first) return false;
    CFFS_TRY(const Spot from, spot(it->second));
    const FileDescriptor folder(::fcntl(from.folder, F_DUPFD_CLOEXEC, 0));  // the other name may be elsewhere
    CFFS_TRY(const Spot at, spot(file.path));
    if (!folder || ::linkat(folder.get(), from.name.c_str(), at.folder, at.name.c_str(), 0) != 0) {
      return fail(errno, place(file));
    }
    return true;
  }

  Status make_regular(const VisitedFile& file, const Spot& at) {
    const std::string path = place(file);
    const FileDescriptor fd(
        ::openat(at.folder, at.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd) return fail(errno, path);
    CFFS_TRY_VOID(
        visit_data(fs_, file.attributes, [&](std::uint64_t offset, std::string_view bytes) -> Status {
          for (std::size_t done = 0; done < bytes.size();) {
            const ssize_t n = ::pwrite(fd.get(), bytes.data() + done, bytes.size() - done,
                                       static_cast<off_t>(offset + done));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return fail(errno, path);
            done += static_cast<std::size_t>(n);
          }
          return {};
        }));
    if (::ftruncate(fd.get(), static_cast<off_t>(file.attributes.size)) != 0) return fail(errno, path);
    report.bytes += file.attributes.size;
    return {};
  }

  Result<Made> make(const VisitedFile& file) {
    const Attributes& a = file.attributes;
    if (a.nlink > 1 && !S_ISDIR(a.mode)) {
      CFFS_TRY(const bool linked, make_link(file));
      if (linked) return Made::link;
    }
    CFFS_TRY(const Spot at, spot(file.path));
    if (S_ISDIR(a.mode)) {
      CFFS_TRY_VOID(make_directory(file, at));
      return Made::directory;
    }
    if (S_ISLNK(a.mode)) {
      CFFS_TRY(const std::string target, fs_.readlink(a.ino));
      if (::symlinkat(target.c_str(), at.folder, at.name.c_str()) != 0) return fail(errno, place(file));
    } else if (S_ISREG(a.mode)) {
      CFFS_TRY_VOID(make_regular(file, at));
    } else if (::mknodat(at.folder, at.name.c_str(), a.mode, a.rdev) != 0) {
      return fail(errno, place(file));
    }
    CFFS_TRY_VOID(settle(file));
    return Made::file;
  }

  Status settle(const VisitedFile& file) {
    const Attributes& a = file.attributes;
    const std::string path = place(file);
    CFFS_TRY(const Spot at, spot(file.path));
    const char* const name = at.name.c_str();
    // Owners only where we may set them, as tar and cp do.
    if (::fchownat(at.folder, name, a.uid, a.gid, AT_SYMLINK_NOFOLLOW) != 0 && ::geteuid() == 0) {
      return fail(errno, path);
    }
    CFFS_TRY_VOID(set_attributes(file, at));
    if (!S_ISLNK(a.mode) && ::fchmodat(at.folder, name, a.mode & 07777, AT_SYMLINK_NOFOLLOW) != 0) {
      return fail(errno, path);
    }
    const timespec times[2] = {to_timespec(a.atime_ns), to_timespec(a.mtime_ns)};
    if (::utimensat(at.folder, name, times, AT_SYMLINK_NOFOLLOW) != 0) return fail(errno, path);
    return {};
  }

  // There is no call that takes a descriptor of a folder and a name.
  Status set_attributes(const VisitedFile& file, const Spot& at) {
    CFFS_TRY(const auto names, fs_.listxattr(file.attributes.ino));
    const std::string by_folder = "/proc/self/fd/" + std::to_string(at.folder) + "/" + at.name;
    for (const std::string& name : names) {
      CFFS_TRY(const std::string value, fs_.getxattr(file.attributes.ino, name));
      if (::lsetxattr(by_folder.c_str(), name.c_str(), value.data(), value.size(), 0) != 0) {
        report.fail(Error::os(errno, place(file) + ", attribute " + name).message());
      }
    }
    return {};
  }

  FileSystem& fs_;
  const std::string destination_;
  const FileDescriptor root_;
  const Beneath beneath_;
  FileDescriptor folder_;  // the last one that something was made in
  std::string folder_path_;
  std::unordered_map<InodeId, std::string> first_names_;
};

}  // namespace

Result<ExportReport> export_directory(FileSystem& fs, const std::string& path,
                                      const std::string& destination) {
  CFFS_TRY(const Attributes start, resolve(fs, path));
  if (!S_ISDIR(start.mode)) return fail(ENOTDIR, "'" + path + "' in the store");
  if (::mkdir(destination.c_str(), 0700) != 0 && errno != EEXIST) return fail(errno, destination);
  FileDescriptor root(::open(destination.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return fail(errno, destination);
  DirectoryExport out(fs, destination, std::move(root));
  const Status done = visit_tree(
      fs, start, [&](const VisitedFile& f) { return out.enter(f); },
      [&](const VisitedFile& f) { return out.leave(f); });
  fs.forget(start.ino, 1);
  if (!done) return fail(done.error());
  return out.report;
}

}  // namespace cffs
