#include "bench/disk/slow_disk.h"

#define FUSE_USE_VERSION 314
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <map>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/disk/disk_profile.h"
#include "core/base/mutex.h"
#include "core/object/file_descriptor.h"
#include "fusefs/connection.h"

namespace cffs::bench {
namespace {

constexpr fuse_ino_t kDisk = 2;
constexpr double kForEver = 1e9;
constexpr const char* kName = "disk";
constexpr const char* kPace = "user.cffs.pace";
constexpr std::string_view kAtOnce = "at once", kModelled = "modelled";

std::int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// Replies when the model says that a request is done.
class Completer {
 public:
  explicit Completer(std::unique_ptr<DiskModel> model) : model_(std::move(model)) {
    thread_ = std::thread([this] { work(); });
  }
  ~Completer() {
    {
      const MutexLock guard(mutex_);
      over_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  void submit(DiskRequest request, std::function<void()> reply) {
    const MutexLock guard(mutex_);
    request.id = ++last_id_;
    replies_.emplace(request.id, std::move(reply));
    model_->advance(now_ns(), completed_);
    model_->submit(now_ns(), request);
    wake_.notify_one();
  }

 private:
  void work() {
    (void)::prctl(PR_SET_TIMERSLACK, 1UL);
    MutexLock lock(mutex_);
    std::vector<std::function<void()>> ready;
    for (;;) {
      model_->advance(now_ns(), completed_);
      for (const std::uint64_t id : completed_) {
        const auto it = replies_.find(id);
        ready.push_back(std::move(it->second));
        replies_.erase(it);
      }
      completed_.clear();
      if (!ready.empty()) {
        lock.unlock();
        for (const auto& reply : ready) reply();
        ready.clear();
        lock.lock();
        continue;
      }
      if (over_ && replies_.empty()) return;
      const std::int64_t next = model_->next_event_ns();
      if (next == DiskModel::kNever) {
        wake_.wait(mutex_);
      } else {
        (void)wake_.wait_until(mutex_, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(next)));
      }
    }
  }

  Mutex mutex_;  // leaf; not held while a reply is sent
  CondVar wake_;
  const std::unique_ptr<DiskModel> model_ CFFS_PT_GUARDED_BY(mutex_);
  std::map<std::uint64_t, std::function<void()>> replies_ CFFS_GUARDED_BY(mutex_);
  std::vector<std::uint64_t> completed_ CFFS_GUARDED_BY(mutex_);
  std::uint64_t last_id_ CFFS_GUARDED_BY(mutex_) = 0;
  bool over_ CFFS_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

struct Disk {
  FileDescriptor image;
  std::uint64_t bytes = 0;
  Completer* completer = nullptr;
  bool at_once = false;  // requests are answered when they come; one thread serves

  void answer(DiskRequest request, std::function<void()> reply) {
    if (at_once) return reply();
    completer->submit(request, std::move(reply));
  }
};

Disk& disk_of(fuse_req_t req) { return *static_cast<Disk*>(fuse_req_userdata(req)); }

bool attributes_of(const Disk& disk, fuse_ino_t node, struct stat& st) {
  st = {};
  st.st_ino = node;
  if (node == FUSE_ROOT_ID) {
    st.st_mode = S_IFDIR | 0755;
    st.st_nlink = 2;
  } else if (node == kDisk) {
    st.st_mode = S_IFREG | 0600;
    st.st_nlink = 1;
    st.st_size = static_cast<off_t>(disk.bytes);
    st.st_blksize = 4096;
  } else {
    return false;
  }
  return true;
}

void init(void*, fuse_conn_info* conn) {
  const auto want = [conn](unsigned flag) {
    if ((conn->capable & flag) != 0) conn->want |= flag;
  };
  conn->want &= ~static_cast<unsigned>(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE |
                                       FUSE_CAP_WRITEBACK_CACHE);
  want(FUSE_CAP_ASYNC_READ);
  want(FUSE_CAP_ASYNC_DIO);
  conn->max_write = 1u << 20;
  conn->max_background = 256;
  conn->congestion_threshold = 256;
}

void lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
  fuse_entry_param entry{};
  if (parent != FUSE_ROOT_ID || std::strcmp(name, kName) != 0) {
    fuse_reply_err(req, ENOENT);
    return;
  }
  entry.ino = kDisk;
  (void)attributes_of(disk_of(req), kDisk, entry.attr);
  entry.attr_timeout = entry.entry_timeout = kForEver;
  fuse_reply_entry(req, &entry);
}

void getattr(fuse_req_t req, fuse_ino_t node, fuse_file_info*) {
  struct stat st;
  if (attributes_of(disk_of(req), node, st)) {
    fuse_reply_attr(req, &st, kForEver);
  } else {
    fuse_reply_err(req, ENOENT);
  }
}

void readdir(fuse_req_t req, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info*) {
  std::vector<char> buffer(size);
  std::size_t used = 0;
  if (offset == 0) {
    struct stat st;
    (void)attributes_of(disk_of(req), kDisk, st);
    used = fuse_add_direntry(req, buffer.data(), size, kName, &st, 1);
  }
  fuse_reply_buf(req, buffer.data(), used <= size ? used : 0);
}

void open(fuse_req_t req, fuse_ino_t node, fuse_file_info* file) {
  if (node != kDisk) {
    fuse_reply_err(req, EISDIR);
    return;
  }
  file->direct_io = 1;  // nothing of it in the page cache: every access is the disk's
  fuse_reply_open(req, file);
}

void read(fuse_req_t req, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info*) {
  Disk& disk = disk_of(req);
  auto bytes = std::make_shared<std::vector<char>>(size);
  const ssize_t n = ::pread(disk.image.get(), bytes->data(), size, offset);
  if (n < 0) {
    fuse_reply_err(req, errno);
    return;
  }
  const auto got = static_cast<std::size_t>(n);
  disk.answer({DiskRequest::Kind::read, 0, static_cast<std::uint64_t>(offset), size},
              [req, bytes, got] { fuse_reply_buf(req, bytes->data(), got); });
}

void write(fuse_req_t req, fuse_ino_t, const char* data, std::size_t size, off_t offset, fuse_file_info*) {
  Disk& disk = disk_of(req);
  if (static_cast<std::uint64_t>(offset) + size > disk.bytes) {
    fuse_reply_err(req, ENOSPC);
    return;
  }
  const ssize_t n = ::pwrite(disk.image.get(), data, size, offset);
  if (n < 0) {
    fuse_reply_err(req, errno);
    return;
  }
  const auto written = static_cast<std::size_t>(n);
  disk.answer({DiskRequest::Kind::write, 0, static_cast<std::uint64_t>(offset), size},
              [req, written] { fuse_reply_write(req, written); });
}

void fsync(fuse_req_t req, fuse_ino_t, int, fuse_file_info*) {
  disk_of(req).answer({DiskRequest::Kind::flush, 0, 0, 0}, [req] { fuse_reply_err(req, 0); });
}

void setxattr(fuse_req_t req, fuse_ino_t node, const char* name, const char* value, std::size_t size, int) {
  const std::string_view wanted(value, size);
  if (node != kDisk || std::strcmp(name, kPace) != 0) {
    fuse_reply_err(req, ENOTSUP);
  } else if (wanted != kAtOnce && wanted != kModelled) {
    fuse_reply_err(req, EINVAL);
  } else {
    disk_of(req).at_once = wanted == kAtOnce;
    fuse_reply_err(req, 0);
  }
}

// Discarded ranges take no room in the image; discards cost no time.
void fallocate(fuse_req_t req, fuse_ino_t, int mode, off_t offset, off_t length, fuse_file_info*) {
  const int done = ::fallocate(disk_of(req).image.get(), mode, offset, length);
  fuse_reply_err(req, done == 0 ? 0 : errno);
}

}  // namespace

Status set_pace(const std::string& mount_point, bool at_once) {
  const std::string disk = mount_point + "/" + kName;
  const std::string_view pace = at_once ? kAtOnce : kModelled;
  if (::setxattr(disk.c_str(), kPace, pace.data(), pace.size(), 0) != 0) return fail(errno, disk);
  return {};
}

Status serve_disk(const std::string& profile, const std::string& image, const std::string& mount_point) {
  Disk disk;
  disk.image = FileDescriptor(::open(image.c_str(), O_RDWR | O_CLOEXEC));
  struct stat st;
  if (!disk.image || ::fstat(disk.image.get(), &st) != 0) return fail(errno, "image " + image);
  if (!S_ISREG(st.st_mode) || st.st_size == 0) {
    return fail(Error::usage("image " + image + " is not a file with a size; make it with truncate -s SIZE"));
  }
  disk.bytes = static_cast<std::uint64_t>(st.st_size);
  CFFS_TRY(auto model, make_disk_model(profile, disk.bytes));
  if (!model) return fail(Error::usage("disk raw is the machine's own; a model is cloud or hdd"));
  (void)::prctl(PR_SET_IO_FLUSHER, 1UL, 0UL, 0UL, 0UL);  // file systems above wait for this process

  fuse_lowlevel_ops ops{};
  ops.init = init;
  ops.lookup = lookup;
  ops.getattr = getattr;
  ops.readdir = readdir;
  ops.open = open;
  ops.read = read;
  ops.write = write;
  ops.fsync = fsync;
  ops.setxattr = setxattr;
  ops.fallocate = fallocate;
  std::vector<std::string> words{"disk", "-o", "subtype=disk,fsname=" + profile};
  fuse_session* session = new_session(std::move(words), ops, &disk);
  if (session == nullptr || fuse_session_mount(session, mount_point.c_str()) != 0) {
    if (session != nullptr) fuse_session_destroy(session);
    return fail(Error::usage("cannot mount on " + mount_point + "; is /dev/fuse there, and may you use it? cffs doctor says what lacks"));
  }
  {
    Completer completer(std::move(model));
    disk.completer = &completer;
    (void)fuse_session_loop(session);
  }
  fuse_session_unmount(session);
  fuse_session_destroy(session);
  return {};
}

}  // namespace cffs::bench
