// Names of a zip that libarchive (to 3.8 at least) does not tell as they are; the directory at the zip's end has them:
// - those with backslashes that were not made on Windows: without a slash it takes them for paths of Windows, whoever made them, since it
//   asks the member;
// - those that are marked as UTF-8 and are not ASCII: in the locale "C" it has no name for them, and in one of UTF-8 another, composed (NFC).
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <string>

struct archive_entry;

namespace cffs {

class ZipNames {
 public:
  // None where there is no directory, or it is damaged: the reader tells of that.
  static ZipNames of(const std::string& path);

  // The next member, in the order in which they lie there: gets its name, and its type, back. False: it has data, which cannot be read.
  bool correct(archive_entry* entry);

 private:
  struct Member {
    std::string name;
    mode_t mode = 0;
    bool made_by_dos = false;
  };
  std::map<std::uint64_t, Member> members_;  // by number
  std::uint64_t next_ = 0;
};

}  // namespace cffs
