// Lines of a text file, plain or compressed (gz, xz, zst, bz2: whatever libarchive knows), streamed.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/base/error.h"

struct archive;

namespace cffs::replay {

class LineReader {
 public:
  // "-" is standard input.
  static Result<LineReader> open(const std::string& path);
  // Without its end; nullopt at the end of the file. A line longer than 1 MiB is cut there.
  Result<std::optional<std::string>> next();

 private:
  struct Close {
    void operator()(archive* a) const;
  };
  LineReader(std::unique_ptr<archive, Close> a, std::string path)
      : archive_(std::move(a)), path_(std::move(path)) {}
  Status fill();

  std::unique_ptr<archive, Close> archive_;
  std::string path_;
  std::string buffer_;
  std::size_t at_ = 0;
  bool end_ = false;
};

}  // namespace cffs::replay
