// The names of a transfer's temporaries, in a file beside what it brings: what a killed one left is told from what is somebody's.
//
// A temporary is put down before it has its name, where that can be, with its number in the file system; so is the list itself, in its
// own first line. A copy of either has another number, and is taken for what it is, a user's file. What gets its number with its name is
// expected by the name alone, and goes by that as long as it has no content. While its transfer lives the list is
// locked (flock). At the end of a transfer it goes. In a folder where no list can be made, or kept, what is left stays.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/mutex.h"
#include "core/object/file_descriptor.h"

namespace cffs {

class TransferList {
 public:
  // The folder outlives it. The list is made with what is first put down.
  explicit TransferList(int folder) : folder_(folder) {}
  ~TransferList() { end(); }
  TransferList(const TransferList&) = delete;
  TransferList& operator=(const TransferList&) = delete;

  // `path`: from the folder on. From any thread.
  void add(ino_t number, const std::string& path) CFFS_EXCLUDES(mutex_);
  // The same of what is about to be made there.
  void expect(const std::string& path) { add(kNotYet, path); }
  // Nothing of this transfer is left.
  void end() CFFS_EXCLUDES(mutex_);

  // Takes away what the lists of killed transfers name, where it is what they mean, and the lists. Returns how many files that were.
  static std::uint64_t clear(int folder);
  // Whether this name is one's that is needed yet.
  static bool is_one(int folder, const std::string& name);

 private:
  static constexpr ino_t kNotYet = 0;  // no file's number
  static bool is_meant(ino_t number, const struct stat& there);
  static bool take_away(int folder, std::string_view entry);
  static bool clear_listed(int folder, int list, std::uint64_t from, std::uint64_t& gone);
  bool begin(FileDescriptor file) CFFS_REQUIRES(mutex_);
  bool make_unseen() CFFS_REQUIRES(mutex_);
  bool make_named() CFFS_REQUIRES(mutex_);
  bool make() CFFS_REQUIRES(mutex_);

  const int folder_;
  Mutex mutex_;
  FileDescriptor file_ CFFS_GUARDED_BY(mutex_);
  std::string name_ CFFS_GUARDED_BY(mutex_);
  bool cannot_be_ CFFS_GUARDED_BY(mutex_) = false;
};

}  // namespace cffs
