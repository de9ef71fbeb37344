#include "core/advise/content_sample.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <ctime>
#include <numeric>
#include <random>

#include "core/advise/surveyed_content.h"
#include "core/base/mutex.h"
#include "core/base/parallel.h"
#include "core/composite/composite_builder.h"
#include "core/packed/packer.h"
#include "core/packed/unpacker.h"

namespace cffs {

bool is_compressed_already(std::string_view extension) {
  static constexpr std::array kFormats = std::to_array<std::string_view>(
      {"7z",   "aac",  "apk",  "avi",  "avif",    "br",   "bz2",  "deb",  "docx", "epub", "flac", "gif",
       "gz",   "jar",  "jpeg", "jpg",  "jxl",     "lz4",  "lzma", "m4a",  "mkv",  "mov",  "mp3",  "mp4",
       "odt",  "ogg",  "opus", "pack", "parquet", "pdf",  "png",  "pptx", "rar",  "rpm",  "tgz",  "txz",
       "webm", "webp", "whl",  "woff", "woff2",   "xlsx", "xpi",  "xz",   "zip",  "zst"});
  return std::find(kFormats.begin(), kFormats.end(), extension) != kFormats.end();
}

const PackingEstimate* ContentSample::find(Codec codec) const {
  const auto at = std::find_if(packings.begin(), packings.end(),
                               [&](const PackingEstimate& p) { return p.how.codec == codec; });
  return at == packings.end() ? nullptr : &*at;
}

namespace {

using SteadyClock = std::chrono::steady_clock;

// Of a processor, for this thread: what others do beside it does not count.
double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double sampled_seconds_since(SteadyClock::time_point then) {
  return std::chrono::duration<double>(SteadyClock::now() - then).count();
}

std::string_view sampled_extension(std::string_view name, std::string& room) {
  const std::size_t stop = name.rfind('.');
  if (stop == std::string_view::npos || stop == 0 || name.size() - stop > 9) return {};
  room.assign(name.substr(stop + 1));
  for (char& c : room) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return room;
}

// A composite of the outline that was drawn.
struct DrawnComposite {
  std::vector<OutlinedFile> members;
  std::uint64_t bytes = 0;
  double compressed_already = 0;  // share of the bytes
  unsigned times = 1;             // that a point fell on it
  std::vector<double> shares;     // by way; empty: not packed
};

class ContentSampling {
 public:
  ContentSampling(const TreeSurvey& survey, const StoreFormat& format, const SampleOptions& options, int root)
      : survey_(survey), format_(format), options_(options), content_(root) {}

  ContentSample run() {
    const ImportOutline outline = outline_import(survey_, format_, true);
    sample_.of = outline.composites;
    all_wanted_ = sample_.whole = outline.composite_bytes <= options_.bytes;
    for (const Compression& how : options_.ways) sample_.packings.push_back({how, 1, 0, 0, 0});
    draw(outline);
    spent_.resize(options_.ways.size());
    unpacked_.resize(options_.ways.size());
    // Early ones are spread over the tree as all are: whoever is stopped has seen a bit of everything.
    std::vector<std::size_t> order(drawn_.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    const auto began = SteadyClock::now();
    in_parallel(order.size(), options_.workers, [&](std::size_t i) {
      if (!options_.go_on() || (i >= kFewest && sampled_seconds_since(began) > options_.seconds)) return;
      pack_one(drawn_[order[i]]);
    });
    estimate();
    for (const std::size_t i : order) {
      if (!drawn_[i].shares.empty()) sample_.drawn.push_back(std::move(drawn_[i].members));
    }
    return std::move(sample_);
  }

 private:
  // However slow the disk is: of fewer, one that does not shrink would speak for all.
  static constexpr std::size_t kFewest = 8;
  // Lone large files are packed in part: frames are alike all through most of them.
  static constexpr std::uint64_t kMostOfOneMember = 8u << 20;

  void draw(const ImportOutline& outline) {
    const double all = static_cast<double>(outline.composite_bytes);
    const auto points = static_cast<std::uint64_t>(
        std::max(1.0, sample_.whole
                          ? 0.0
                          : static_cast<double>(options_.bytes) /
                                (all / static_cast<double>(std::max<std::uint64_t>(1, outline.composites)))));
    const double step = all / static_cast<double>(points);
    double next = std::uniform_real_distribution<double>(0, step)(random_);
    double before = 0, compressed_already = 0;
    outline_import(
        survey_, format_, true, [&](const std::vector<OutlinedFile>& members, std::uint64_t bytes) {
          std::uint64_t already = 0;
          std::string room;
          for (const OutlinedFile& f : members) {
            const SurveyedDirectory& directory = survey_.directories[f.parent.value];
            if (is_compressed_already(sampled_extension(directory.name_of(directory.files[f.index]), room)))
              already += f.size;
          }
          compressed_already += static_cast<double>(already);
          unsigned times = 0;
          for (before += static_cast<double>(bytes); !sample_.whole && next < before; next += step) ++times;
          if (sample_.whole) times = 1;
          if (times > 0)
            drawn_.push_back(
                {members, bytes, static_cast<double>(already) / static_cast<double>(bytes), times, {}});
        });
    compressed_already_ = all > 0 ? compressed_already / all : 0;
  }

  void pack_one(DrawnComposite& one) {
    CompositeBuilder builder(CompositeId{1}, 0, 0);
    std::vector<std::uint64_t> ends;
    std::uint64_t files = 0, read = 0, unreadable = 0, directory = SurveyedDirectory::kNone;
    std::string folder;
    for (const OutlinedFile& f : one.members) {
      const SurveyedDirectory& in = survey_.directories[f.parent.value];
      if (f.parent.value != directory) folder = survey_.path_of(static_cast<std::uint32_t>(f.parent.value));
      directory = f.parent.value;
      const std::string name(in.name_of(in.files[f.index]));
      const std::uint64_t most = std::min(f.size, kMostOfOneMember);
      const std::uint64_t at = f.size > most ? (f.size - most) / 2 / 4096 * 4096 : 0;
      const auto content = content_.read(folder.empty() ? name : folder + "/" + name, at, most);
      if (!content) {
        ++unreadable;
        continue;
      }
      Inode inode;
      inode.ino = InodeId{1'000'000 + f.index};
      inode.mode = S_IFREG | 0644;
      inode.size = content->size();
      inode.atime_ns = inode.mtime_ns = inode.ctime_ns = inode.btime_ns =
          1'700'000'000'000'000'123 + f.index * 7'919;
      builder.add(f.parent, name, inode, *content);
      ends.push_back(builder.object_bytes());
      ++files;
      read += content->size();
    }
    std::vector<double> shares, spent;
    std::vector<Unpacked> unpacked;
    for (const Compression& how : options_.ways) {
      const double start = thread_seconds();
      const auto packed = pack(builder.bytes(), ends, how);
      shares.push_back(packed && files > 0
                           ? static_cast<double>(packed->size()) / static_cast<double>(builder.bytes().size())
                           : 1);
      spent.push_back(thread_seconds() - start);
      unpacked.push_back(packed ? time_unpacking(*packed, builder.bytes().size()) : Unpacked{});
    }
    const MutexLock guard(mutex_);
    if (files > 0) one.shares = std::move(shares);
    ++sample_.composites;
    sample_.files += files;
    sample_.bytes += read;
    sample_.unreadable += unreadable;
    packed_bytes_ += builder.bytes().size();
    for (std::size_t w = 0; w < spent.size(); ++w) {
      spent_[w] += spent[w];
      unpacked_[w].bytes += unpacked[w].bytes;
      unpacked_[w].seconds += unpacked[w].seconds;
    }
    options_.on_progress(sample_.bytes);
  }

  struct Unpacked {
    std::uint64_t bytes = 0;  // plain
    double seconds = 0;
  };
  static Unpacked time_unpacking(std::string_view packed, std::size_t plain_bytes) {
    std::string plain(plain_bytes,
                      '\0');  // a mount uses memory again and again: to have it from the system is not timed
    const double start = thread_seconds();
    return unpack(packed, plain) ? Unpacked{plain.size(), thread_seconds() - start} : Unpacked{};
  }

  void estimate() {
    const MutexLock guard(mutex_);
    std::vector<const DrawnComposite*> seen;
    for (const DrawnComposite& one : drawn_) {
      if (!one.shares.empty()) seen.push_back(&one);
    }
    sample_.whole = sample_.whole && seen.size() == drawn_.size();
    // Drawn ones were chosen by their bytes; where all were to be packed each counts by them.
    const auto weight = [&](const DrawnComposite& one) {
      return all_wanted_ ? static_cast<double>(one.bytes) : static_cast<double>(one.times);
    };
    double sum = 0, x_mean = 0;
    for (const DrawnComposite* one : seen) {
      sum += weight(*one);
      x_mean += weight(*one) * one->compressed_already;
    }
    if (sum <= 0) return;
    x_mean /= sum;
    for (std::size_t w = 0; w < sample_.packings.size(); ++w) {
      double y_mean = 0, xy = 0, xx = 0, rest = 0;
      for (const DrawnComposite* one : seen) y_mean += weight(*one) * one->shares[w] / sum;
      for (const DrawnComposite* one : seen) {
        const double dx = one->compressed_already - x_mean;
        xy += weight(*one) * dx * (one->shares[w] - y_mean);
        xx += weight(*one) * dx * dx;
      }
      // What is compressed already cannot shrink the store: a slope the other way is chance.
      const bool known = !sample_.whole && xx / sum > 1e-4 && seen.size() >= 4;
      const double slope = known ? std::clamp(xy / xx, 0.0, 1.0) : 0;
      for (const DrawnComposite* one : seen) {
        const double off = one->shares[w] - y_mean - slope * (one->compressed_already - x_mean);
        rest += weight(*one) * off * off;
      }
      PackingEstimate& packing = sample_.packings[w];
      packing.share = std::clamp(y_mean + slope * (compressed_already_ - x_mean), 0.001, 1.0);
      if (!sample_.whole && seen.size() > 1)
        packing.uncertainty = std::sqrt(rest / sum / static_cast<double>(seen.size() - 1));
      packing.seconds_a_byte = spent_[w] / static_cast<double>(std::max<std::uint64_t>(1, packed_bytes_));
      packing.unpack_seconds_a_byte =
          unpacked_[w].seconds / static_cast<double>(std::max<std::uint64_t>(1, unpacked_[w].bytes));
    }
  }

  const TreeSurvey& survey_;
  const StoreFormat& format_;
  const SampleOptions& options_;
  const SurveyedContent content_;
  std::mt19937_64 random_{options_.seed};
  std::vector<DrawnComposite> drawn_;
  bool all_wanted_ = false;
  double compressed_already_ = 0;  // of all bytes
  Mutex mutex_;
  ContentSample sample_;
  std::uint64_t packed_bytes_ CFFS_GUARDED_BY(mutex_) = 0;
  std::vector<double> spent_;
  std::vector<Unpacked> unpacked_;
};

}  // namespace

Result<ContentSample> sample_content(const TreeSurvey& survey, const StoreFormat& format,
                                     const SampleOptions& options) {
  const FileDescriptor root(::open(survey.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return fail(errno, survey.root);
  return ContentSampling(survey, format, options, root.get()).run();
}

}  // namespace cffs
