#include "core/browse/listing.h"

#include <grp.h>
#include <pwd.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <map>

namespace cffs {
namespace {

constexpr std::int64_t kListedSecondNs = 1'000'000'000;
constexpr std::int64_t kHalfAYearNs = 31'556'952 / 2 * kListedSecondNs;  // as ls reckons it

char type_letter(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return 'd';
    case S_IFLNK:
      return 'l';
    case S_IFIFO:
      return 'p';
    case S_IFSOCK:
      return 's';
    case S_IFCHR:
      return 'c';
    case S_IFBLK:
      return 'b';
    default:
      return '-';
  }
}

// Columns that a terminal gives it: each character one. Names that may be shown hold no controls.
std::size_t shown_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width, bool left) {
  const std::size_t own = shown_width(text);
  const std::string spaces(width > own ? width - own : 0, ' ');
  return left ? text + spaces : spaces + text;
}

std::string size_text(const Attributes& a, bool human) {
  if (S_ISCHR(a.mode) || S_ISBLK(a.mode))
    return std::to_string(major(a.rdev)) + ", " + std::to_string(minor(a.rdev));
  return human ? short_size(a.size) : std::to_string(a.size);
}

}  // namespace

std::string mode_text(mode_t mode) {
  std::string text(1, type_letter(mode));
  for (int shift = 6; shift >= 0; shift -= 3) {
    const mode_t bits = mode >> shift;
    text += (bits & 4) != 0 ? 'r' : '-';
    text += (bits & 2) != 0 ? 'w' : '-';
    text += (bits & 1) != 0 ? 'x' : '-';
  }
  const auto special = [&](mode_t bit, std::size_t at, char with_x, char without) {
    if ((mode & bit) != 0) text[at] = text[at] == 'x' ? with_x : without;
  };
  special(S_ISUID, 3, 's', 'S');
  special(S_ISGID, 6, 's', 'S');
  special(S_ISVTX, 9, 't', 'T');
  return text;
}

std::string short_size(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes);
  constexpr std::string_view kUnits = "KMGTPE";
  std::size_t unit = 0;
  std::uint64_t one = 1024;
  while (unit + 1 < kUnits.size() && bytes / one + (bytes % one > 0 ? 1 : 0) >= 1024) {
    one *= 1024;
    ++unit;
  }
  // Tenths, rounded up, while there is one digit before the point.
  const std::uint64_t whole = bytes / one, rest = bytes % one;
  const std::uint64_t tenths = whole * 10 + (rest * 10 + one - 1) / one;
  if (tenths < 100) return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + kUnits[unit];
  return std::to_string(whole + (rest > 0 ? 1 : 0)) + kUnits[unit];
}

std::string user_text(uid_t uid) {
  static std::map<uid_t, std::string>
      known;  // a look at the machine's users for each line would take longer than the rest
  const auto [it, is_new] = known.try_emplace(uid);
  if (is_new) {
    const passwd* user = ::getpwuid(uid);
    it->second = user != nullptr ? user->pw_name : std::to_string(uid);
  }
  return it->second;
}

std::string group_text(gid_t gid) {
  static std::map<gid_t, std::string> known;
  const auto [it, is_new] = known.try_emplace(gid);
  if (is_new) {
    const group* found = ::getgrgid(gid);
    it->second = found != nullptr ? found->gr_name : std::to_string(gid);
  }
  return it->second;
}

std::string time_text(std::int64_t time_ns, std::int64_t now_ns) {
  const bool recent = time_ns > now_ns - kHalfAYearNs && time_ns <= now_ns;
  std::time_t seconds = time_ns / kListedSecondNs - (time_ns % kListedSecondNs < 0 ? 1 : 0);
  std::tm local{};
  if (::localtime_r(&seconds, &local) == nullptr) return std::to_string(seconds);
  std::array<char, 64> text{};
  // Twelve columns each; years beyond four digits have more.
  const std::size_t n = std::strftime(text.data(), text.size(), recent ? "%b %e %H:%M" : "%b %e  %Y", &local);
  return {text.data(), n};
}

std::vector<std::string> long_lines(const std::vector<ShownFile>& files, const LongListing& how) {
  enum Column : std::size_t { inode, mode, links, owner, group, size, kColumns };
  std::vector<std::array<std::string, kColumns>> cells;
  std::array<std::size_t, kColumns> widths{};
  // Of devices ls makes two columns, which line up where they are all of one width.
  std::size_t major_width = 0, minor_width = 0;
  const bool any_acl = std::any_of(files.begin(), files.end(), [](const ShownFile& f) { return f.has_acl; });
  for (const ShownFile& file : files) {
    const Attributes& a = file.attributes;
    if (!S_ISCHR(a.mode) && !S_ISBLK(a.mode)) continue;
    major_width = std::max(major_width, std::to_string(major(a.rdev)).size());
    minor_width = std::max(minor_width, std::to_string(minor(a.rdev)).size());
  }
  for (const ShownFile& file : files) {
    const Attributes& a = file.attributes;
    std::array<std::string, kColumns> row;
    if (how.inode_numbers) row[inode] = std::to_string(a.ino.value);
    row[mode] = mode_text(a.mode) + (file.has_acl ? "+" : any_acl ? " " : "");
    row[links] = std::to_string(a.nlink);
    row[owner] = how.numbers_for_owners ? std::to_string(a.uid) : user_text(a.uid);
    row[group] = how.numbers_for_owners ? std::to_string(a.gid) : group_text(a.gid);
    row[size] = S_ISCHR(a.mode) || S_ISBLK(a.mode)
                    ? padded(std::to_string(major(a.rdev)), major_width, false) + ", " +
                          padded(std::to_string(minor(a.rdev)), minor_width, false)
                    : size_text(a, how.human_sizes);
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], shown_width(row[i]));
    cells.push_back(std::move(row));
  }
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto& row = cells[i];
    const bool left = !how.numbers_for_owners;
    std::string line;
    if (how.inode_numbers) line += padded(row[inode], widths[inode], false) + " ";
    line += row[mode] + " " + padded(row[links], widths[links], false) + " " +
            padded(row[owner], widths[owner], left) + " " + padded(row[group], widths[group], left) + " " +
            padded(row[size], widths[size], false) + " " +
            time_text(files[i].attributes.mtime_ns, how.now_ns) + " " + files[i].name;
    if (S_ISLNK(files[i].attributes.mode)) line += " -> " + files[i].target;
    lines.push_back(std::move(line));
  }
  return lines;
}

std::uint64_t total_kib(const std::vector<ShownFile>& files) {
  std::uint64_t bytes = 0;
  for (const ShownFile& file : files) bytes += file.attributes.allocated;
  return (bytes + 1023) / 1024;
}

std::vector<std::string> in_columns(const std::vector<std::string>& names, std::size_t width) {
  constexpr std::size_t kBetween = 2;
  if (names.empty()) return {};
  std::size_t rows = 1;
  std::vector<std::size_t> widths;
  for (;; ++rows) {
    widths.clear();
    std::size_t line = 0;
    for (std::size_t first = 0; first < names.size(); first += rows) {
      std::size_t widest = 0;
      for (std::size_t i = first; i < std::min(names.size(), first + rows); ++i)
        widest = std::max(widest, shown_width(names[i]));
      widths.push_back(widest);
      line += widest + (widths.size() > 1 ? kBetween : 0);
      if (line > width) break;
    }
    if (line <= width || rows >= names.size()) break;
  }
  std::vector<std::string> lines(std::min(rows, names.size()));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool last = i + rows >= names.size();
    lines[i % rows] += last ? names[i] : padded(names[i], widths[i / rows] + kBetween, true);
  }
  return lines;
}

}  // namespace cffs
