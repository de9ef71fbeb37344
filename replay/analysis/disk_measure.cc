#include "replay/analysis/disk_measure.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <vector>

#include "core/base/clock.h"
#include "core/object/file_descriptor.h"

namespace cffs::replay {
namespace {

constexpr std::size_t kSmall = 4096, kLarge = 1u << 20;
constexpr std::uint64_t kScratch = 256u << 20, kLeast = 32u << 20;
constexpr std::uint64_t kMostNs = 2'000'000'000;  // of each size
constexpr std::size_t kMostReads = 400, kLeastReads = 5;

struct Free {
  void operator()(char* p) const { std::free(p); }
};
using Aligned = std::unique_ptr<char, Free>;

Result<Aligned> aligned(std::size_t bytes) {
  Aligned memory(static_cast<char*>(std::aligned_alloc(kSmall, bytes)));
  if (!memory) return fail(ENOMEM, "memory to measure a disk with");
  return memory;
}

struct Area {
  FileDescriptor file;
  std::uint64_t bytes = 0;
};

class DiskMeasure {
 public:
  explicit DiskMeasure(const std::string& directory) : directory_(directory) {}

  Result<DiskProfile> run() {
    CFFS_TRY(memory_, aligned(kLarge));
    open_composites();
    if (bytes_ < kScratch) CFFS_TRY_VOID(make_scratch());
    CFFS_TRY(const double small, median_ns(kSmall));
    CFFS_TRY(const double large, median_ns(kLarge));
    // Two sizes, two unknowns. A disk that answers both alike moves bytes faster than could be told.
    const double ns_per_byte = std::max((large - small) / static_cast<double>(kLarge - kSmall), 1e-3);
    const double place_ns = std::max(small - ns_per_byte * kSmall, 1e3);
    return DiskProfile{"this", place_ns / 1e6, 1e9 / ns_per_byte};
  }

 private:
  // Those of a store, as far as they can be had.
  void open_composites() {
    std::error_code none;
    for (std::filesystem::recursive_directory_iterator it(directory_ + "/composites", none), end;
         !none && it != end && areas_.size() < 500; it.increment(none)) {
      FileDescriptor file(::open(it->path().c_str(), O_RDONLY | O_DIRECT | O_NOFOLLOW | O_CLOEXEC));
      struct stat st;
      if (!file || ::fstat(file.get(), &st) != 0 || !S_ISREG(st.st_mode)) continue;
      const auto bytes = static_cast<std::uint64_t>(st.st_size);
      if (bytes < 2 * kLarge || static_cast<std::uint64_t>(st.st_blocks) * 512 < bytes) continue;
      bytes_ += bytes;
      areas_.push_back({std::move(file), bytes});
    }
  }

  Status make_scratch() {
    areas_.clear();
    struct statvfs room;
    if (::statvfs(directory_.c_str(), &room) != 0) return fail(errno, directory_);
    const std::uint64_t quarter = std::uint64_t{room.f_bavail} * room.f_frsize / 4;
    const std::uint64_t bytes = std::min(kScratch, quarter) / kLarge * kLarge;
    if (bytes < kLeast) {
      return fail(Error::os(ENOSPC, directory_ +
                                        ": measuring its disk wants 128 MiB of room; make room, or name "
                                        "another directory of the same disk with --disk-at"));
    }
    FileDescriptor file(::open(directory_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (!file) {
      std::string name = directory_ + "/.cffs-measure.XXXXXX";
      file = FileDescriptor(::mkostemp(name.data(), O_CLOEXEC));
      if (!file) return fail(errno, directory_);
      (void)::unlink(name.c_str());
    }
    std::mt19937_64 random(1);  // a disk may compress
    for (std::uint64_t at = 0; at < bytes; at += kLarge) {
      for (std::size_t i = 0; i < kLarge; i += sizeof(std::uint64_t)) {
        const std::uint64_t word = random();
        std::copy_n(reinterpret_cast<const char*>(&word), sizeof word, memory_.get() + i);
      }
      const ssize_t n = ::pwrite(file.get(), memory_.get(), kLarge, static_cast<off_t>(at));
      if (n != static_cast<ssize_t>(kLarge)) return fail(n < 0 ? errno : ENOSPC, directory_);
    }
    if (::fsync(file.get()) != 0) return fail(errno, directory_);
    const std::string again = proc_path_of(file.get());
    FileDescriptor direct(::open(again.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
    if (!direct) {
      return fail(Error::os(
          errno, directory_ +
                     ": its file system reads only through memory, so its disk cannot be measured; name "
                     "a directory elsewhere with --disk-at, or a --disk by name"));
    }
    areas_.push_back({std::move(direct), bytes});
    return {};
  }

  Result<double> median_ns(std::size_t size) {
    std::mt19937_64 random(size);
    std::vector<std::uint64_t> took;
    const std::uint64_t begin = elapsed_ns();
    while (took.size() < kMostReads && (took.size() < kLeastReads || elapsed_ns() - begin < kMostNs)) {
      const Area& area = areas_[random() % areas_.size()];
      const std::uint64_t places = (area.bytes - size) / kSmall + 1;
      const std::uint64_t at = random() % places * kSmall;
      const std::uint64_t start = elapsed_ns();
      const ssize_t n = ::pread(area.file.get(), memory_.get(), size, static_cast<off_t>(at));
      if (n != static_cast<ssize_t>(size)) return fail(n < 0 ? errno : EIO, directory_);
      took.push_back(elapsed_ns() - start);
    }
    const auto middle = took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2);
    std::nth_element(took.begin(), middle, took.end());
    return static_cast<double>(*middle);
  }

  const std::string directory_;
  Aligned memory_;
  std::vector<Area> areas_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Result<DiskProfile> measure_disk(const std::string& directory) {
  struct stat st;
  if (::stat(directory.c_str(), &st) != 0) return fail(errno, directory);
  if (!S_ISDIR(st.st_mode)) return fail(Error::usage(directory + " is no directory"));
  return DiskMeasure(directory).run();
}

}  // namespace cffs::replay
