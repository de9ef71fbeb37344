// One line of strace's output, taken apart; what the call means is the caller's to say.
//
//   29755 1795228278.568819 openat(AT_FDCWD</proj/work>, "a.h", O_RDONLY|O_CLOEXEC) = 3</proj/work/a.h> <0.000012>
//
// Accepted: a pid in front, in brackets ([pid 17]) or none; time stamps by -t, -tt, -ttt, -r or none; paths of descriptors
// (-y, -yy) or not; durations (-T) or not; calls cut in two (unfinished, resumed), signals and ends of processes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cffs::replay {

struct StraceLine {
  enum class Kind { call, unfinished, resumed, exited, other };
  Kind kind = Kind::other;
  std::optional<std::uint64_t> process;
  std::optional<std::int64_t> time_ns;  // -ttt: since the epoch; -t, -tt: since midnight
  bool relative = false;                // -r: since the line before
  std::string_view name;                // of the call
  std::vector<std::string_view> arguments;
  std::string_view result;  // "3</a>", "-1 ENOENT (...)", "?"
  std::uint32_t duration_ns = 0;
  // Of an unfinished call what is before the mark, of a resumed one what is after it: both in a row are the call's text.
  std::string_view text;

  // The result as a number, or -errno; nullopt where strace did not know ("?").
  std::optional<std::int64_t> value() const;
};

// A time stamp of -t, -tt, -ttt or -r in nanoseconds; false: it is none.
bool strace_time(std::string_view word, std::int64_t& time_ns);
inline constexpr std::int64_t kDayNs = 86'400'000'000'000;

// When a recording's lines were written, whichever times they have: nanoseconds since the epoch, or since the midnight before the
// first line (-t, -tt: a step back of more than half a day is another day), or since the first line (-r).
class StraceClock {
 public:
  // Of each line in a row; of one without a time it is the one before.
  std::int64_t at(const StraceLine& line);
  std::int64_t now_ns() const { return now_ns_; }
  // Before the first line: of a recording that has begun so many days before it.
  void begin_days_later(std::int64_t days) { days_ns_ = days * kDayNs; }

 private:
  std::int64_t now_ns_ = 0, last_of_day_ns_ = 0, days_ns_ = 0;
};

// Views into `line`; nullopt: malformed.
std::optional<StraceLine> parse_strace(std::string_view line);
// "call(arguments) = result": name, arguments, result, duration. False: malformed.
bool parse_strace_call(std::string_view text, StraceLine& into);

struct StraceDescriptor {
  std::int64_t number = -1;  // -1: AT_FDCWD, or none
  std::string path;          // empty without -y
  bool working_directory = false;
};
StraceDescriptor descriptor_of(std::string_view argument);
// The string of a quoted argument, escapes undone; nullopt where it is something else (a pointer, NULL).
std::optional<std::string> quoted(std::string_view argument);
// Linux's number of an error name ("ENOENT"); 0: unknown.
int errno_of_name(std::string_view name);
// Linux's O_* flags, as on x86-64, of "O_RDONLY|O_CLOEXEC"; numbers are taken as they are.
std::uint32_t open_flags(std::string_view text);
// 0644, 0x1a4, 420: C's rules; 0 where it is no number.
std::uint64_t c_number(std::string_view text);

}  // namespace cffs::replay
