// The data of a floor's files in one file of a disk, one behind the other as they are written. Where each lies is in memory, so that a
// cold read asks the disk for the file's own bytes and for nothing else: what no file system on FUSE can do without. Who goes on where a read
// ended is read ahead of by the kernel, as of any file, once he has come from file to file.
//
// Thread-safety: append() by one thread at a time; read() by any, beside it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/object/file_descriptor.h"

namespace cffs::bench::floor {

// Bytes of a file, in its order.
struct Extent {
  std::uint64_t at = 0;  // in the pack; kHole: zeros, which lie nowhere
  std::uint64_t bytes = 0;
};
inline constexpr std::uint64_t kHole = ~std::uint64_t{0};
using Extents = std::vector<Extent>;

// Makes the extents end after `size` bytes: cut short, or with a hole behind.
void resize(Extents& extents, std::uint64_t size);
// `source`'s bytes from `offset` on, `size` of them at most.
Extents part_of(const Extents& source, std::uint64_t offset, std::uint64_t size);
// Puts `piece` in the place of what is at `offset`, which is at most the extents' end.
void replace(Extents& extents, std::uint64_t offset, Extent piece);

class Pack {
 public:
  // A new file, removed with the pack.
  static Result<Pack> make(const std::string& path);
  Result<Extent> append(std::span<const char> bytes);
  // Fills `out` without waiting for the disk, which is asked for what is missing; false: it is not all there. `begins`: a file is read from
  // its beginning.
  bool try_read(const Extents& extents, bool begins, std::span<char> out) const;
  // What was appended is on the disk.
  Status sync() const;
  // As try_read(), and waits.
  Status read(const Extents& extents, std::span<char> out) const;

 private:
  struct Reader {
    std::atomic<std::uint64_t> end{0};  // of what was read last
    std::atomic<unsigned> files{0};     // that were read one behind the other
  };
  struct Readers {  // whoever they are: hints, so that a race costs a read ahead
    std::array<Reader, 16> all;
    std::atomic<std::size_t> next{0};
  };
  Pack() = default;
  const FileDescriptor& file_for(const Extents& extents, bool begins) const;
  // Of one file: one reads what it is asked for, of the other the kernel reads ahead.
  FileDescriptor exact_, ahead_;
  std::uint64_t end_ = 0;
  std::unique_ptr<Readers> readers_;
};

}  // namespace cffs::bench::floor
