#include "replay/logs/line_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include <algorithm>

namespace cffs::replay {
namespace {

constexpr std::size_t kLongestLine = 1u << 20;
constexpr std::size_t kBlock = 256 * 1024;

std::string problem_of(archive* a) {
  const char* text = archive_error_string(a);
  return text != nullptr ? text : "cannot be read";
}

}  // namespace

void LineReader::Close::operator()(archive* a) const { archive_read_free(a); }

Result<LineReader> LineReader::open(const std::string& path) {
  struct stat st {};
  if (path != "-" && ::stat(path.c_str(), &st) != 0) return fail(errno, path);
  if (path != "-" && S_ISDIR(st.st_mode))
    return fail(Error::usage(path + " is a directory; name the files in it"));
  std::unique_ptr<archive, Close> a(archive_read_new());
  archive_read_support_filter_all(a.get());
  archive_read_support_format_raw(a.get());
  archive_read_support_format_empty(a.get());
  const char* name = path == "-" ? nullptr : path.c_str();
  archive_entry* entry = nullptr;
  if (archive_read_open_filename(a.get(), name, kBlock) != ARCHIVE_OK) {
    return fail(Error::usage(path + ": " + problem_of(a.get()) + "; is the file complete?"));
  }
  const int state = archive_read_next_header(a.get(), &entry);
  LineReader reader(std::move(a), path);
  if (S_ISREG(st.st_mode)) reader.bytes_in_all_ = static_cast<std::uint64_t>(st.st_size);
  if (state == ARCHIVE_EOF) {
    reader.end_ = true;
  } else if (state < ARCHIVE_WARN) {
    return fail(Error::usage(path + ": " + problem_of(reader.archive_.get()) + "; is the file complete?"));
  }
  return reader;
}

std::uint64_t LineReader::bytes_read() const {
  return static_cast<std::uint64_t>(std::max<la_int64_t>(0, archive_filter_bytes(archive_.get(), -1)));
}

Status LineReader::fill() {
  buffer_.erase(0, at_);
  at_ = 0;
  const std::size_t old = buffer_.size();
  buffer_.resize(old + kBlock);
  const la_ssize_t n = archive_read_data(archive_.get(), buffer_.data() + old, kBlock);
  if (n < 0) return fail(Error::usage(path_ + ": " + problem_of(archive_.get()) + "; is the file complete?"));
  buffer_.resize(old + static_cast<std::size_t>(n));
  end_ = n == 0;
  return {};
}

Result<std::optional<std::string>> LineReader::next() {
  std::size_t newline = buffer_.find('\n', at_);
  while (newline == std::string::npos && !end_ && buffer_.size() - at_ < kLongestLine) {
    CFFS_TRY_VOID(fill());
    newline = buffer_.find('\n', at_);
  }
  if (newline == std::string::npos) {
    if (at_ == buffer_.size()) return std::optional<std::string>();
    newline = buffer_.size();
  }
  std::string line = buffer_.substr(at_, std::min(newline - at_, kLongestLine));
  at_ = std::min(newline + 1, buffer_.size());
  // The rest of a line that is too long is no line of its own.
  for (bool ended = newline < buffer_.size(); !ended && !(end_ && at_ == buffer_.size());) {
    newline = buffer_.find('\n', at_);
    ended = newline != std::string::npos;
    at_ = ended ? newline + 1 : buffer_.size();
    if (!ended && !end_) CFFS_TRY_VOID(fill());
  }
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return std::optional<std::string>(std::move(line));
}

Status each_line(const std::string& path,
                 const std::function<Status(const std::string& line, std::uint64_t number)>& visit) {
  CFFS_TRY(LineReader reader, LineReader::open(path));
  for (std::uint64_t number = 1;; ++number) {
    CFFS_TRY(const auto line, reader.next());
    if (!line) return {};
    CFFS_TRY_VOID(visit(*line, number));
  }
}

// Who takes a whole file into memory takes what its compressed bytes can stand for, not what somebody made them stand for.
Result<std::string> read_whole(const std::string& path) {
  constexpr std::uint64_t kAnyway = 64u << 20;
  constexpr std::uint64_t kMostPerByte = 200;  // traces become a tenth, rarely a fiftieth
  CFFS_TRY(LineReader reader, LineReader::open(path));
  while (!reader.end_) {
    CFFS_TRY_VOID(reader.fill());
    const auto compressed = static_cast<std::uint64_t>(archive_filter_bytes(reader.archive_.get(), -1));
    if (reader.buffer_.size() > kAnyway + kMostPerByte * compressed) {
      return fail(Error::usage(path + ": " + std::to_string(compressed) +
                               " compressed bytes become more than " + std::to_string(kMostPerByte) +
                               " times as many; decompress it first"));
    }
  }
  return std::move(reader.buffer_);
}

Result<std::string> read_head(const std::string& path, std::size_t bytes) {
  CFFS_TRY(LineReader reader, LineReader::open(path));
  while (!reader.end_ && reader.buffer_.size() < bytes) CFFS_TRY_VOID(reader.fill());
  reader.buffer_.resize(std::min(bytes, reader.buffer_.size()));
  return std::move(reader.buffer_);
}

}  // namespace cffs::replay
