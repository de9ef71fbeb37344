// A block device of the kernel's: a raw device, or an image file, which needs no rights but those of the file.
//
// Reads and writes go through the page cache. One range is made durable without what others have written: each piece is written
// back by sync_file_range(2), the last one by msync(2) of a mapping that nobody touches, which the kernel takes as an fsync of
// that range and a flush of the device's own cache. Once anything could not be written back, every flush fails until the device is
// opened again (flushes.h).
#pragma once

#include <sys/stat.h>

#include "core/base/mutex.h"
#include "core/object/file_descriptor.h"
#include "core/region/block_device.h"
#include "core/region/flushes.h"

namespace cffs {

class FileDevice final : public BlockDevice {
 public:
  enum class Access { read_write, read_only };
  // Whose may be opened: the caller's own (and root's), or anybody's.
  enum class Owners { own, anybody };
  // ENOENT, EACCES; `usage` for what is neither a regular file nor a block device, for somebody else's where only one's own is
  // wanted, and for a device that is mounted.
  static Result<std::unique_ptr<FileDevice>> open(const std::string& path, Access access,
                                                  Owners owners = Owners::own);
  ~FileDevice() override;
  FileDevice(const FileDevice&) = delete;
  FileDevice& operator=(const FileDevice&) = delete;

  std::uint64_t size() const override { return size_; }
  Status read(std::uint64_t offset, Bytes out) const override;
  Result<bool> try_read(std::uint64_t offset, Bytes out) const override;
  Status read_medium(std::uint64_t offset, Bytes out) const override;
  std::optional<double> share_in_memory(DeviceRange range) const override;
  void prefetch(DeviceRange range) const override;
  Status write(std::uint64_t offset, ConstBytes data) override;
  void begin_write_back(DeviceRange range) override;
  Status flush(std::span<const DeviceRange> ranges) override;
  Status flush_everything() override;
  void forget_memory() override;
  std::uint64_t next_data(std::uint64_t offset) const override;
  std::uint64_t next_hole(std::uint64_t offset) const override;
  std::optional<std::uint64_t> room() const override;
  Status provide(DeviceRange range) override;
  void give_back(DeviceRange range) override;
  std::uint64_t incarnation() const override { return incarnation_; }
  Result<std::unique_ptr<StoreLock>> lock(bool writes) override;
  bool is_read_only() const override { return access_ == Access::read_only; }
  bool is_private() const override { return is_private_; }
  std::string mountable() const override { return is_block_device_ ? path_ : std::string(); }
  void lend() override;
  Status take_back() override;
  std::string description() const override { return path_; }

 private:
  class Lock;
  FileDevice(std::string path, FileDescriptor fd, Access access)
      : path_(std::move(path)), fd_(std::move(fd)), access_(access) {}
  // What a read of so many bytes came to.
  Status whole(ssize_t n, std::uint64_t offset, std::size_t wanted) const;
  int start_write_back(DeviceRange range);
  int flush_ranges(std::span<const DeviceRange> ranges);
  template <typename Ask>
  Status flushed(const Ask& ask);
  tl::unexpected<Error> error() const { return fail(errno, path_); }

  const std::string path_;
  const FileDescriptor fd_;
  const Access access_;
  std::uint64_t size_ = 0;
  std::uint64_t incarnation_ = 0;
  bool is_private_ = false, is_block_device_ = false;
  void* mapping_ = nullptr;  // for flush() alone
  Flushes flushes_;
  Mutex mutex_;                                   // leaf
  FileDescriptor alone_ CFFS_GUARDED_BY(mutex_);  // of who has locked a block device, but for when it is lent
};

}  // namespace cffs
