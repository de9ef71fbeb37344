#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <unordered_map>

#include "core/object/file_descriptor.h"
#include "core/transfer/export.h"
#include "core/transfer/tree_visit.h"

namespace cffs {
namespace {

class DirectoryExport {
 public:
  DirectoryExport(FileSystem& fs, std::string destination) : fs_(fs), destination_(std::move(destination)) {}

  Status enter(const VisitedFile& file) {
    const Status done = make(file);
    if (!done) {
      ++report.failed;
      report.problems.push_back(done.error().message());
      // A directory that cannot be made takes its children along: stop there.
      if (S_ISDIR(file.attributes.mode)) return done;
    }
    return {};
  }

  // Directories get their attributes when they are full.
  Status leave(const VisitedFile& file) { return settle(file); }

  ExportReport report;

 private:
  std::string place(const VisitedFile& file) const {
    return file.path.empty() ? destination_ : destination_ + "/" + file.path;
  }

  Status make(const VisitedFile& file) {
    const Attributes& a = file.attributes;
    const std::string path = place(file);
    if (S_ISDIR(a.mode)) {
      if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return fail(errno, path);
      ++report.directories;
      return {};
    }
    if (a.nlink > 1) {
      const auto [it, first] = first_names_.try_emplace(a.ino, path);
      if (!first) {
        if (::link(it->second.c_str(), path.c_str()) != 0) return fail(errno, path);
        return {};
      }
    }
    ++report.files;
    if (S_ISLNK(a.mode)) {
      CFFS_TRY(const std::string target, fs_.readlink(a.ino));
      if (::symlink(target.c_str(), path.c_str()) != 0) return fail(errno, path);
      return settle(file);
    }
    if (!S_ISREG(a.mode)) {
      if (::mknod(path.c_str(), a.mode, a.rdev) != 0) return fail(errno, path);
      return settle(file);
    }
    {
      const FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
      if (!fd) return fail(errno, path);
      CFFS_TRY_VOID(visit_data(fs_, a, [&](std::uint64_t offset, std::string_view bytes) -> Status {
        for (std::size_t done = 0; done < bytes.size();) {
          const ssize_t n =
              ::pwrite(fd.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
          if (n < 0 && errno == EINTR) continue;
          if (n < 0) return fail(errno, path);
          done += static_cast<std::size_t>(n);
        }
        return {};
      }));
      if (::ftruncate(fd.get(), static_cast<off_t>(a.size)) != 0) return fail(errno, path);
    }
    report.bytes += a.size;
    return settle(file);
  }

  Status settle(const VisitedFile& file) {
    const Attributes& a = file.attributes;
    const std::string path = place(file);
    // Owners only where we may set them, as tar and cp do.
    if (::lchown(path.c_str(), a.uid, a.gid) != 0 && ::geteuid() == 0) return fail(errno, path);
    CFFS_TRY(const auto names, fs_.listxattr(a.ino));
    for (const std::string& name : names) {
      CFFS_TRY(const std::string value, fs_.getxattr(a.ino, name));
      if (::lsetxattr(path.c_str(), name.c_str(), value.data(), value.size(), 0) != 0) {
        ++report.failed;
        report.problems.push_back(Error::os(errno, path + ", attribute " + name).message());
      }
    }
    if (!S_ISLNK(a.mode) && ::chmod(path.c_str(), a.mode & 07777) != 0) return fail(errno, path);
    const timespec times[2] = {to_timespec(a.atime_ns), to_timespec(a.mtime_ns)};
    if (::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) return fail(errno, path);
    return {};
  }

  FileSystem& fs_;
  const std::string destination_;
  std::unordered_map<InodeId, std::string> first_names_;
};

}  // namespace

Result<ExportReport> export_directory(FileSystem& fs, const std::string& path,
                                      const std::string& destination) {
  CFFS_TRY(const Attributes start, resolve(fs, path));
  DirectoryExport out(fs, destination);
  if (!S_ISDIR(start.mode)) return fail(ENOTDIR, "'" + path + "' in the store");
  const Status done = visit_tree(
      fs, start, [&](const VisitedFile& f) { return out.enter(f); },
      [&](const VisitedFile& f) { return out.leave(f); });
  fs.forget(start.ino, 1);
  if (!done) return fail(done.error());
  return out.report;
}

}  // namespace cffs
