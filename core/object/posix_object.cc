#include "core/object/posix_object.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "core/object/blocking_section.h"
#include "core/object/page_cache_io.h"
#include "core/object/posix_store.h"
#include "core/object/store_owners.h"

namespace cffs {

class PosixObject final : public Object {
 public:
  PosixObject(PosixStore& store, std::string name, FileDescriptor fd, DurableNames::Number unsynced)
      : store_(store), name_(std::move(name)), fd_(std::move(fd)), unsynced_name_(unsynced) {}

  Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override {
    return bytes_or_error(read_fully(fd_.get(), offset, out));
  }
  Result<std::size_t> read_medium(std::uint64_t offset, Bytes out) const override {
    return bytes_or_error(read_past_page_cache(fd_.get(), offset, out));
  }
  std::optional<double> share_in_memory(std::uint64_t offset, std::uint64_t length) const override {
    return share_in_page_cache(fd_.get(), offset, length);
  }

  Result<std::optional<std::size_t>> try_read_at(std::uint64_t offset, Bytes out) const override {
    iovec piece{out.data(), out.size()};
    const ssize_t n = ::preadv2(fd_.get(), &piece, 1, static_cast<off_t>(offset), RWF_NOWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == EOPNOTSUPP)) {
      return std::optional<std::size_t>();
    }
    if (n < 0) return error();
    // A short answer may be the end of the object or the end of what is cached; only a full one is certain.
    if (static_cast<std::size_t>(n) < out.size()) return std::optional<std::size_t>();
    return std::optional<std::size_t>(static_cast<std::size_t>(n));
  }

  Status write_at(std::uint64_t offset, ConstBytes data) override {
    if (!write_fully(fd_.get(), offset, data)) return error();
    return {};
  }

  Result<std::uint64_t> append(ConstBytes data) override {
    const off_t end = ::lseek(fd_.get(), 0, SEEK_END);
    if (end < 0) return error();
    CFFS_TRY_VOID(write_at(static_cast<std::uint64_t>(end), data));
    return static_cast<std::uint64_t>(end);
  }

  Status truncate(std::uint64_t size) override {
    if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) return error();
    return {};
  }

  Result<bool> give_back(std::uint64_t offset, std::uint64_t length) override {
    while (::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                       static_cast<off_t>(length)) != 0) {
      if (errno == EOPNOTSUPP) return false;
      if (errno != EINTR) return error();
    }
    return true;
  }

  Status punch_hole(std::uint64_t offset, std::uint64_t length) override {
    CFFS_TRY(const bool is_hole, give_back(offset, length));
    if (is_hole) return {};
    CFFS_TRY(const ObjectInfo now, info());
    const std::string zeros(64 * 1024, '\0');
    const std::uint64_t end = std::min(now.size, offset + length);
    for (std::uint64_t at = offset; at < end; at += zeros.size()) {
      CFFS_TRY_VOID(write_at(at, as_bytes(zeros).first(std::min<std::uint64_t>(zeros.size(), end - at))));
    }
    return {};
  }

  Status allocate(std::uint64_t offset, std::uint64_t length) override {
    while (::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                       static_cast<off_t>(length)) != 0) {
      if (errno != EINTR) return error();
    }
    return {};
  }

  Result<ObjectInfo> info() const override {
    struct stat st;
    if (::fstat(fd_.get(), &st) != 0) return error();
    if (!S_ISREG(st.st_mode)) return not_regular();
    return ObjectInfo{static_cast<std::uint64_t>(st.st_size), static_cast<std::uint64_t>(st.st_blocks) * 512};
  }

  Result<std::uint64_t> next_data(std::uint64_t offset) const override { return seek(offset, SEEK_DATA); }
  Result<std::uint64_t> next_hole(std::uint64_t offset) const override { return seek(offset, SEEK_HOLE); }

  bool clone_from(const Object& source) override {
    if (const auto below = source.unchanged()) return clone_from(*below);
    const auto* other = dynamic_cast<const PosixObject*>(&source);
    return other != nullptr && ::ioctl(fd_.get(), FICLONE, other->fd_.get()) == 0;
  }

  // A file system that could not place what it had put off (delayed allocation) may say so here and nowhere else: the pages are
  // clean then, and a sync finds nothing amiss. So none ends between that and the note of it.
  void begin_writeback(std::uint64_t offset, std::uint64_t length) override {
    const MutexLock not_beside_a_sync(sync_mutex_);
    if (::sync_file_range(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(length),
                          SYNC_FILE_RANGE_WRITE) == 0)
      return;
    const bool lost = errno == EIO || errno == ENOSPC || errno == EDQUOT || errno == EROFS;
    if (lost && sync_failed_ == 0) sync_failed_ = errno;
  }

  Status sync() override {
    announce_blocking();
    // The kernel tells a descriptor of a failed writeback once: of two who ask at the same time, and of all who ask later,
    // only one would learn of it.
    const MutexLock one_at_a_time(sync_mutex_);
    if (sync_failed_ != 0) return fail(sync_failed_, store_.full_name(name_));
    if (::fdatasync(fd_.get()) != 0) {
      sync_failed_ = errno;
      return error();
    }
    if (unsynced_name_ != 0) {
      CFFS_TRY_VOID(store_.durable_names_.make_durable(name_, unsynced_name_));
      unsynced_name_ = 0;
    }
    return {};
  }

  void read_no_further() const override {
    if (no_further_.load(std::memory_order_relaxed)) return;
    no_further_.store(true, std::memory_order_relaxed);
    (void)::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_RANDOM);
  }

  void prefetch(std::uint64_t offset, std::uint64_t length) const override {
    fetch_pages(fd_.get(), offset, length);
  }

 private:
  Result<std::size_t> bytes_or_error(ssize_t n) const {
    if (n < 0) return error();
    return static_cast<std::size_t>(n);
  }
  Result<std::uint64_t> seek(std::uint64_t offset, int whence) const {
    const off_t at = ::lseek(fd_.get(), static_cast<off_t>(offset), whence);
    if (at >= 0) return static_cast<std::uint64_t>(at);
    const bool cannot_tell = errno == EINVAL;  // the backing file system: all may be data
    if (errno != ENXIO && !cannot_tell) return error();
    if (cannot_tell && whence == SEEK_DATA) return offset;
    CFFS_TRY(const ObjectInfo now, info());
    return now.size;
  }
  tl::unexpected<Error> error() const {
    if (errno == ESPIPE) return not_regular();  // a FIFO
    const bool refused = errno == EBADF || errno == EINVAL;
    if (refused && (::fcntl(fd_.get(), F_GETFL) & O_ACCMODE) == O_RDONLY) errno = EROFS;
    return fail(errno, store_.full_name(name_));
  }
  tl::unexpected<Error> not_regular() const {
    return fail(Error::corruption(store_.full_name(name_) + " " + kNoRegularFile));
  }

  PosixStore& store_;
  mutable std::atomic<bool> no_further_{false};
  const std::string name_;
  const FileDescriptor fd_;
  Mutex sync_mutex_;                                                 // one sync at a time; before the store's
  DurableNames::Number unsynced_name_ CFFS_GUARDED_BY(sync_mutex_);  // 0: it is durable
  int sync_failed_ CFFS_GUARDED_BY(sync_mutex_) = 0;  // errno of the first sync or writeback that failed
};

std::shared_ptr<Object> make_posix_object(PosixStore& store, std::string name, FileDescriptor fd,
                                          DurableNames::Number unsynced_name) {
  return std::make_shared<PosixObject>(store, std::move(name), std::move(fd), unsynced_name);
}

}  // namespace cffs
