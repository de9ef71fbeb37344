// Pages of an object, kept in a file of a local disk (core/rados/local_cache.h): up to kPages of them, each with its checksum, so that
// whatever becomes of the file, what is read from it is what was put there, or nothing.
//
//   0      "cffsPGS1", u64 object, u64 number (of the file among the object's), u64 checksum of these 24 bytes
//   4096   kPages entries: u32 bytes of the page that are the object's (0: none is here), u32 0, u64 checksum of them
//   8192   the pages, kPageBytes each; those that are not here are holes
//
// Nothing is synced: an entry without its page, or a page without its entry, is a page that is not here. Not thread-safe.
#pragma once

#include <bitset>
#include <span>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/object/file_descriptor.h"

namespace cffs::rados {

inline constexpr std::uint64_t kPageBytes = 16 * 1024;

class LocalFile {
 public:
  static constexpr std::uint64_t kPages = 256;
  static constexpr std::uint64_t kHeadBytes = 8192;
  using Here = std::bitset<kPages>;

  // ENOENT; corruption: it is none, or another's.
  static Result<LocalFile> open(const std::string& path, std::uint64_t object, std::uint64_t number);
  // An empty one, whatever was there.
  static Result<LocalFile> make(const std::string& path, std::uint64_t object, std::uint64_t number);

  enum class Found { here, absent, damaged };
  // Appends the pages from `first` on to `out`, kPageBytes each, zeros behind what is the object's. Else nothing is appended: absent, not
  // all of them are here with just so many bytes of the object (`lengths`); damaged, one is not what was written.
  Result<Found> read(std::uint64_t first, std::span<const std::uint32_t> lengths, std::string& out) const;
  // `bytes`: the pages one after the other, the last one maybe shorter.
  Status write(std::uint64_t first, std::span<const std::uint32_t> lengths, std::string_view bytes);
  // Those whose entries say that they are here.
  Result<Here> here() const;

 private:
  LocalFile(FileDescriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  FileDescriptor file_;
  std::string path_;
};

}  // namespace cffs::rados
