#include "core/advise/duplicates.h"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <unordered_map>

#include "core/advise/surveyed_content.h"
#include "core/base/checksum.h"
#include "core/base/mutex.h"
#include "core/base/parallel.h"
#include "core/table/content_row.h"

namespace cffs {
namespace {

struct SameSizeFile {
  std::uint64_t size = 0;
  std::uint32_t directory = 0, index = 0;
};

// Files of one size.
struct SizeClass {
  std::size_t first = 0, files = 0;
  std::uint64_t size = 0;
  bool largest = false;  // chosen by its bytes, and stands for itself alone
  std::uint64_t compared = 0, again = 0;

  std::uint64_t bytes() const { return size * files; }
};

constexpr std::uint64_t kComparedWhole = 1u << 20;
constexpr std::uint64_t kComparedPiece = 64u << 10;

constexpr std::uint64_t kSharedAtMost = 1u << 20;  // larger ones are blobs, but for a store that is compressed

std::uint64_t bytes_to_read(std::uint64_t size) { return size <= kComparedWhole ? size : 3 * kComparedPiece; }

bool is_shared(std::uint64_t size) { return size >= kLeastShared && size <= kSharedAtMost; }

class DuplicateSearch {
 public:
  DuplicateSearch(const TreeSurvey& survey, const DuplicateOptions& options, int root)
      : survey_(survey), options_(options), content_(root) {}

  Duplicates run() {
    collect();
    choose();
    began_ = std::chrono::steady_clock::now();
    in_parallel(chosen_.size(), options_.workers, [&](std::size_t i) {
      if (options_.go_on() && in_time()) compare(classes_[chosen_[i]]);
    });
    return sum();
  }

 private:
  void collect() {
    for (std::uint32_t d = 0; d < survey_.directories.size(); ++d) {
      const auto& files = survey_.directories[d].files;
      for (std::uint32_t i = 0; i < files.size(); ++i) {
        if (files[i].size > 0) all_.push_back({files[i].size, d, i});
      }
    }
    std::sort(all_.begin(), all_.end(),
              [](const SameSizeFile& a, const SameSizeFile& b) { return a.size < b.size; });
    for (std::size_t i = 0; i < all_.size();) {
      std::size_t end = i;
      while (end < all_.size() && all_[end].size == all_[i].size) ++end;
      if (end - i > 1) {
        classes_.push_back({i, end - i, all_[i].size});
        found_.candidates += end - i;
        found_.candidate_bytes += classes_.back().bytes();
      }
      i = end;
    }
  }

  // Half of what may be read goes to the sizes that weigh most.
  void choose() {
    std::sort(classes_.begin(), classes_.end(),
              [](const SizeClass& a, const SizeClass& b) { return a.bytes() > b.bytes(); });
    std::uint64_t bytes = 0, files = 0;
    const auto fits = [&](const SizeClass& one, std::uint64_t share) {
      return bytes + bytes_to_read(one.size) * one.files <= options_.bytes / share &&
             files + one.files <= options_.files / share;
    };
    const auto take = [&](std::size_t i) {
      chosen_.push_back(i);
      bytes += bytes_to_read(classes_[i].size) * classes_[i].files;
      files += classes_[i].files;
    };
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      classes_[i].largest = fits(classes_[i], 2);
      if (classes_[i].largest) {
        take(i);
      } else {
        others.push_back(i);
      }
    }
    std::mt19937_64 random(options_.seed);
    std::shuffle(others.begin(), others.end(), random);
    for (const std::size_t i : others) {
      if (fits(classes_[i], 1)) take(i);
    }
  }

  std::optional<std::uint64_t> hash(const SameSizeFile& file) const {
    const SurveyedDirectory& directory = survey_.directories[file.directory];
    std::string path = survey_.path_of(file.directory);
    if (!path.empty()) path += '/';
    path += directory.name_of(directory.files[file.index]);
    if (file.size <= kComparedWhole) {
      const auto content = content_.read(path, 0, file.size);
      if (!content) return {};
      return checksum(*content);
    }
    std::string pieces;
    for (const std::uint64_t at :
         {std::uint64_t{0}, (file.size - kComparedPiece) / 2, file.size - kComparedPiece}) {
      const auto piece = content_.read(path, at, kComparedPiece);
      if (!piece) return {};
      pieces += *piece;
    }
    return checksum(pieces);
  }

  bool in_time() const {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began_;
    return passed.count() < options_.seconds;
  }

  // Of one size there may be very many files: those that there is time for stand for the others.
  void compare(SizeClass& one) {
    std::unordered_map<std::uint64_t, std::uint64_t> times;
    std::uint64_t compared = 0, again = 0;
    for (std::size_t i = one.first; i < one.first + one.files; ++i) {
      if (!options_.go_on()) return;
      if (!in_time()) break;
      const auto sum = hash(all_[i]);
      if (!sum) continue;
      ++compared;
      if (times[*sum]++ > 0) ++again;
    }
    const MutexLock guard(mutex_);
    one.compared = compared;
    one.again = again;
    found_.compared += compared;
    found_.compared_bytes += compared * one.size;
    options_.on_progress(found_.compared);
  }

  Duplicates sum() {
    const MutexLock guard(mutex_);
    double others_bytes = 0, others_files = 0, seen_bytes = 0, seen_files = 0, again_bytes = 0,
           again_files = 0, again_shared = 0;
    found_.whole = true;
    for (const SizeClass& one : classes_) {
      if (one.compared < one.files) found_.whole = false;
      if (one.compared > 0 && one.largest) {
        const double of_all = static_cast<double>(one.files) / static_cast<double>(one.compared);
        const auto again = static_cast<std::uint64_t>(static_cast<double>(one.again) * of_all);
        found_.files += again;
        found_.bytes += again * one.size;
        if (is_shared(one.size)) found_.shared_bytes += again * one.size;
        continue;
      }
      others_bytes += static_cast<double>(one.bytes());
      others_files += static_cast<double>(one.files);
      seen_bytes += static_cast<double>(one.compared * one.size);
      seen_files += static_cast<double>(one.compared);
      again_bytes += static_cast<double>(one.again * one.size);
      again_files += static_cast<double>(one.again);
      if (is_shared(one.size)) again_shared += static_cast<double>(one.again * one.size);
    }
    if (seen_bytes > 0) {
      found_.bytes += static_cast<std::uint64_t>(again_bytes / seen_bytes * others_bytes);
      found_.shared_bytes += static_cast<std::uint64_t>(again_shared / seen_bytes * others_bytes);
      found_.files += static_cast<std::uint64_t>(again_files / seen_files * others_files);
    }
    return found_;
  }

  const TreeSurvey& survey_;
  const DuplicateOptions& options_;
  const SurveyedContent content_;
  std::vector<SameSizeFile> all_;
  std::vector<SizeClass> classes_;
  std::vector<std::size_t> chosen_;
  std::chrono::steady_clock::time_point began_;
  Mutex mutex_;
  Duplicates found_;
};

}  // namespace

Result<Duplicates> find_duplicates(const TreeSurvey& survey, const DuplicateOptions& options) {
  const FileDescriptor root(::open(survey.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return fail(errno, survey.root);
  return DuplicateSearch(survey, options, root.get()).run();
}

}  // namespace cffs
