// Markdown images and LaTeX inputs.
#include <algorithm>
#include <map>

#include "grouping/reference/extract.h"
#include "grouping/reference/text.h"

namespace cffs::grouping {
namespace {

// The address in "(url "title")" or "(<url>)", behind the bracket.
std::string_view address(std::string_view text) {
  text = text.substr(std::min(skip_space(text, 0), text.size()));
  if (text.starts_with('<')) return text.substr(1, std::min(text.find('>'), text.size()) - 1);
  std::size_t end = 0;
  for (int depth = 0; end < text.size() && !is_space(text[end]); ++end) {
    if (text[end] == '(') ++depth;
    if (text[end] == ')' && depth-- == 0) break;
  }
  return text.substr(0, end);
}

}  // namespace

std::vector<Reference> extract_markdown(std::string_view rest, Effort& effort) {
  std::vector<Reference> found;
  std::vector<std::string> wanted;               // labels of images by reference
  std::map<std::string, std::string> addresses;  // [label]: url
  const auto add = [&](std::string_view target) {
    if (!target.empty()) found.push_back({TargetForm::url, std::string(target), {}});
  };
  std::string html;  // lines that hold tags
  bool fenced = false;
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    const std::string_view text = trimmed(line);
    if (text.starts_with("```") || text.starts_with("~~~")) fenced = !fenced;
    if (fenced) continue;
    if (text.starts_with('[')) {
      const std::size_t close = text.find("]:");
      if (close != std::string_view::npos)
        addresses.emplace(lowered(text.substr(1, close - 1)), address(text.substr(close + 2)));
    }
    for (std::size_t at = line.find("!["); effort.is_left() && at != std::string_view::npos;
         at = line.find("![", at + 2)) {
      const std::size_t close = line.find(']', at + 2);
      if (close == std::string_view::npos || !effort.spend(close - at)) break;
      const std::string_view behind = line.substr(close + 1);
      if (behind.starts_with('(')) {
        const std::string_view target = address(behind.substr(1));
        if (effort.spend(target.size())) add(target);
      } else {
        std::string_view label = line.substr(at + 2, close - at - 2);
        if (behind.starts_with('[')) {
          const std::string_view other = behind.substr(1, std::min(behind.find(']'), behind.size()) - 1);
          (void)effort.spend(other.size());
          if (!other.empty()) label = other;
        }
        wanted.push_back(lowered(label));
      }
    }
    if (line.find('<') != std::string_view::npos) html.append(line).push_back('\n');
  }
  for (const std::string& label : wanted) {
    const auto it = addresses.find(label);
    if (it != addresses.end() && effort.spend(it->second.size())) add(it->second);
  }
  if (html.find("<img") != std::string::npos || html.find("<source") != std::string::npos) {
    for (Reference& reference : extract_html(html, effort).references) found.push_back(std::move(reference));
  }
  return found;
}

std::vector<Reference> extract_latex(std::string_view rest, Effort& effort) {
  std::vector<Reference> found;
  std::vector<std::string> figures{""};  // \graphicspath
  while (!rest.empty()) {
    std::string_view line = take_line(rest);
    for (std::size_t at = line.find('%'); at != std::string_view::npos; at = line.find('%', at + 1)) {
      if (at == 0 || line[at - 1] != '\\') {
        line = line.substr(0, at);
        break;
      }
    }
    for (std::size_t at = line.find('\\'); effort.is_left() && at != std::string_view::npos;
         at = line.find('\\', at + 1)) {
      std::size_t end = at + 1;
      while (end < line.size() && is_letter(line[end])) ++end;
      const std::string_view command = line.substr(at + 1, end - at - 1);
      if (end < line.size() && line[end] == '*') ++end;
      end = skip_space(line, end);
      if (end < line.size() && line[end] == '[') {
        const std::size_t close = std::min(line.find(']', end), line.size() - 1);
        (void)effort.spend(close - end);
        end = close + 1;
      }
      end = skip_space(line, end);
      std::string target;
      if (end < line.size() && line[end] == '{') {
        const std::size_t close = line.find('}', end);
        if (!effort.spend(std::min(close, line.size()) - end) || close == std::string_view::npos) continue;
        target = trimmed(line.substr(end + 1, close - end - 1));
      } else if (command == "input" && end < line.size()) {
        (void)effort.spend(line.size() - end);
        target = words_of(line.substr(end)).empty() ? "" : std::string(words_of(line.substr(end))[0]);
      }
      if (target.empty()) continue;
      if (command == "graphicspath") {
        std::string_view list = line.substr(end);
        (void)effort.spend(list.size());
        for (std::size_t open = list.find('{', 1); open != std::string_view::npos;
             open = list.find('{', open + 1)) {
          const std::size_t close = std::min(list.find('}', open), list.size());
          figures.emplace_back(list.substr(open + 1, close - open - 1));
        }
      } else if (command == "includegraphics") {
        for (const std::string& directory : figures) {
          if (!effort.spend(directory.size() + target.size())) break;
          found.push_back({TargetForm::tex, directory + target, {}});
        }
      } else if (command == "input" || command == "include" || command == "subfile" ||
                 command == "lstinputlisting" || command == "verbatiminput" || command == "documentclass" ||
                 command == "usepackage" || command == "bibliography" || command == "addbibresource" ||
                 command == "includepdf") {
        while (!target.empty()) {
          const std::size_t comma = std::min(target.find(','), target.size());
          found.push_back(
              {TargetForm::tex, std::string(trimmed(std::string_view(target).substr(0, comma))), {}});
          target.erase(0, comma + 1);
          (void)effort.spend(target.size());
          if (!effort.is_left()) break;
        }
      }
    }
  }
  return found;
}

}  // namespace cffs::grouping
