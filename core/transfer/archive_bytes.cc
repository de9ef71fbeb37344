#include "core/transfer/archive_bytes.h"

#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/object/file_descriptor.h"

namespace cffs {

ArchiveBytes::ArchiveBytes() : archive_(archive_read_new(), archive_read_free) {
  archive_read_support_filter_all(archive_.get());
  archive_read_support_format_raw(archive_.get());
  archive_read_support_format_empty(archive_.get());
}

bool ArchiveBytes::open(const char* path) {
  FileDescriptor fd(path != nullptr ? ::open(path, O_RDONLY | O_CLOEXEC)
                                    : ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  if (!fd) {
    archive_set_error(archive_.get(), errno, "%s", Error::os(errno).message().c_str());
    return false;
  }
  struct stat st;
  is_piped_ = ::fstat(fd.get(), &st) != 0 || !(S_ISREG(st.st_mode) || S_ISBLK(st.st_mode));
  file_.reset(::gzdopen(fd.get(), "rb"));
  if (!file_) {
    archive_set_error(archive_.get(), ENOMEM, "%s", Error::os(ENOMEM).message().c_str());
    return false;
  }
  (void)fd.release();
  (void)::gzbuffer(file_.get(), kBlock);
  if (archive_read_open(archive_.get(), this, nullptr, read_file, nullptr) != ARCHIVE_OK) return false;
  archive_entry* entry = nullptr;
  const int state = archive_read_next_header(archive_.get(), &entry);
  end_ = state == ARCHIVE_EOF;
  return end_ || state >= ARCHIVE_WARN;
}

std::uint64_t ArchiveBytes::bytes_read() const {
  return file_ ? static_cast<std::uint64_t>(std::max<z_off_t>(0, ::gzoffset(file_.get()))) : 0;
}

la_ssize_t ArchiveBytes::read_file(archive* reader, void* self, const void** bytes) {
  auto& own = *static_cast<ArchiveBytes*>(self);
  *bytes = own.file_block_.data();
  errno = 0;
  const int n = ::gzread(own.file_.get(), own.file_block_.data(), kBlock);
  if (n > 0) return n;
  int problem = Z_OK;
  const char* const text = ::gzerror(own.file_.get(), &problem);
  if (problem == Z_OK) return 0;
  if (problem == Z_ERRNO) {
    archive_set_error(reader, errno, "%s", Error::os(errno).message().c_str());
  } else if (problem == Z_BUF_ERROR) {
    archive_set_error(reader, EIO, "its gzip data is cut off");
  } else {
    archive_set_error(reader, EIO, "its gzip data is damaged: %s", text);
  }
  return -1;
}

la_ssize_t ArchiveBytes::next(archive* reader, const void** bytes) {
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

bool ArchiveBytes::reads_to_end() {
  const bool is_compressed = ::gzdirect(file_.get()) == 0 || archive_filter_count(archive_.get()) > 1;
  if (!is_compressed && !is_piped_) return true;
  la_ssize_t n = end_ ? 0 : 1;
  while (n > 0) n = archive_read_data(archive_.get(), block_.data(), block_.size());
  end_ = true;
  return n == 0;
}

}  // namespace cffs
