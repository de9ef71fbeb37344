// Lines of a text file, plain or compressed (gz, xz, zst, bz2: whatever libarchive knows), streamed.
#pragma once

#include <cstdint>
#include <functional>
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
  // Without its end; nullopt at the end of the file. Of a line longer than 1 MiB the first
  // MiB comes, as one line.
  Result<std::optional<std::string>> next();
  // Of the file as it is, compressed perhaps; somewhat ahead of the lines. 0 in all: it is no regular file.
  std::uint64_t bytes_read() const;
  std::uint64_t bytes_in_all() const { return bytes_in_all_; }

 private:
  friend Result<std::string> read_whole(const std::string& path);
  friend Result<std::string> read_head(const std::string& path, std::size_t bytes);
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
  std::uint64_t bytes_in_all_ = 0;
  bool end_ = false;
};

// Visits the lines of a file with their numbers, from 1, until one is refused.
Status each_line(const std::string& path,
                 const std::function<Status(const std::string& line, std::uint64_t number)>& visit);
// The same kinds of file, whole or their first bytes (fewer where the file is shorter).
Result<std::string> read_whole(const std::string& path);
Result<std::string> read_head(const std::string& path, std::size_t bytes);

}  // namespace cffs::replay
