// Python and Go imports.
#include <algorithm>

#include "grouping/reference/extract.h"
#include "grouping/reference/text.h"

namespace cffs::grouping {
namespace {

// "a, b as c" -> a, b
std::vector<std::string_view> names_in(std::string_view list) {
  std::vector<std::string_view> names;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view one = trimmed(list.substr(0, comma));
    one = one.substr(0, one.find_first_of(" \t#"));
    if (!one.empty()) names.push_back(one);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return names;
}

}  // namespace

std::vector<Reference> extract_python(std::string_view rest, Effort& effort) {
  std::vector<Reference> found;
  const auto add = [&](std::string module) {
    if (effort.spend(module.size())) found.push_back({TargetForm::python, std::move(module), {}});
  };
  std::string_view open_string;  // the quotes of a string that spans lines
  while (!rest.empty() && effort.is_left()) {
    std::string line(take_line(rest));
    if (!open_string.empty()) {
      const std::size_t end = line.find(open_string);
      if (end == std::string::npos) continue;
      open_string = {};
      continue;
    }
    std::string_view text = trimmed(line);
    const bool from = text.starts_with("from ") || text.starts_with("from.");
    if (!from && !text.starts_with("import ")) {
      for (const std::string_view quotes : {"\"\"\"", "'''"}) {
        const std::size_t begin = text.find(quotes);
        if (begin != std::string_view::npos && text.find(quotes, begin + 3) == std::string_view::npos)
          open_string = quotes;
      }
      continue;
    }
    // Names in brackets, or behind a backslash, go on in the next lines.
    std::string whole(text);
    const auto continues = [&] {
      return whole.size() < 65536 && !rest.empty() && effort.spend(whole.size()) &&
             (whole.ends_with('\\') ||
              (whole.find('(') != std::string::npos && whole.find(')') == std::string::npos));
    };
    while (continues()) {
      if (whole.ends_with('\\')) whole.pop_back();
      const std::string_view more = take_line(rest);
      whole.append(" ").append(more.substr(0, more.find('#')));
    }
    for (char& c : whole) {
      if (c == '(' || c == ')') c = ' ';
    }
    text = whole;
    if (!from) {
      for (const std::string_view module : names_in(text.substr(7))) add(std::string(module));
      continue;
    }
    const std::size_t import = text.find(" import ");
    if (import == std::string_view::npos) continue;
    const std::string module(trimmed(text.substr(4, import - 4)));
    if (module.empty()) continue;
    add(module);
    // What is imported may be a module of that package.
    for (const std::string_view name : names_in(text.substr(import + 8))) {
      if (!effort.is_left()) return found;
      if (name != "*") add(module + (module.ends_with('.') ? "" : ".") + std::string(name));
    }
  }
  return found;
}

std::vector<Reference> extract_go(std::string_view rest) {
  std::vector<Reference> found;
  bool in_list = false;
  const auto quoted = [&](std::string_view text) {
    const std::size_t open = text.find_first_of("\"`");
    const std::size_t close = open == std::string_view::npos ? open : text.find(text[open], open + 1);
    if (close != std::string_view::npos)
      found.push_back({TargetForm::go, std::string(text.substr(open + 1, close - open - 1)), {}});
  };
  bool declarations = false;  // imports come first
  while (!rest.empty()) {
    const std::string_view text = trimmed(take_line(rest));
    if (text.starts_with("//go:embed ")) {
      for (const std::string_view pattern : words_of(text.substr(11))) {
        if (pattern.find_first_of("*?[") == std::string_view::npos)
          found.push_back({TargetForm::path, std::string(pattern), {}});
      }
    }
    if (declarations || text.starts_with("//")) continue;
    if (in_list) {
      in_list = !text.starts_with(')');
      if (in_list) quoted(text);
    } else if (text.starts_with("import")) {
      const std::string_view what = trimmed(text.substr(6));
      in_list = what.starts_with('(') && what.find(')') == std::string_view::npos;
      quoted(what);
    } else if (text.starts_with("func ") || text.starts_with("type ") || text.starts_with("var ") ||
               text.starts_with("const ")) {
      declarations = true;
    }
  }
  return found;
}

}  // namespace cffs::grouping
