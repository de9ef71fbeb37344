// Through a mount, so that the kernel keeps what it is told: directories by READDIRPLUS, which brings names and attributes of many files at
// a time; ACLs, which it brings not, one by one; data in the order in which it lies, behind a reader of the store below.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <optional>
#include <thread>

#include "core/base/mutex.h"
#include "core/base/parallel.h"
#include "core/base/thread.h"
#include "core/base/within_memory.h"
#include "core/object/file_descriptor.h"
#include "core/warm/warming.h"

namespace cffs {
namespace {

// What a name that the kernel knows takes, of the kernel's memory and the daemon's, about.
constexpr std::uint64_t kNameBytes = 2048;
// Data is there twice for a while: the kernel has it for the mount, and below the daemon for the store.
constexpr std::uint64_t kCopies = 2;

// A name of the mount, as it was listed.
struct MountFile {
  std::size_t directory = 0;
  std::string name;  // empty: the directory's own path is a file's
  mode_t mode = 0;
  bool has_holes = false;
  std::uint64_t ino = 0, size = 0;
  std::uint64_t place = 0;  // by which files are read

  MountFile(std::size_t in, std::string called) : directory(in), name(std::move(called)) {}
  void take(const struct stat& st) {
    mode = st.st_mode;
    ino = st.st_ino;
    size = static_cast<std::uint64_t>(st.st_size);
    has_holes = static_cast<std::uint64_t>(st.st_blocks) * 512 < size;
  }
};

class MountWarming {
 public:
  explicit MountWarming(const WarmOptions& options) : options_(options) {}

  Status add(const std::string& path) {
    struct stat st;
    if (::stat(path.c_str(), &st) != 0) return fail(errno, path);
    device_ = st.st_dev;
    directories_.push_back(path);
    if (!S_ISDIR(st.st_mode)) {
      MountFile self(directories_.size() - 1, "");
      self.take(st);
      ask_about(self);
      note(std::move(self));
      directory_done_ = directories_.size();
      return {};
    }
    ++report_.directories;
    while (directory_done_ < directories_.size() && !report_.memory_full) {
      if (options_.go_on && !options_.go_on()) return fail(EINTR);
      list_some();
      if (options_.on_progress) options_.on_progress(report_);
    }
    return {};
  }

  // Those that lie one behind the other one after the other; without an order those that were made so, which lie so mostly.
  void sort_files(const DataOrder& order) {
    for (MountFile& file : files_) {
      const auto known = order.find(file.ino);
      file.place = known == order.end() ? file.ino : known->second;
    }
    std::sort(files_.begin(), files_.end(),
              [](const MountFile& a, const MountFile& b) { return a.place < b.place; });
  }

  Status read() {
    for (const MountFile& file : files_) report_.bytes_in_all += file.size;
    // In steps, between which the caller hears of it.
    constexpr std::uint64_t kStepBytes = 8u << 20;
    constexpr std::size_t kStepFiles = 1024;
    for (std::size_t first = 0; first < files_.size();) {
      if (options_.go_on && !options_.go_on()) return fail(EINTR);
      std::size_t end = first;
      std::uint64_t bytes = 0;
      while (end < files_.size() && bytes < kStepBytes && end - first < kStepFiles)
        bytes += files_[end++].size;
      // A file that is larger than all that is left is not begun.
      if (names_bytes() + kCopies * (report_.bytes + bytes) > options_.most_bytes) {
        report_.memory_full = true;
        return {};
      }
      in_parallel(end - first, options_.jobs, [&](std::size_t i) { read_file(files_[first + i]); });
      report_.bytes += bytes;
      first = end;
      if (options_.on_progress) options_.on_progress(report_);
    }
    return {};
  }

  WarmReport report() const { return report_; }

 private:
  std::uint64_t names_bytes() const { return report_.names * kNameBytes; }

  void failed(const std::string& path) {
    const int reason = errno;
    const MutexLock guard(mutex_);
    report_.fail(Error::os(reason, path).message());
  }

  // The next of the directories that are known, several at a time; then what READDIRPLUS does not bring of their names.
  void list_some() {
    constexpr std::size_t kMostAtOnce = 256;
    const std::size_t first = directory_done_;
    const std::size_t count = std::min(directories_.size() - first, kMostAtOnce);
    std::vector<std::vector<MountFile>> lists(count);
    in_parallel(count, options_.jobs, [&](std::size_t i) { lists[i] = list(first + i); });
    directory_done_ += count;
    std::vector<MountFile> names;
    for (std::vector<MountFile>& list : lists) std::move(list.begin(), list.end(), std::back_inserter(names));
    constexpr std::size_t kPiece = 64;
    in_parallel((names.size() + kPiece - 1) / kPiece, options_.jobs, [&](std::size_t piece) {
      const std::size_t end = std::min(names.size(), (piece + 1) * kPiece);
      for (std::size_t i = piece * kPiece; i < end; ++i) ask_about(names[i]);
    });
    for (MountFile& name : names) note(std::move(name));
  }

  std::vector<MountFile> list(std::size_t directory) {
    std::vector<MountFile> names;
    const std::string& path = directories_[directory];
    DIR* const stream = ::opendir(path.c_str());
    if (stream == nullptr) {
      failed(path);
      return names;
    }
    const int fd = ::dirfd(stream);
    ask_for_acl(path, true);
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(stream);
      if (entry == nullptr) {
        if (errno != 0) failed(path);
        break;
      }
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      struct stat st;
      if (::fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT) failed(path + "/" + entry->d_name);
        continue;
      }
      if (st.st_dev != device_) continue;  // another mount in this one
      if (listed_.fetch_add(1) * kNameBytes > options_.most_bytes) break;
      names.emplace_back(directory, entry->d_name).take(st);
    }
    refresh_attributes(fd);
    ::closedir(stream);
    return names;
  }

  // To the kernel an access time is old once something was read, though it is not: who asks for all attributes, as lstat(2) does, would
  // ask the daemon.
  static void refresh_attributes(int fd) {
    struct stat st;
    (void)::fstat(fd, &st);
  }

  std::string path_of(const MountFile& file) const {
    return file.name.empty() ? directories_[file.directory] : directories_[file.directory] + "/" + file.name;
  }

  void note(MountFile&& file) {
    ++report_.names;
    if (names_bytes() > options_.most_bytes) report_.memory_full = true;
    if (S_ISDIR(file.mode)) {
      ++report_.directories;
      directories_.push_back(path_of(file));
    } else if (S_ISREG(file.mode) && file.size > 0 && !options_.metadata_only) {
      files_.push_back(std::move(file));
    }
  }

  void ask_about(const MountFile& file) {
    if (S_ISDIR(file.mode)) return;  // when it is listed
    const std::string path = path_of(file);
    if (!S_ISLNK(file.mode)) return ask_for_acl(path, false);
    char target[4096];
    if (::readlink(path.c_str(), target, sizeof target) < 0 && errno != ENOENT) failed(path);
    struct stat again;
    (void)::lstat(path.c_str(), &again);  // as in refresh_attributes()
  }

  // `ls -l` asks for it, and the kernel itself where somebody else than root opens the file; it remembers that there is none.
  static void ask_for_acl(const std::string& path, bool directory) {
    char value[1];
    (void)::lgetxattr(path.c_str(), "system.posix_acl_access", value, 0);
    if (directory) (void)::lgetxattr(path.c_str(), "system.posix_acl_default", value, 0);
  }

  // Access times stay what they are, where we may say so.
  void read_file(const MountFile& file) {
    const std::string path = path_of(file);
    constexpr int kHow = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    FileDescriptor fd(::open(path.c_str(), kHow | O_NOATIME));
    if (!fd && errno == EPERM) fd = FileDescriptor(::open(path.c_str(), kHow));
    if (!fd) {
      if (errno != ENOENT) failed(path);
      return;
    }
    thread_local std::string buffer(1u << 20, '\0');
    for (std::uint64_t at = 0; at < file.size;) {
      if (options_.go_on && !options_.go_on()) return;
      std::uint64_t end = file.size;
      if (file.has_holes && file.size > buffer.size()) {
        const off_t data = ::lseek(fd.get(), static_cast<off_t>(at), SEEK_DATA);
        if (data < 0) break;
        at = static_cast<std::uint64_t>(data);
        const off_t hole = ::lseek(fd.get(), data, SEEK_HOLE);
        if (hole > data) end = static_cast<std::uint64_t>(hole);
      }
      const ssize_t n = ::pread(fd.get(), buffer.data(), std::min<std::uint64_t>(buffer.size(), end - at),
                                static_cast<off_t>(at));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) failed(path);
      if (n <= 0) break;
      at += static_cast<std::uint64_t>(n);
    }
    refresh_attributes(fd.get());
  }

  const WarmOptions& options_;
  dev_t device_ = 0;
  std::vector<std::string> directories_;
  std::size_t directory_done_ = 0;
  std::atomic<std::uint64_t> listed_{0};
  std::vector<MountFile> files_;
  Mutex mutex_;  // leaf: problems, of those who work
  WarmReport report_;
};

// Brings what the daemon will read into memory ahead of it: from front to back, as a device likes it, while requests take their time. What
// it cannot read the mount's reader will tell of.
class ReadAheadBelow {
 public:
  ReadAheadBelow(const StoreBelow& below, const WarmOptions& options) {
    WarmOptions own;
    own.metadata_only = options.metadata_only;
    own.most_bytes = options.most_bytes / kCopies;
    own.go_on = [this] { return !ended_.load(std::memory_order_relaxed); };
    auto thread = make_thread("the thread that reads ahead", [&below, own = std::move(own)] {
      (void)within_memory([&] { return warm_store(below.objects, below.fs, below.paths, own); });
    });
    if (thread) thread_ = std::move(*thread);  // without it everything is read when it is asked for
  }
  ~ReadAheadBelow() {
    ended_ = true;
    if (thread_.joinable()) thread_.join();
  }
  ReadAheadBelow(const ReadAheadBelow&) = delete;
  ReadAheadBelow& operator=(const ReadAheadBelow&) = delete;

 private:
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace

Result<WarmReport> warm_mount(const std::vector<std::string>& paths, const StoreBelow* below,
                              const WarmOptions& options) {
  std::optional<ReadAheadBelow> ahead;
  if (below != nullptr) ahead.emplace(*below, options);
  MountWarming warming(options);
  for (const std::string& path : paths) CFFS_TRY_VOID(warming.add(path));
  if (options.metadata_only || warming.report().memory_full) return warming.report();
  const DataOrder order = below != nullptr
                              ? find_data_order(below->fs, below->paths, options.go_on).value_or(DataOrder())
                              : DataOrder();
  warming.sort_files(order);
  CFFS_TRY_VOID(warming.read());
  return warming.report();
}

}  // namespace cffs
