// An archive's bytes, decompressed, on their way to who reads members: counted while a header is read. libarchive takes at most a
// MiB for a name or an attribute, but any number of them, and maps of holes of any length, which a few compressed bytes can
// stand for.
//
// gzip is zlib's: libarchive (to 3.8 at least) does not look at the checksum and the length that end it, and takes what has rotted for
// whole. The checksums of the other ways to compress it does look at.
#pragma once

#include <archive.h>
#include <zlib.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/error.h"

namespace cffs {

class ArchiveBytes {
 public:
  static constexpr std::uint64_t kHeaderMax = 16u << 20;  // of one member: bytes; a map of a million holes

  ArchiveBytes();
  ArchiveBytes(const ArchiveBytes&) = delete;
  ArchiveBytes& operator=(const ArchiveBytes&) = delete;

  // Null: standard input.
  bool open(const char* path);
  const char* problem() const { return archive_error_string(archive_.get()); }
  // Compressed, as they lie in the file.
  std::uint64_t bytes_read() const;
  void begin_header() { left_ = kHeaderMax; }
  void end_header() { left_.reset(); }
  // Reads what lies behind the last member, for checksums that come at the end, and what a pipe's writer still has, as tar does; of a plain
  // archive on a disk nothing, which may be all of that. False: problem() says what is wrong.
  bool reads_to_end();

  // libarchive's callback.
  static la_ssize_t read(archive* reader, void* self, const void** bytes) {
    return static_cast<ArchiveBytes*>(self)->next(reader, bytes);
  }

 private:
  static constexpr std::size_t kBlock = 256 * 1024;

  static la_ssize_t read_file(archive* reader, void* self, const void** bytes);
  la_ssize_t next(archive* reader, const void** bytes);

  struct Close {
    void operator()(gzFile file) const { (void)::gzclose_r(file); }
  };
  std::unique_ptr<gzFile_s, Close> file_;  // what is no gzip comes through as it is
  std::string file_block_ = std::string(kBlock, '\0');
  std::unique_ptr<archive, int (*)(archive*)> archive_;
  std::string block_ = std::string(kBlock, '\0');
  std::optional<std::uint64_t> left_;  // of a header that is being read
  bool is_piped_ = false;
  bool end_ = false;
};

}  // namespace cffs
