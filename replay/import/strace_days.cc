#include "replay/import/strace_days.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "replay/logs/line_reader.h"
#include "replay/logs/strace_line.h"

namespace cffs::replay {
namespace {

// nullopt: it has no times, or others.
Result<std::optional<TimesOfFile>> times_of(const std::string& name) {
  StraceClock clock;
  std::optional<TimesOfFile> times;
  bool of_day = true;
  CFFS_TRY(LineReader reader, LineReader::open(name));
  while (of_day) {
    CFFS_TRY(const auto text, reader.next());
    if (!text) break;
    const auto line = parse_strace(*text);
    if (!line || !line->time_ns) continue;
    of_day = !line->relative && *line->time_ns < kDayNs;
    const std::int64_t now = clock.at(*line);
    if (!times) times = TimesOfFile{now, now};
    times->last_ns = std::max(times->last_ns, now);
  }
  return of_day ? times : std::nullopt;
}

}  // namespace

std::int64_t time_of_day_of_beginning(std::vector<TimesOfFile> files) {
  std::sort(files.begin(), files.end(),
            [](const TimesOfFile& a, const TimesOfFile& b) { return a.first_ns < b.first_ns; });
  std::int64_t known_until = -kDayNs, longest = 0, beginning = 0;
  for (const TimesOfFile& file : files) known_until = std::max(known_until, file.last_ns - kDayNs);
  for (const TimesOfFile& file : files) {
    if (file.first_ns - known_until > longest) {
      longest = file.first_ns - known_until;
      beginning = file.first_ns;
    }
    known_until = std::max(known_until, file.last_ns);
  }
  return beginning;
}

Result<std::vector<std::int64_t>> days_later(const std::vector<std::string>& names) {
  std::vector<std::int64_t> days(names.size(), 0);
  std::error_code unknown;
  const auto once = [&](const std::string& name) { return !std::filesystem::is_regular_file(name, unknown); };
  if (names.size() < 2 || std::any_of(names.begin(), names.end(), once)) return days;
  std::vector<std::optional<TimesOfFile>> times;
  std::vector<TimesOfFile> known;
  for (const std::string& name : names) {
    CFFS_TRY(times.emplace_back(), times_of(name));
    if (times.back()) known.push_back(*times.back());
  }
  const std::int64_t beginning = time_of_day_of_beginning(known);
  for (std::size_t i = 0; i < names.size(); ++i) days[i] = times[i] && times[i]->first_ns < beginning ? 1 : 0;
  return days;
}

}  // namespace cffs::replay
