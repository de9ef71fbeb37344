// An archive's bytes, decompressed, on their way to who reads members: counted while a header is read. libarchive takes at most a
// MiB for a name or an attribute, but any number of them, and maps of holes of any length, which a few compressed bytes can
// stand for.
#pragma once

#include <archive.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace cffs {

class ArchiveBytes {
 public:
  static constexpr std::uint64_t kHeaderMax = 16u << 20;  // of one member: bytes; a map of a million holes

  ArchiveBytes() : archive_(archive_read_new(), archive_read_free) {
    archive_read_support_filter_all(archive_.get());
    archive_read_support_format_raw(archive_.get());
    archive_read_support_format_empty(archive_.get());
  }

  bool open(const char* path) {
    if (archive_read_open_filename(archive_.get(), path, kBlock) != ARCHIVE_OK) return false;
    archive_entry* entry = nullptr;
    const int state = archive_read_next_header(archive_.get(), &entry);
    end_ = state == ARCHIVE_EOF;
    return end_ || state >= ARCHIVE_WARN;
  }
  const char* problem() const { return archive_error_string(archive_.get()); }
  // Compressed, as they lie in the file.
  std::uint64_t bytes_read() const {
    return static_cast<std::uint64_t>(std::max<la_int64_t>(0, archive_filter_bytes(archive_.get(), -1)));
  }
  void begin_header() { left_ = kHeaderMax; }
  void end_header() { left_.reset(); }

  // libarchive's callback.
  static la_ssize_t read(archive* reader, void* self, const void** bytes) {
    return static_cast<ArchiveBytes*>(self)->next(reader, bytes);
  }

 private:
  static constexpr std::size_t kBlock = 256 * 1024;

  la_ssize_t next(archive* reader, const void** bytes) {
    *bytes = block_.data();
    if (end_) return 0;
    if (left_ && *left_ == 0) {
      archive_set_error(
          reader, EFBIG,
          "a member's header, with the map of its holes, is longer than 16 MiB: more than is taken");
      return -1;
    }
    const la_ssize_t n = archive_read_data(archive_.get(), block_.data(), block_.size());
    if (n < 0) archive_set_error(reader, archive_errno(archive_.get()), "%s", problem());
    if (left_ && n > 0) *left_ -= std::min(*left_, static_cast<std::uint64_t>(n));
    end_ = n <= 0;
    return n < 0 ? -1 : n;
  }

  std::unique_ptr<archive, int (*)(archive*)> archive_;
  std::string block_ = std::string(kBlock, '\0');
  std::optional<std::uint64_t> left_;  // of a header that is being read
  bool end_ = false;
};

}  // namespace cffs
