#include "core/region/file_device.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "core/object/blocking_section.h"
#include "core/object/page_cache_io.h"
#include "core/region/incarnation.h"

namespace cffs {
namespace {

constexpr std::uint64_t kPage = 4096;

DeviceRange whole_pages(DeviceRange range) {
  const std::uint64_t begin = range.offset / kPage * kPage;
  return {begin, (range.offset + range.length + kPage - 1) / kPage * kPage - begin};
}

}  // namespace

class FileDevice::Lock final : public StoreLock {
 public:
  Lock(FileDevice& device, FileDescriptor fd) : device_(device), fd_(std::move(fd)) {}
  ~Lock() override { device_.lend(); }

 private:
  FileDevice& device_;
  FileDescriptor fd_;  // closing releases the flock, also when the process is killed
};

Result<std::unique_ptr<FileDevice>> FileDevice::open(const std::string& path, Access access, Owners owners) {
  const int how = (access == Access::read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK;
  FileDescriptor fd(::open(path.c_str(), how));
  struct stat st;
  if (!fd || ::fstat(fd.get(), &st) != 0) return fail(errno, path);
  if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
    return fail(Error::usage(path + " is neither an image file nor a block device"));
  const bool own = st.st_uid == 0 || st.st_uid == ::geteuid();
  if (!own && owners == Owners::own) {
    return fail(Error{ErrorKind::usage, EPERM,
                      "store " + path + " is not yours: it belongs to user " + std::to_string(st.st_uid) +
                          ", who may have put anything into it; if you trust them, say --foreign-owner"});
  }
  std::unique_ptr<FileDevice> device(new FileDevice(path, std::move(fd), access));
  device->is_private_ = own && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  device->is_block_device_ = S_ISBLK(st.st_mode);
  device->size_ = static_cast<std::uint64_t>(st.st_size);
  if (S_ISBLK(st.st_mode) && ::ioctl(device->fd_.get(), BLKGETSIZE64, &device->size_) != 0)
    return fail(errno, path);
  device->incarnation_ = incarnation_of(device->fd_.get(), st);
  (void)::posix_fadvise(device->fd_.get(), 0, 0, POSIX_FADV_RANDOM);  // who reads ahead says so
  if (access == Access::read_write && device->size_ > 0) {
    void* at = ::mmap(nullptr, device->size_, PROT_READ, MAP_SHARED | MAP_NORESERVE, device->fd_.get(), 0);
    if (at != MAP_FAILED) device->mapping_ = at;  // else flush() takes the whole device
  }
  return device;
}

FileDevice::~FileDevice() {
  if (mapping_ != nullptr) (void)::munmap(mapping_, size_);
}

Status FileDevice::whole(ssize_t n, std::uint64_t offset, std::size_t wanted) const {
  if (n < 0) return error();
  if (static_cast<std::size_t>(n) < wanted)
    return fail(EIO, path_ + " ends at byte " + std::to_string(offset + static_cast<std::size_t>(n)));
  return {};
}

Status FileDevice::read(std::uint64_t offset, Bytes out) const {
  return whole(read_fully(fd_.get(), offset, out), offset, out.size());
}

Status FileDevice::read_medium(std::uint64_t offset, Bytes out) const {
  return whole(read_past_page_cache(fd_.get(), offset, out), offset, out.size());
}

Result<bool> FileDevice::try_read(std::uint64_t offset, Bytes out) const {
  iovec piece{out.data(), out.size()};
  const ssize_t n = ::preadv2(fd_.get(), &piece, 1, static_cast<off_t>(offset), RWF_NOWAIT);
  if (n < 0 && errno != EAGAIN && errno != EINTR && errno != EOPNOTSUPP) return error();
  return n >= 0 && static_cast<std::size_t>(n) == out.size();
}

std::optional<double> FileDevice::share_in_memory(DeviceRange range) const {
  return share_in_page_cache(fd_.get(), range.offset, range.length);
}

void FileDevice::prefetch(DeviceRange range) const { fetch_pages(fd_.get(), range.offset, range.length); }

Status FileDevice::write(std::uint64_t offset, ConstBytes data) {
  if (is_read_only()) return fail(EROFS, path_);
  if (offset > size_ || data.size() > size_ - offset)
    return fail(EIO, path_ + " ends before what is to be written");
  if (!write_fully(fd_.get(), offset, data)) return error();
  return {};
}

// 0, or errno. A file system that could not place what it had put off (delayed allocation) may say so here and nowhere else. Other
// errors are of one that cannot do it: a hint that was not taken.
int FileDevice::start_write_back(DeviceRange range) {
  if (::sync_file_range(fd_.get(), static_cast<off_t>(range.offset), static_cast<off_t>(range.length),
                        SYNC_FILE_RANGE_WRITE) == 0)
    return 0;
  const bool lost = errno == EIO || errno == ENOSPC || errno == EDQUOT || errno == EROFS;
  return lost ? errno : 0;
}

void FileDevice::begin_write_back(DeviceRange range) {
  const Flushes::Turn turn = flushes_.begin();
  flushes_.end(turn, start_write_back(range));
}

Status FileDevice::flush(std::span<const DeviceRange> ranges) {
  if (ranges.empty()) return {};
  if (mapping_ == nullptr) return flush_everything();
  return flushed([this, ranges] { return flush_ranges(ranges); });
}

void FileDevice::forget_memory() { (void)::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED); }

Status FileDevice::flush_everything() {
  return flushed([this] { return ::fdatasync(fd_.get()) == 0 ? 0 : errno; });
}

template <typename Ask>
Status FileDevice::flushed(const Ask& ask) {
  announce_blocking();
  if (const int before = flushes_.failed(); before != 0) return fail(before, path_);
  const Flushes::Turn turn = flushes_.begin();
  const int failed = flushes_.end_and_ask(turn, ask());
  return failed == 0 ? Status() : fail(failed, path_);
}

int FileDevice::flush_ranges(std::span<const DeviceRange> ranges) {
  int failed = 0;
  for (const DeviceRange& range : ranges)
    if (const int error = start_write_back(range); failed == 0) failed = error;
  if (failed != 0) return failed;
  for (const DeviceRange& range : ranges.first(ranges.size() - 1)) {
    if (::sync_file_range(fd_.get(), static_cast<off_t>(range.offset), static_cast<off_t>(range.length),
                          SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER) !=
        0)
      return errno;
  }
  const DeviceRange last = whole_pages(ranges.back());
  if (::msync(static_cast<std::byte*>(mapping_) + last.offset, std::min(last.length, size_ - last.offset),
              MS_SYNC) != 0)
    return errno;
  return 0;
}

std::uint64_t FileDevice::next_data(std::uint64_t offset) const {
  const off_t at = is_block_device_ ? -1 : ::lseek(fd_.get(), static_cast<off_t>(offset), SEEK_DATA);
  if (at >= 0) return static_cast<std::uint64_t>(at);
  return !is_block_device_ && errno == ENXIO ? size_ : offset;
}

std::uint64_t FileDevice::next_hole(std::uint64_t offset) const {
  const off_t at = is_block_device_ ? -1 : ::lseek(fd_.get(), static_cast<off_t>(offset), SEEK_HOLE);
  return at >= 0 ? static_cast<std::uint64_t>(at) : size_;
}

std::optional<std::uint64_t> FileDevice::room() const {
  struct statvfs below;
  if (is_block_device_ || ::fstatvfs(fd_.get(), &below) != 0) return std::nullopt;
  return below.f_bavail * below.f_frsize;
}

Status FileDevice::provide(DeviceRange range) {
  if (is_block_device_) return {};
  while (::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(range.offset),
                     static_cast<off_t>(range.length)) != 0) {
    if (errno == ENOSPC || errno == EDQUOT) return error();
    if (errno != EINTR) return {};  // a file system that cannot promise it: a write will tell
  }
  return {};
}

void FileDevice::give_back(DeviceRange range) {
  if (is_block_device_) return;
  (void)::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(range.offset),
                    static_cast<off_t>(range.length));
}

Result<std::unique_ptr<StoreLock>> FileDevice::lock(bool writes) {
  if (writes && is_read_only()) return fail(EROFS, path_);
  const std::string own = proc_path_of(fd_.get());
  FileDescriptor fd(::open(own.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return error();
  if (::flock(fd.get(), (writes ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0)
    return fail(errno == EWOULDBLOCK ? EBUSY : errno, path_);
  if (writes && is_block_device_) {
    const Status alone = take_back();
    if (!alone && alone.error().errno_value == EBUSY)
      return fail(Error::usage(path_ + " is mounted, or part of another device"));
    if (!alone) return fail(alone.error());
  }
  return std::unique_ptr<StoreLock>(std::make_unique<Lock>(*this, std::move(fd)));
}

void FileDevice::lend() {
  const MutexLock guard(mutex_);
  alone_.reset();
}

Status FileDevice::take_back() {
  const std::string own = proc_path_of(fd_.get());
  const MutexLock guard(mutex_);
  if (!is_block_device_ || alone_) return {};
  // The kernel refuses this to a device that is mounted or part of another.
  alone_ = FileDescriptor(::open(own.c_str(), O_RDWR | O_EXCL | O_CLOEXEC));
  return alone_ ? Status() : error();
}

}  // namespace cffs
