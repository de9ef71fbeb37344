// What a directory tree holds, for advice about it: counted by a walk that only looks.
//
// The walk is done by several threads, each with a directory at a time; no symbolic link is followed, nothing is opened but directories
// and, for what their like becomes in a compressed store, files of more than kPackedUnseen; access times stay where the system lets them (O_NOATIME). What cannot be read is counted and named, and the survey goes
// on; what vanishes meanwhile is counted apart. Memory: 16 bytes and its name for each regular file.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/advise/histogram.h"
#include "core/base/error.h"

namespace cffs {

struct SurveyedFile {
  std::uint64_t size = 0;
  std::uint32_t name_at = 0;  // in its directory's `names`
  std::uint16_t name_bytes = 0;
  bool shrinks = true;  // of larger ones than kPackedUnseen: is_worth_packing()
};

struct SurveyedDirectory {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::uint32_t parent = kNone;
  std::uint32_t depth = 0;
  dev_t device = 0;
  ino_t inode = 0;
  std::string name;
  std::string names;                    // of `files`, end to end
  std::vector<SurveyedFile> files;      // regular, by name; one with several names once
  std::vector<std::uint32_t> children;  // in an order of chance, as a store lists them
  std::uint64_t entries = 0;

  std::string_view name_of(const SurveyedFile& file) const {
    return std::string_view(names).substr(file.name_at, file.name_bytes);
  }
};

// Of one kind of names, by what is behind the last full stop, in lower case; "" has none.
using Extensions = std::map<std::string, Tally, std::less<>>;

struct TreeSurvey {
  std::string root;
  std::deque<SurveyedDirectory> directories;  // [0] is the root

  std::uint64_t files = 0, bytes = 0;  // regular, each once however many names it has
  std::uint64_t allocated_bytes = 0;   // what all inodes hold of the file system below
  std::uint64_t symlinks = 0, specials = 0;
  std::uint64_t further_names = 0;  // of files that were counted by another one
  std::uint64_t name_bytes = 0;     // of all entries, and of what symbolic links say
  std::uint64_t largest_directory = 0;
  SizeHistogram sizes{kSizeLimits, {}};
  AgeHistogram changed{kAgeLimits, {}}, read{kAgeLimits, {}};  // by mtime, by atime
  Extensions extensions;

  std::uint64_t on_other_devices = 0;  // directories that were left out
  std::uint64_t vanished = 0;          // while the survey went on
  std::uint64_t failed = 0;
  std::vector<std::string> problems;  // the first of what failed, one sentence each
  double seconds = 0;

  std::uint64_t entries() const {
    return files + further_names + symlinks + specials + directories.size() - 1;
  }
  std::uint64_t inodes() const { return files + symlinks + specials + directories.size(); }
  // Below the root, without a slash in front; "" is the root.
  std::string path_of(std::uint32_t directory) const;
};

struct SurveyOptions {
  unsigned workers = 4;
  bool other_devices = false;  // what is mounted below is walked, too
  std::int64_t now_s = 0;      // that ages are counted from
  // Asked and told now and then, from any thread. False from `go_on`: stop; what was seen until then is returned.
  std::function<bool()> go_on = [] { return true; };
  std::function<void(std::uint64_t names)> on_progress = [](std::uint64_t) {};
};

// ENOTDIR and the like where the root cannot be opened.
Result<TreeSurvey> survey_tree(const std::string& root, const SurveyOptions& options);

}  // namespace cffs
