#include "core/object/page_cache_io.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "core/object/file_descriptor.h"

namespace cffs {

ssize_t read_fully(int fd, std::uint64_t offset, Bytes out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = ::pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return static_cast<ssize_t>(done);
}

bool write_fully(int fd, std::uint64_t offset, ConstBytes data) {
  std::size_t done = 0;
  while (done < data.size()) {
    const ssize_t n = ::pwrite(fd, data.data() + done, data.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

ssize_t read_past_page_cache(int fd, std::uint64_t offset, Bytes out) {
  constexpr std::uint64_t kAlignment = 4096;
  const std::uint64_t begin = offset / kAlignment * kAlignment;
  const std::uint64_t end = (offset + out.size() + kAlignment - 1) / kAlignment * kAlignment;
  const std::string own = proc_path_of(fd);
  const FileDescriptor direct(::open(own.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
  const std::unique_ptr<void, decltype(&std::free)> memory(std::aligned_alloc(kAlignment, end - begin),
                                                           &std::free);
  // A file system may give a part, and what is behind one that is not aligned it gives through its cache alone; mostly that is the end.
  std::uint64_t read = 0;
  bool is_possible = direct && memory, is_part = false;
  while (is_possible && read < end - begin) {
    const ssize_t n = ::pread(direct.get(), static_cast<std::byte*>(memory.get()) + read, end - begin - read,
                              static_cast<off_t>(begin + read));
    if (n == 0) break;
    if (n > 0) {
      read += static_cast<std::uint64_t>(n);
    } else if (errno == EINVAL) {
      is_possible = is_part = read > 0;
      break;
    } else if (errno != EINTR) {
      return -1;
    }
  }
  if (!is_possible) {
    (void)::posix_fadvise(fd, static_cast<off_t>(begin), static_cast<off_t>(end - begin),
                          POSIX_FADV_DONTNEED);
    return read_fully(fd, offset, out);
  }
  const std::uint64_t got = std::min<std::uint64_t>(read, offset + out.size() - begin);
  const std::size_t usable = got > offset - begin ? got - (offset - begin) : 0;
  std::memcpy(out.data(), static_cast<const std::byte*>(memory.get()) + (offset - begin), usable);
  if (!is_part || usable == out.size()) return static_cast<ssize_t>(usable);
  const ssize_t rest = read_fully(fd, offset + usable, out.subspan(usable));
  return rest < 0 ? rest : static_cast<ssize_t>(usable) + rest;
}

std::optional<double> share_in_page_cache(int fd, std::uint64_t offset, std::uint64_t length) {
  constexpr long kCachestat = 451;  // Linux 6.5; C libraries do not wrap it yet
  struct Range {
    std::uint64_t offset, length;
  } range{offset, length};
  struct Counts {
    std::uint64_t cached, dirty, writeback, evicted, recently_evicted;
  } counts{};
  static std::atomic<bool> supported{true};
  if (!supported.load(std::memory_order_relaxed) || length == 0) return std::nullopt;
  if (::syscall(kCachestat, fd, &range, &counts, 0) != 0) {
    supported.store(false, std::memory_order_relaxed);
    return std::nullopt;
  }
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t pages = (offset + length - 1) / page - offset / page + 1;
  return static_cast<double>(counts.cached) / static_cast<double>(pages);
}

void fetch_pages(int fd, std::uint64_t offset, std::uint64_t length) {
  // The kernel cuts a WILLNEED at its largest I/O, so ask piece by piece; neighbours merge in the block layer.
  constexpr std::uint64_t kPiece = 512 * 1024;
  for (std::uint64_t at = 0; at < length; at += kPiece) {
    (void)::posix_fadvise(fd, static_cast<off_t>(offset + at),
                          static_cast<off_t>(std::min(kPiece, length - at)), POSIX_FADV_WILLNEED);
  }
}

}  // namespace cffs
