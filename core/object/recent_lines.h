// LevelDB's own log: what it writes of its flushes, compactions and recoveries. The newest 64 KiB are kept, in memory alone: on the medium each
// line would be a write beside the table's own, in a pool a request, and who opens a store to look must write nothing.
//
// LevelDB calls with its lock held, so nothing is waited for here but a copy. Thread safety: everything.
#pragma once

#include <leveldb/env.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>

#include "core/base/mutex.h"

namespace cffs {

class RecentLines {
 public:
  static constexpr std::size_t kMost = 64 * 1024;

  void add(const std::string& line) {
    const MutexLock guard(mutex_);
    text_.append(line).push_back('\n');
    if (text_.size() <= kMost) return;
    const std::size_t end = text_.find('\n', text_.size() - kMost * 3 / 4);  // a quarter at once
    text_.erase(0, end == std::string::npos ? text_.size() : end + 1);
  }
  std::string text() const {
    const MutexLock guard(mutex_);
    return text_;
  }

 private:
  mutable Mutex mutex_;  // leaf
  std::string text_ CFFS_GUARDED_BY(mutex_);
};

// LevelDB owns it, and may write to the end of its database.
class RecentLinesLogger final : public leveldb::Logger {
 public:
  explicit RecentLinesLogger(std::shared_ptr<RecentLines> lines) : lines_(std::move(lines)) {}
  void Logv(const char* format, std::va_list arguments) override {
    std::array<char, 1024> line;
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    ::gmtime_r(&now, &utc);
    const std::size_t n = std::strftime(line.data(), line.size(), "%Y-%m-%dT%H:%M:%SZ ", &utc);
    (void)std::vsnprintf(line.data() + n, line.size() - n, format, arguments);
    std::string text(line.data());
    while (text.ends_with('\n')) text.pop_back();
    try {
      lines_->add(text);
    } catch (const std::bad_alloc&) {  // through LevelDB nothing may be thrown: the line is lost
    }
  }

 private:
  const std::shared_ptr<RecentLines> lines_;
};

}  // namespace cffs
