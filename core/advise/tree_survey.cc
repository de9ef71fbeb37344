#include "core/advise/tree_survey.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <utility>

#include "core/advise/surveyed_content.h"
#include "core/base/checksum.h"
#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/base/parallel.h"
#include "core/base/printable.h"
#include "core/packed/packer.h"
#include "core/table/inode.h"

namespace cffs {

std::string TreeSurvey::path_of(std::uint32_t directory) const {
  std::vector<std::uint32_t> way;
  for (std::uint32_t at = directory; at != 0; at = directories[at].parent) way.push_back(at);
  std::string path;
  for (auto at = way.rbegin(); at != way.rend(); ++at) {
    if (!path.empty()) path += '/';
    path += directories[*at].name;
  }
  return path;
}

namespace {

constexpr std::size_t kMostSurveyProblems = 20;
constexpr std::size_t kLongestExtension = 12;

std::string surveyed_extension(std::string_view name) {
  const std::size_t stop = name.rfind('.');
  if (stop == std::string_view::npos || stop == 0 || name.size() - stop - 1 > kLongestExtension) return {};
  std::string extension(name.substr(stop + 1));
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return extension;
}

std::uint64_t surveyed_age_s(std::int64_t now_s, const timespec& then) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, time_between(then.tv_sec, now_s)));
}

class SurveyWalk {
 public:
  SurveyWalk(const std::string& root, const SurveyOptions& options) : options_(options) {
    survey_.root = root;
  }

  Result<TreeSurvey> run() {
    const auto began = std::chrono::steady_clock::now();
    root_ = FileDescriptor(::open(survey_.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat st;
    if (!root_ || ::fstat(root_.get(), &st) != 0) return fail(errno, survey_.root);
    device_ = st.st_dev;
    content_ = std::make_unique<SurveyedContent>(root_.get());
    survey_.allocated_bytes = static_cast<std::uint64_t>(st.st_blocks) * 512;
    {
      const MutexLock guard(mutex_);
      SurveyedDirectory top;
      top.device = st.st_dev;
      top.inode = st.st_ino;
      survey_.directories.push_back(std::move(top));
      waiting_.push_back(0);
    }
    const unsigned workers = std::max(1u, options_.workers);
    in_parallel(workers, workers, [this](std::size_t) {
      try {
        work();
      } catch (...) {  // memory ran out: the others are not to wait for what this one had taken
        const MutexLock guard(mutex_);
        failed_ = true;
        changed_.notify_all();
        throw;
      }
    });
    survey_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return std::move(survey_);
  }

 private:
  // A file with several names.
  struct LinkedFile {
    std::string name;
    struct stat st;
    bool shrinks;
  };
  // What one directory adds; given over at once, so that the lock is taken once for each.
  struct Found {
    SurveyedDirectory directory;
    std::vector<SurveyedDirectory> children;
    std::vector<LinkedFile> linked;
    TreeSurvey counts;
  };

  void work() {
    for (;;) {
      std::uint32_t index = 0;
      std::string path;
      std::set<std::pair<dev_t, ino_t>> above;
      {
        MutexLock guard(mutex_);
        while (waiting_.empty() && busy_ > 0 && !failed_) changed_.wait(mutex_);
        if (waiting_.empty() || failed_ || !options_.go_on()) {
          waiting_.clear();
          changed_.notify_all();
          return;
        }
        index = waiting_.back();
        waiting_.pop_back();
        ++busy_;
        path = survey_.path_of(index);
        for (std::uint32_t at = index; at != SurveyedDirectory::kNone; at = survey_.directories[at].parent)
          above.emplace(survey_.directories[at].device, survey_.directories[at].inode);
      }
      Found found;
      list(path, above, found);
      {
        const MutexLock guard(mutex_);
        take(index, std::move(found));
        --busy_;
        changed_.notify_all();
      }
    }
  }

  std::string shown(const std::string& path) const {
    return printable(path.empty() ? survey_.root : survey_.root + "/" + path);
  }
  void note(Found& found, const std::string& path, int error) const {
    if (error == ENOENT) {
      ++found.counts.vanished;
      return;
    }
    ++found.counts.failed;
    if (found.counts.problems.size() < kMostSurveyProblems)
      found.counts.problems.push_back(Error::os(error, shown(path)).message());
  }

  void list(const std::string& path, const std::set<std::pair<dev_t, ino_t>>& above, Found& found) const {
    FileDescriptor fd = content_->open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!fd) return note(found, path, errno);
    const int at = fd.get();
    const std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(at), ::closedir);
    if (!dir) return note(found, path, errno);
    (void)fd.release();
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(dir.get());
      if (entry == nullptr && errno != 0) note(found, path, errno);
      if (entry == nullptr) break;
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      struct stat st;
      if (::fstatat(at, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
        note(found, path.empty() ? name : path + "/" + name, errno);
        continue;
      }
      take_entry(path, name, st, above, found);
    }
    std::vector<SurveyedFile>& files = found.directory.files;
    std::sort(files.begin(), files.end(), [&](const SurveyedFile& a, const SurveyedFile& b) {
      return found.directory.name_of(a) < found.directory.name_of(b);
    });
    std::sort(found.children.begin(), found.children.end(),
              [](const SurveyedDirectory& a, const SurveyedDirectory& b) {
                return checksum(a.name) < checksum(b.name);
              });
  }

  void take_entry(const std::string& path, const std::string& name, const struct stat& st,
                  const std::set<std::pair<dev_t, ino_t>>& above, Found& found) const {
    ++found.directory.entries;
    found.counts.name_bytes += name.size();
    if (S_ISREG(st.st_mode)) {
      const bool shrinks = this->shrinks(path.empty() ? name : path + "/" + name, st);
      if (st.st_nlink > 1) {
        found.linked.push_back({name, st, shrinks});
      } else {
        add_file(found.directory, found.counts, {name, st, shrinks});
      }
      return;
    }
    if (S_ISDIR(st.st_mode)) {
      if (above.contains({st.st_dev, st.st_ino})) {
        ++found.counts.failed;
        found.counts.problems.push_back(shown(path.empty() ? name : path + "/" + name) +
                                        " is a directory that it lies in itself; it was left out");
        return;
      }
      if (st.st_dev != device_ && !options_.other_devices) {
        ++found.counts.on_other_devices;
        return;
      }
      SurveyedDirectory child;
      child.name = name;
      child.device = st.st_dev;
      child.inode = st.st_ino;
      found.children.push_back(std::move(child));
      found.counts.allocated_bytes += static_cast<std::uint64_t>(st.st_blocks) * 512;
    } else if (st.st_nlink > 1) {
      found.linked.push_back({name, st, false});
    } else {
      add_node(found.counts, st);
    }
  }

  // A symbolic link, or what is no file and no directory.
  static void add_node(TreeSurvey& counts, const struct stat& st) {
    ++(S_ISLNK(st.st_mode) ? counts.symlinks : counts.specials);
    if (S_ISLNK(st.st_mode)) counts.name_bytes += static_cast<std::uint64_t>(st.st_size);
    counts.allocated_bytes += static_cast<std::uint64_t>(st.st_blocks) * 512;
  }

  // As an import finds it (core/transfer/directory_import.cc).
  bool shrinks(const std::string& path, const struct stat& st) const {
    const auto size = static_cast<std::uint64_t>(st.st_size);
    if (size <= kPackedUnseen) return true;
    if (size > kMemberMax || static_cast<std::uint64_t>(st.st_blocks) * 512 < size - size / 4) return false;
    return is_worth_packing({Codec::zstd, kUsualZstdLevel}, size,
                            [&](std::uint64_t offset, Bytes out) -> Result<std::size_t> {
                              const auto piece = content_->read(path, offset, out.size());
                              if (!piece) return fail(ENODATA);
                              return piece->copy(reinterpret_cast<char*>(out.data()), out.size());
                            });
  }

  void add_file(SurveyedDirectory& directory, TreeSurvey& counts, const LinkedFile& found) const {
    const auto& [name, st, shrinks] = found;
    SurveyedFile file;
    file.shrinks = shrinks;
    file.size = static_cast<std::uint64_t>(st.st_size);
    file.name_at = static_cast<std::uint32_t>(directory.names.size());
    file.name_bytes = static_cast<std::uint16_t>(name.size());
    directory.names += name;
    directory.files.push_back(file);
    ++counts.files;
    counts.bytes += file.size;
    counts.allocated_bytes += static_cast<std::uint64_t>(st.st_blocks) * 512;
    counts.sizes.add(file.size, file.size);
    counts.changed.add(surveyed_age_s(options_.now_s, st.st_mtim), file.size);
    counts.read.add(surveyed_age_s(options_.now_s, st.st_atim), file.size);
    Tally& tally = counts.extensions[surveyed_extension(name)];
    ++tally.files;
    tally.bytes += file.size;
  }

  void take(std::uint32_t index, Found found) CFFS_REQUIRES(mutex_) {
    std::sort(found.linked.begin(), found.linked.end(),
              [](const LinkedFile& a, const LinkedFile& b) { return a.name < b.name; });
    bool added = false;
    for (const LinkedFile& file : found.linked) {
      if (!linked_.emplace(file.st.st_dev, file.st.st_ino).second) {
        ++survey_.further_names;
      } else if (S_ISREG(file.st.st_mode)) {
        add_file(found.directory, found.counts, file);
        added = true;
      } else {
        add_node(found.counts, file.st);
      }
    }
    if (added) {
      std::sort(found.directory.files.begin(), found.directory.files.end(),
                [&](const SurveyedFile& a, const SurveyedFile& b) {
                  return found.directory.name_of(a) < found.directory.name_of(b);
                });
    }
    for (SurveyedDirectory& child : found.children) {
      child.parent = index;
      child.depth = survey_.directories[index].depth + 1;
      found.directory.children.push_back(static_cast<std::uint32_t>(survey_.directories.size()));
      waiting_.push_back(found.directory.children.back());
      survey_.directories.push_back(std::move(child));
    }
    SurveyedDirectory& directory = survey_.directories[index];
    directory.names = std::move(found.directory.names);
    directory.files = std::move(found.directory.files);
    directory.children = std::move(found.directory.children);
    directory.entries = found.directory.entries;
    survey_.largest_directory = std::max(survey_.largest_directory, directory.entries);
    const TreeSurvey& counts = found.counts;
    for (auto member : {&TreeSurvey::files, &TreeSurvey::bytes, &TreeSurvey::allocated_bytes,
                        &TreeSurvey::symlinks, &TreeSurvey::specials, &TreeSurvey::name_bytes,
                        &TreeSurvey::on_other_devices, &TreeSurvey::vanished, &TreeSurvey::failed})
      survey_.*member += counts.*member;
    survey_.sizes.add(counts.sizes);
    survey_.changed.add(counts.changed);
    survey_.read.add(counts.read);
    for (const auto& [extension, tally] : counts.extensions) {
      Tally& sum = survey_.extensions[extension];
      sum.files += tally.files;
      sum.bytes += tally.bytes;
    }
    for (const std::string& problem : counts.problems) {
      if (survey_.problems.size() < kMostSurveyProblems) survey_.problems.push_back(problem);
    }
    options_.on_progress(survey_.entries());
  }

  const SurveyOptions& options_;
  FileDescriptor root_;
  dev_t device_ = 0;
  std::unique_ptr<SurveyedContent> content_;
  TreeSurvey survey_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::uint32_t> waiting_ CFFS_GUARDED_BY(mutex_);  // the last one first: few wait then
  unsigned busy_ CFFS_GUARDED_BY(mutex_) = 0;
  bool failed_ CFFS_GUARDED_BY(mutex_) = false;  // a worker threw
  std::set<std::pair<dev_t, ino_t>> linked_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace

Result<TreeSurvey> survey_tree(const std::string& root, const SurveyOptions& options) {
  return SurveyWalk(root, options).run();
}

}  // namespace cffs
