// BlockDevice: the seam below a region store. Bytes of a fixed number, no names: an image file, a raw device, memory, and in tests
// a medium whose power fails between two sectors.
//
// Contract (tests/unit/block_device_test.cc runs against every one):
//  - A completed write is seen by every later read, also by the next process that opens it, until the machine or the device fails.
//  - What is durable: what had been written to a range before flush() of it was called. Of anything else each sector of 512 bytes
//    may be old or new after a failure.
//  - All calls from any thread. Overlapping concurrent writes are the caller's to order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/object/object_store.h"

namespace cffs {

struct DeviceRange {
  std::uint64_t offset = 0, length = 0;  // bytes
};

class BlockDevice {
 public:
  static constexpr std::uint64_t kSector = 512;  // bytes that are old or new as a whole

  virtual ~BlockDevice() = default;
  virtual std::uint64_t size() const = 0;  // bytes
  // All of `out`; EIO where the device ends before.
  virtual Status read(std::uint64_t offset, Bytes out) const = 0;
  // The same, if no device has to be waited for; false where it would have to.
  virtual Result<bool> try_read(std::uint64_t offset, Bytes out) const {
    CFFS_TRY_VOID(read(offset, out));
    return true;
  }
  // What the medium has, whatever memory has.
  virtual Status read_medium(std::uint64_t offset, Bytes out) const { return read(offset, out); }
  // As Object::share_in_memory().
  virtual std::optional<double> share_in_memory(DeviceRange) const { return std::nullopt; }
  virtual void prefetch(DeviceRange) const {}
  virtual Status write(std::uint64_t offset, ConstBytes data) = 0;
  // A hint that the range will be flushed soon.
  virtual void begin_write_back(DeviceRange) {}
  virtual Status flush(std::span<const DeviceRange> ranges) = 0;
  virtual Status flush_everything() = 0;
  // What memory has of it and need not be written any more goes: what is read next is what the medium has.
  virtual void forget_memory() {}
  // The first byte at or after `offset` that somebody may have written, or nobody has; size() where there is none.
  virtual std::uint64_t next_data(std::uint64_t offset) const { return offset; }
  virtual std::uint64_t next_hole(std::uint64_t) const { return size(); }
  // An image may say that it is larger than the file system below has room for. Of such a device: bytes that provide() might find;
  // nullopt: all of it is there.
  virtual std::optional<std::uint64_t> room() const { return std::nullopt; }
  // Room below for the whole range, so that no write to it meets a want of it. ENOSPC, EDQUOT; part of it may have been taken then.
  virtual Status provide(DeviceRange) { return {}; }
  // What lies there is nobody's, and may read as zeros from now on; its room is the file system's again.
  virtual void give_back(DeviceRange) {}
  // Changes whenever what was written and not flushed may have gone: another boot, another attachment of the device.
  virtual std::uint64_t incarnation() const = 0;
  // One that writes, or several that read, of all processes; EBUSY (without a text). `writes` on a device opened for reading: EROFS.
  virtual Result<std::unique_ptr<StoreLock>> lock(bool writes) = 0;
  virtual bool is_read_only() const { return false; }
  // As those of an ObjectStore. Empty: it is no device of the kernel's.
  virtual std::string mountable() const { return {}; }
  virtual void lend() {}
  virtual Status take_back() { return {}; }
  virtual bool is_private() const { return true; }  // as ObjectStore::is_private()
  virtual std::string description() const = 0;
};

}  // namespace cffs
