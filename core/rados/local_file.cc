#include "core/rados/local_file.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/checksum.h"
#include "core/object/page_cache_io.h"

namespace cffs::rados {
namespace {

constexpr std::string_view kMagic = "cffsPGS1";
constexpr std::uint64_t kEntriesAt = 4096, kEntryBytes = 16;
static_assert(kEntriesAt + LocalFile::kPages * kEntryBytes <= LocalFile::kHeadBytes);

std::string head_of(std::uint64_t object, std::uint64_t number) {
  std::string head(kMagic);
  ByteWriter out(head);
  out.u64(object);
  out.u64(number);
  out.u64(checksum(head));
  return head;
}

std::string entry_of(std::uint32_t length, std::string_view page) {
  std::string entry;
  ByteWriter out(entry);
  out.u32(length);
  out.u32(0);
  out.u64(checksum(page.substr(0, length)));
  return entry;
}

}  // namespace

Result<LocalFile> LocalFile::open(const std::string& path, std::uint64_t object, std::uint64_t number) {
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return fail(errno, path);
  const std::string expected = head_of(object, number);
  std::string head(expected.size(), '\0');
  const ssize_t n = read_fully(file.get(), 0, as_writable_bytes(head));
  if (n < 0) return fail(errno, path);
  if (head != expected) return fail(Error::corruption(path + ": not a file of that object's pages"));
  return LocalFile(std::move(file), path);
}

Result<LocalFile> LocalFile::make(const std::string& path, std::uint64_t object, std::uint64_t number) {
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return fail(errno, path);
  if (!write_fully(file.get(), 0, as_bytes(head_of(object, number)))) return fail(errno, path);
  return LocalFile(std::move(file), path);
}

Result<LocalFile::Found> LocalFile::read(std::uint64_t first, std::span<const std::uint32_t> lengths,
                                         std::string& out) const {
  std::string entries(lengths.size() * kEntryBytes, '\0');
  if (read_fully(file_.get(), kEntriesAt + first * kEntryBytes, as_writable_bytes(entries)) < 0)
    return fail(errno, path_);
  ByteReader of_entries(entries);
  std::vector<std::uint64_t> sums;
  for (const std::uint32_t length : lengths) {
    const std::uint32_t is = of_entries.u32();
    (void)of_entries.u32();
    sums.push_back(of_entries.u64());
    if (is != length) return Found::absent;
  }
  const std::size_t begin = out.size();
  out.resize(begin + lengths.size() * kPageBytes);
  const Bytes pages = as_writable_bytes(out).subspan(begin);
  // Fewer bytes than that: zeros, which the checksums know.
  if (read_fully(file_.get(), kHeadBytes + first * kPageBytes, pages) < 0) return fail(errno, path_);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const Bytes page = pages.subspan(i * kPageBytes, kPageBytes);
    if (checksum(ConstBytes(page.first(lengths[i]))) != sums[i]) {
      out.resize(begin);
      return Found::damaged;
    }
    std::ranges::fill(page.subspan(lengths[i]), std::byte{0});
  }
  return Found::here;
}

Status LocalFile::write(std::uint64_t first, std::span<const std::uint32_t> lengths, std::string_view bytes) {
  std::string entries;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    entries += entry_of(lengths[i], bytes.substr(i * kPageBytes, kPageBytes));
  if (!write_fully(file_.get(), kHeadBytes + first * kPageBytes, as_bytes(bytes)) ||
      !write_fully(file_.get(), kEntriesAt + first * kEntryBytes, as_bytes(entries))) {
    return fail(errno, path_);
  }
  return {};
}

Result<LocalFile::Here> LocalFile::here() const {
  std::string entries(kPages * kEntryBytes, '\0');
  if (read_fully(file_.get(), kEntriesAt, as_writable_bytes(entries)) < 0) return fail(errno, path_);
  Here here;
  ByteReader in(entries);
  for (std::uint64_t i = 0; i < kPages; ++i) {
    here[i] = in.u32() != 0;
    (void)in.u32();
    (void)in.u64();
  }
  return here;
}

}  // namespace cffs::rados
