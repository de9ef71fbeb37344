#include "cli/progress_line.h"

#include <unistd.h>

#include <cstdio>

#include "cli/terminal_width.h"
#include "core/base/clock.h"

namespace cffs::cli {
namespace {

constexpr std::int64_t kOnTerminalMs = 100, kInLogMs = 10'000;

// A line that is longer than the terminal is wide cannot be rewritten in place.
std::string fitting(const std::string& text) {
  const std::size_t width = terminal_width(STDERR_FILENO);
  if (width < 2) return text;
  std::size_t columns = 0, bytes = 0;
  for (; bytes < text.size(); ++bytes) {
    const bool begins = (static_cast<unsigned char>(text[bytes]) & 0xC0) != 0x80;  // a character of UTF-8
    if (begins && ++columns >= width) break;
  }
  return text.substr(0, bytes);
}

}  // namespace

bool ProgressLine::silent_ = false;

ProgressLine::ProgressLine()
    : terminal_(::isatty(STDERR_FILENO) == 1), last_ms_(terminal_ ? 0 : SystemClock().steady_ms()) {}
ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::clear() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
  shown_ = false;
}

bool ProgressLine::is_due(std::int64_t now_ms) const {
  return now_ms - last_ms_ >= (terminal_ ? kOnTerminalMs : kInLogMs);
}

void ProgressLine::write(const std::string& text, std::int64_t now_ms) {
  last_ms_ = now_ms;
  shown_ = terminal_;
  if (terminal_)
    std::fprintf(stderr, "\r\033[K%s", fitting(text).c_str());
  else
    std::fprintf(stderr, "%s\n", text.c_str());
}

void ProgressLine::show(const std::string& text) {
  show([&] { return text; });
}

void ProgressLine::show(const std::function<std::string()>& text) {
  if (silent_) return;
  const std::int64_t now_ms = SystemClock().steady_ms();
  if (is_due(now_ms)) write(text(), now_ms);
}

void ProgressLine::show(const WorkStep& step) {
  if (silent_) return;
  const std::int64_t now_ms = SystemClock().steady_ms();
  pace_.note(step, now_ms);
  if (is_due(now_ms)) write(pace_.sentence(), now_ms);
}

void ProgressLine::show(const std::function<WorkStep()>& step) {
  if (silent_) return;
  const std::int64_t now_ms = SystemClock().steady_ms();
  if (!is_due(now_ms) && !pace_.wants_sample(now_ms)) return;
  pace_.note(step(), now_ms);
  if (is_due(now_ms)) write(pace_.sentence(), now_ms);
}

}  // namespace cffs::cli
