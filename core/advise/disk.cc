#include "core/advise/disk.h"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>

#include "core/advise/surveyed_content.h"

namespace cffs {

const std::vector<Disk>& modelled_disks() {
  static const std::vector<Disk> disks = {
      {"hdd", 6.7, 0.42, 130e6, true}, {"cloud", 0.5, 0.5, 125e6, false}, {"ssd", 0.08, 0.05, 500e6, false}};
  return disks;
}

const Disk* find_modelled_disk(std::string_view name) {
  for (const Disk& disk : modelled_disks()) {
    if (disk.name == name) return &disk;
  }
  return nullptr;
}

namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::uint64_t kProbePage = 4096;
constexpr std::uint64_t kProbeLong = 1u << 20;

// Milliseconds that reads past the memory take, of so many bytes each in files that have them.
class DiskProbe {
 public:
  DiskProbe(const TreeSurvey& survey, int root) : survey_(survey), content_(root) {
    void* room = nullptr;
    if (::posix_memalign(&room, kProbePage, kProbeLong) == 0) room_.reset(static_cast<char*>(room));
  }

  std::vector<double> times(std::uint64_t bytes, double seconds, std::size_t most,
                            const std::function<bool()>& go_on) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> files;
    for (std::uint32_t d = 0; d < survey_.directories.size(); ++d) {
      const auto& in = survey_.directories[d].files;
      for (std::uint32_t i = 0; i < in.size(); ++i) {
        if (in[i].size >= bytes) files.emplace_back(d, i);
      }
    }
    std::vector<double> taken;
    if (files.empty() || !room_) return taken;
    const auto began = SteadyClock::now();
    while (taken.size() < most && go_on() &&
           std::chrono::duration<double>(SteadyClock::now() - began).count() < seconds) {
      const auto& [d, i] = files[std::uniform_int_distribution<std::size_t>(0, files.size() - 1)(random_)];
      const double ms = read_one(d, i, bytes);
      if (ms < 0 && ++refused_ > 20) break;
      if (ms >= 0) taken.push_back(ms);
    }
    std::sort(taken.begin(), taken.end());
    return taken;
  }

 private:
  double read_one(std::uint32_t d, std::uint32_t i, std::uint64_t bytes) {
    const SurveyedDirectory& in = survey_.directories[d];
    const std::string folder = survey_.path_of(d);
    const std::string name(in.name_of(in.files[i]));
    const FileDescriptor fd = content_.open(folder.empty() ? name : folder + "/" + name,
                                            O_RDONLY | O_CLOEXEC | O_NOCTTY | O_DIRECT);
    if (!fd) return -1;
    const std::uint64_t places = (in.files[i].size - bytes) / kProbePage;
    const std::uint64_t at = std::uniform_int_distribution<std::uint64_t>(0, places)(random_) * kProbePage;
    const auto began = SteadyClock::now();
    const ssize_t n = ::pread(fd.get(), room_.get(), bytes, static_cast<off_t>(at));
    const std::chrono::duration<double, std::milli> taken = SteadyClock::now() - began;
    return n == static_cast<ssize_t>(bytes) ? taken.count() : -1;
  }

  struct Free {
    void operator()(char* room) const { std::free(room); }
  };
  const TreeSurvey& survey_;
  const SurveyedContent content_;
  std::unique_ptr<char, Free> room_;
  std::mt19937_64 random_{1};
  unsigned refused_ = 0;
};

double median_of(const std::vector<double>& sorted) { return sorted[sorted.size() / 2]; }

}  // namespace

Result<Disk> measure_disk_below(const TreeSurvey& survey, const std::function<bool()>& go_on) {
  const FileDescriptor root(::open(survey.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return fail(errno, survey.root);
  DiskProbe probe(survey, root.get());
  const std::vector<double> small = probe.times(kProbePage, 1, 400, go_on);
  std::uint64_t bytes = kProbeLong;
  std::vector<double> large;
  for (; bytes >= 32 * kProbePage && large.size() < 5; bytes /= 2) large = probe.times(bytes, 0.5, 60, go_on);
  bytes *= 2;
  if (small.size() < 5 || large.size() < 5) {
    return fail(Error::usage("the files of " + survey.root +
                             " are too few or too small to measure its disk by, or cannot be read past the "
                             "memory; name a model with --disk"));
  }
  return disk_of_times(median_of(small), median_of(large), kProbePage, bytes);
}

Disk disk_of_times(double place_ms, double long_ms, std::uint64_t place_bytes, std::uint64_t long_bytes) {
  // Of two medians of a busy disk the longer read's may be the smaller one.
  constexpr double kMostInPlace = 0.75;  // of a long read's time, that a place may be taken for
  const double long_s = std::max(long_ms, 1e-6) / 1000;
  const double bytes_s = std::max(long_s - place_ms / 1000, (1 - kMostInPlace) * long_s);
  Disk disk{"this", place_ms, place_ms, static_cast<double>(long_bytes - place_bytes) / bytes_s, false};
  disk.has_arm = disk.seek_ms > 2;
  if (disk.has_arm) disk.near_ms = disk.seek_ms / 16;
  return disk;
}

}  // namespace cffs
