#include "core/live/exposition.h"

#include <array>
#include <charconv>

namespace cffs {
namespace {

constexpr unsigned kFirstOctave = 11, kLastOctave = 31;  // 2 microseconds, 2 seconds

void append_escaped(std::string& text, std::string_view value, bool quote) {
  for (const char c : value) {
    if (c == '\\') {
      text += "\\\\";
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '"' && quote) {
      text += "\\\"";
    } else {
      text += c;
    }
  }
}

std::string number(double value) {
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() ? std::string(digits.data(), end) : "NaN";
}

}  // namespace

void Exposition::family(std::string_view name, std::string_view type, std::string_view help) {
  family_ = name;
  text_.append("# HELP ").append(name).append(" ");
  append_escaped(text_, help, false);
  text_.append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
}

void Exposition::line(std::string_view suffix, const Labels& labels, std::string_view le,
                      std::string_view value) {
  text_.append(family_).append(suffix);
  if (!labels.empty() || !le.empty()) {
    char before = '{';
    const auto label = [&](std::string_view name, std::string_view of) {
      text_ += before;
      text_.append(name).append("=\"");
      append_escaped(text_, of, true);
      text_ += '"';
      before = ',';
    };
    for (const auto& [name, of] : labels) label(name, of);
    if (!le.empty()) label("le", le);
    text_ += '}';
  }
  text_ += ' ';
  text_.append(value).append("\n");
}

void Exposition::sample(double value, const Labels& labels) { line("", labels, "", number(value)); }
void Exposition::sample(std::uint64_t value, const Labels& labels) {
  line("", labels, "", std::to_string(value));
}

void Exposition::sample(const LatencyCounts& latencies, const Labels& labels) {
  constexpr double kSecond = 1e9;
  for (unsigned octave = kFirstOctave; octave <= kLastOctave; ++octave) {
    const std::uint64_t most_ns = std::uint64_t{1} << octave;
    line("_bucket", labels, number(static_cast<double>(most_ns) / kSecond),
         std::to_string(latencies.up_to(most_ns)));
  }
  const std::string count = std::to_string(latencies.count());
  line("_bucket", labels, "+Inf", count);
  line("_sum", labels, "", number(static_cast<double>(latencies.sum_ns) / kSecond));
  line("_count", labels, "", count);
}

}  // namespace cffs
