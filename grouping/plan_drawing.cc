#include "grouping/plan_drawing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <numbers>
#include <unordered_map>

namespace cffs::grouping {
namespace {

constexpr double kCard = 320, kGap = 30, kTop = 112;
constexpr const char *kFirst = "#b5482a", *kMember = "#1f6f8b", *kBetween = "#c98b5a";
constexpr std::size_t kMostDrawn = 24;  // drawn of one group

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f)
      out += '?';
    else
      out += c;
  }
  return out;
}

std::string shortened(const std::string& text, std::size_t most) {
  return text.size() <= most ? text
                             : text.substr(0, most / 2 - 1) + ".." + text.substr(text.size() - most / 2 + 1);
}

[[gnu::format(printf, 2, 3)]] void add(std::string& out, const char* format, ...) {
  std::array<char, 1024> line{};
  va_list arguments;
  va_start(arguments, format);
  const int n = std::vsnprintf(line.data(), line.size(), format, arguments);
  va_end(arguments);
  out.append(line.data(), std::min(line.size() - 1, static_cast<std::size_t>(std::max(n, 0))));
}

struct Dot {
  std::size_t group = 0;
  double x = 0, y = 0;
};

// The directory that all members share.
std::string common_directory(const Plan& plan, const SelectedGroup& group) {
  std::string shared = plan.files[group.items.front()].path;
  for (const Item item : group.items) {
    const std::string& path = plan.files[item].path;
    const auto differ = std::mismatch(shared.begin(), shared.end(), path.begin(), path.end()).first;
    shared.erase(differ, shared.end());
  }
  const std::size_t slash = shared.rfind('/');
  return slash == std::string::npos ? std::string() : shared.substr(0, slash + 1);
}

// What dots and lines stand for; two columns, for a drawing of one group is narrow.
void add_legend(std::string& svg) {
  const auto text = [&](double x, double y, const char* what) {
    add(svg, "<text x=\"%.0f\" y=\"%.0f\" font-size=\"11\" fill=\"#444\">%s</text>\n", x + 20, y + 4, what);
  };
  const auto dot = [&](double x, double y, double radius, const char* colour, const char* what) {
    add(svg, "<circle cx=\"%.0f\" cy=\"%.0f\" r=\"%.0f\" fill=\"%s\"/>\n", x + 7, y, radius, colour);
    text(x, y, what);
  };
  const auto line = [&](double x, double y, const char* colour, const char* what) {
    add(svg, "<line x1=\"%.0f\" y1=\"%.0f\" x2=\"%.0f\" y2=\"%.0f\" stroke=\"%s\" stroke-width=\"2.5\"/>\n",
        x, y, x + 14, y, colour);
    text(x, y, what);
  };
  constexpr double kLeft = kGap, kRight = kGap + 170, kAbove = 62, kBelow = 84;
  dot(kLeft, kAbove, 6, kFirst, "is read first");
  dot(kLeft, kBelow, 6, kMember, "larger: more sessions");
  line(kRight, kAbove, kMember, "used together; thicker: more");
  line(kRight, kBelow, kBetween, "the same, across groups");
}

}  // namespace

std::string draw_plan(const Plan& plan, const Transactions& transactions, std::size_t most_groups) {
  const std::size_t n = std::min(most_groups, plan.groups.size());
  const auto columns =
      std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(n)))));
  const std::size_t rows = (n + columns - 1) / columns;
  std::unordered_map<Item, Dot> dots;
  for (std::size_t g = 0; g < n; ++g) {
    const std::size_t members = std::min(kMostDrawn, plan.groups[g].items.size());
    const double left = kGap + static_cast<double>(g % columns) * (kCard + kGap);
    const double top = kTop + static_cast<double>(g / columns) * (kCard + kGap);
    for (std::size_t m = 0; m < members; ++m) {
      const double angle =
          2 * std::numbers::pi * static_cast<double>(m) / static_cast<double>(members) - std::numbers::pi / 2;
      dots.emplace(plan.groups[g].items[m], Dot{g, left + kCard / 2 + 95 * std::cos(angle),
                                                top + kCard / 2 + 20 + 95 * std::sin(angle)});
    }
  }
  std::map<std::pair<Item, Item>, std::uint64_t> links;
  (void)transactions.for_each([&](std::uint64_t, std::span<const Item> items) {
    std::vector<Item> drawn;
    for (const Item item : items) {
      if (dots.contains(item)) drawn.push_back(item);
    }
    std::sort(drawn.begin(), drawn.end());
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      for (std::size_t j = i + 1; j < drawn.size(); ++j) ++links[{drawn[i], drawn[j]}];
    }
  });

  const double width = kGap + static_cast<double>(columns) * (kCard + kGap);
  const double height = kTop + static_cast<double>(std::max<std::size_t>(rows, 1)) * (kCard + kGap);
  std::string svg;
  add(svg,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
      "font-family=\"sans-serif\">\n",
      width, height);
  add(svg, "<rect width=\"100%%\" height=\"100%%\" fill=\"#fcfcfa\"/>\n");
  add(svg,
      "<text x=\"%.0f\" y=\"34\" font-size=\"18\" fill=\"#222\">%zu of %zu groups: files that sessions use "
      "together</text>\n",
      kGap, n, plan.groups.size());
  if (n > 0) add_legend(svg);
  for (std::size_t g = 0; g < n; ++g) {
    const SelectedGroup& group = plan.groups[g];
    const double left = kGap + static_cast<double>(g % columns) * (kCard + kGap);
    const double top = kTop + static_cast<double>(g / columns) * (kCard + kGap);
    add(svg,
        "<rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" rx=\"10\" fill=\"#fff\" "
        "stroke=\"#ccc\"/>\n",
        left, top, kCard, kCard);
    add(svg, "<text x=\"%.0f\" y=\"%.0f\" font-size=\"13\" fill=\"#222\">/%s</text>\n", left + 12, top + 22,
        escaped(shortened(common_directory(plan, group), 40)).c_str());
    add(svg,
        "<text x=\"%.0f\" y=\"%.0f\" font-size=\"11\" fill=\"#666\">%zu files, %.1f KB, %llu sessions, "
        "confidence %.0f %%</text>\n",
        left + 12, top + 40, group.items.size(), static_cast<double>(group.bytes) / 1e3,
        static_cast<unsigned long long>(group.support), group.confidence * 100);
  }
  const auto line = [&](Item a, Item b, std::uint64_t count, bool inside) {
    const auto most = std::max(plan.files[a].sessions, plan.files[b].sessions);
    const double share =
        most == 0 ? 0 : std::min(1.0, static_cast<double>(count) / static_cast<double>(most));
    if (share < (inside ? 0.05 : 0.2)) return;
    const Dot &from = dots[a], &to = dots[b];
    add(svg,
        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"%.1f\" "
        "stroke-opacity=\"%.2f\"/>\n",
        from.x, from.y, to.x, to.y, inside ? kMember : kBetween, 0.5 + 3 * share,
        inside ? 0.25 + 0.5 * share : 0.35);
  };
  for (const bool inside : {false, true}) {
    for (const auto& [pair, count] : links) {
      if ((dots[pair.first].group == dots[pair.second].group) == inside)
        line(pair.first, pair.second, count, inside);
    }
  }
  std::uint64_t most_sessions = 1;
  for (const auto& [item, dot] : dots) most_sessions = std::max(most_sessions, plan.files[item].sessions);
  for (std::size_t g = 0; g < n; ++g) {
    const SelectedGroup& group = plan.groups[g];
    const std::size_t members = std::min(kMostDrawn, group.items.size());
    const double middle = kGap + static_cast<double>(g % columns) * (kCard + kGap) + kCard / 2;
    for (std::size_t m = 0; m < members; ++m) {
      const Dot& dot = dots[group.items[m]];
      const PlanFile& file = plan.files[group.items[m]];
      const double radius =
          3 + 6 * std::sqrt(static_cast<double>(file.sessions) / static_cast<double>(most_sessions));
      add(svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\"/>\n", dot.x, dot.y, radius,
          m == 0 ? kFirst : kMember);
      if (members > 16 && m % 2 == 1) continue;
      const bool right = dot.x >= middle;
      add(svg, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"9\" fill=\"#333\" text-anchor=\"%s\">%s</text>\n",
          dot.x + (right ? radius + 2 : -radius - 2), dot.y + 3, right ? "start" : "end",
          escaped(shortened(file.path.substr(file.path.rfind('/') + 1), 13)).c_str());
    }
  }
  svg += "</svg>\n";
  return svg;
}

}  // namespace cffs::grouping
