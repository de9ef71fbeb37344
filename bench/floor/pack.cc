#include "bench/floor/pack.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace cffs::bench::floor {
namespace {

// `flags`: of preadv2. Whether all of it came; errno is 0 where the file has less.
bool fill(int file, const Extents& extents, std::span<char> out, int flags) {
  std::size_t done = 0;
  for (const Extent& extent : extents) {
    const std::span<char> here = out.subspan(done, std::min<std::uint64_t>(extent.bytes, out.size() - done));
    if (extent.at == kHole) {
      std::fill(here.begin(), here.end(), '\0');
    } else {
      for (std::size_t got = 0; got < here.size();) {
        iovec piece{here.data() + got, here.size() - got};
        errno = 0;
        const ssize_t n = ::preadv2(file, &piece, 1, static_cast<off_t>(extent.at + got), flags);
        if (n <= 0) return false;
        got += static_cast<std::size_t>(n);
      }
    }
    done += here.size();
  }
  return true;
}

}  // namespace

void resize(Extents& extents, std::uint64_t size) {
  std::uint64_t end = 0;
  for (auto extent = extents.begin(); extent != extents.end(); ++extent) {
    if (end + extent->bytes >= size) {
      extent->bytes = size - end;
      extents.erase(extent->bytes == 0 ? extent : extent + 1, extents.end());
      return;
    }
    end += extent->bytes;
  }
  if (end < size) extents.push_back({kHole, size - end});
}

Extents part_of(const Extents& source, std::uint64_t offset, std::uint64_t size) {
  Extents part;
  std::uint64_t begin = 0;
  for (const Extent& extent : source) {
    const std::uint64_t from = std::max(begin, offset), to = std::min(begin + extent.bytes, offset + size);
    if (from < to) part.push_back({extent.at == kHole ? kHole : extent.at + (from - begin), to - from});
    begin += extent.bytes;
  }
  return part;
}

void replace(Extents& extents, std::uint64_t offset, Extent piece) {
  Extents after = part_of(extents, offset + piece.bytes, kHole - offset - piece.bytes);
  resize(extents, offset);
  // What is written in pieces lies in one.
  if (!extents.empty() && extents.back().at != kHole &&
      extents.back().at + extents.back().bytes == piece.at) {
    extents.back().bytes += piece.bytes;
  } else {
    extents.push_back(piece);
  }
  extents.insert(extents.end(), after.begin(), after.end());
}

Result<Pack> Pack::make(const std::string& path) {
  Pack pack;
  pack.exact_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!pack.exact_) return fail(errno, path);
  pack.ahead_ = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!pack.ahead_ || ::unlink(path.c_str()) != 0) return fail(errno, path);
  if (const int problem = ::posix_fadvise(pack.exact_.get(), 0, 0, POSIX_FADV_RANDOM); problem != 0)
    return fail(problem, path);
  pack.readers_ = std::make_unique<Readers>();
  return pack;
}

const FileDescriptor& Pack::file_for(const Extents& extents, bool begins) const {
  if (extents.empty()) return exact_;
  constexpr unsigned kSweep = 3;  // files
  const std::uint64_t at = extents.front().at, end = extents.back().at + extents.back().bytes;
  for (Reader& reader : readers_->all) {
    if (reader.end != at && reader.end != end) continue;
    if (begins && reader.end == at) ++reader.files;
    reader.end = end;  // it was before where the read is run again
    return reader.files >= kSweep ? ahead_ : exact_;
  }
  Reader& reader = readers_->all[readers_->next++ % readers_->all.size()];
  reader.files = 0;
  reader.end = end;
  return exact_;
}

Result<Extent> Pack::append(std::span<const char> bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n =
        ::pwrite(exact_.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(end_ + done));
    if (n < 0) return fail(errno, "the floor's data");
    done += static_cast<std::size_t>(n);
  }
  const Extent appended{end_, bytes.size()};
  end_ += bytes.size();
  return appended;
}

bool Pack::try_read(const Extents& extents, bool begins, std::span<char> out) const {
  return fill(file_for(extents, begins).get(), extents, out, RWF_NOWAIT);
}

Status Pack::sync() const {
  return ::fdatasync(exact_.get()) == 0 ? Status() : fail(errno, "the floor's data");
}

Status Pack::read(const Extents& extents, std::span<char> out) const {
  if (fill(exact_.get(), extents, out, 0)) return {};
  return fail(errno == 0 ? EIO : errno, "the floor's data");
}

}  // namespace cffs::bench::floor
