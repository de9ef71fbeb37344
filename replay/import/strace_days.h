// On which day each of several files of strace -ff begins, where lines have times of day alone (-t, -tt): of the time that no file is about,
// the longest stretch is taken for what is outside of the recording, so that it begins behind that. A parent that waits for what it
// started is about all of it; a recording of a day or more is not told apart.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace cffs::replay {

// From a file's first line to its last, since the midnight before the first.
struct TimesOfFile {
  std::int64_t first_ns = 0, last_ns = 0;
};

// The time of day at which what these files are about begins; 0 where none is more likely than the earliest.
std::int64_t time_of_day_of_beginning(std::vector<TimesOfFile> files);

// For each of the files 1 where it begins a day later than others, else 0. Reads them; but nothing where one can be read only once, which
// then all begin on one day, as with other kinds of times.
Result<std::vector<std::int64_t>> days_later(const std::vector<std::string>& names);

}  // namespace cffs::replay
