// Build rules: what leads to the same target belongs together (composite-file paper, on source code). The first
// prerequisite of a rule holds the others.
#include <algorithm>
#include <map>

#include "grouping/reference/extract.h"
#include "grouping/reference/text.h"

namespace cffs::grouping {
namespace {

constexpr std::size_t kLongestValue = 1u
                                      << 20;  // of a variable, expanded: a definition must not feed on itself

void add_rule(std::vector<Reference>& found, const std::vector<std::string>& prerequisites, Effort& effort) {
  for (std::size_t i = 1; i < prerequisites.size(); ++i) {
    if (!effort.spend(prerequisites[0].size() + prerequisites[i].size())) return;
    found.push_back({TargetForm::object, prerequisites[i], prerequisites[0]});
  }
}

// What copying these costs.
std::uint64_t bytes_of(const std::vector<std::string>& words) {
  std::uint64_t bytes = 0;
  for (const std::string& word : words) bytes += sizeof word + word.size();
  return bytes;
}

class Makefile {
 public:
  Makefile(std::string_view text, Effort& effort) : rest_(text), effort_(effort) {}

  std::vector<Reference> run() {
    while (!rest_.empty() && effort_.is_left()) {
      const std::string line = logical_line();
      if (line.starts_with('\t') || line.empty()) continue;
      statement(line);
    }
    return std::move(found_);
  }

 private:
  // Lines that end in a backslash continue.
  std::string logical_line() {
    std::string line;
    for (;;) {
      const std::string_view part = take_line(rest_);
      if (!part.ends_with('\\') || rest_.empty()) return line.append(part);
      line.append(part.substr(0, part.size() - 1)).push_back(' ');
    }
  }

  void statement(std::string_view line) {
    line = line.substr(0, comment_in(line));
    const std::size_t equals = line.find('=');
    const std::size_t colon = line.find(':');
    if (trimmed(line).starts_with("include ") || trimmed(line).starts_with("-include ")) {
      for (const std::string& name : split(expand(line.substr(line.find("include") + 8), 0))) {
        found_.push_back({TargetForm::path, name, {}});
      }
    } else if (equals != std::string_view::npos &&
               (colon == std::string_view::npos || equals < colon || equals == colon + 1)) {
      assign(line, equals);
    } else if (colon != std::string_view::npos) {
      std::string_view rest = line.substr(colon + 1);
      if (rest.starts_with(':')) rest.remove_prefix(1);
      rest = rest.substr(0, rest.find(';'));
      std::vector<std::string> prerequisites;
      for (std::string& name : split(expand(rest, 0))) {
        if (name != "|" && name.find('%') == std::string::npos) prerequisites.push_back(std::move(name));
      }
      add_rule(found_, prerequisites, effort_);
    }
  }

  static std::size_t comment_in(std::string_view line) {
    for (std::size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1)) {
      if (at == 0 || line[at - 1] != '\\') return at;
    }
    return line.size();
  }

  void assign(std::string_view line, std::size_t equals) {
    std::string_view name = line.substr(0, equals);
    const bool append = name.ends_with('+');
    while (!name.empty() && (name.back() == ':' || name.back() == '?' || name.back() == '+'))
      name.remove_suffix(1);
    name = trimmed(name);
    if (name.starts_with("export ")) name = trimmed(name.substr(7));
    std::string& value = variables_[std::string(name)];
    const std::string_view added = trimmed(line.substr(equals + 1));
    if (!append) value.clear();
    (void)effort_.spend(added.size());
    if (value.size() + added.size() < kLongestValue) value.append(value.empty() ? "" : " ").append(added);
  }

  // $(NAME), ${NAME}, $(NAME:.c=.o); functions and what is not defined here become nothing.
  std::string expand(std::string_view text, int depth) {
    std::string out;
    for (std::size_t at = 0; at < text.size() && out.size() < kLongestValue; ++at) {
      if (!effort_.spend(1)) return {};
      if (text[at] != '$' || at + 1 >= text.size()) {
        out += text[at];
        continue;
      }
      const char open = text[++at];
      if (open == '$') out += '$';
      if (open != '(' && open != '{') continue;
      const std::size_t close = text.find(open == '(' ? ')' : '}', at);
      if (close == std::string_view::npos || !effort_.spend(close - at)) break;
      std::string_view name = text.substr(at + 1, close - at - 1);
      at = close;
      const std::size_t colon = name.find(':');
      const auto it = variables_.find(std::string(name.substr(0, colon)));
      if (it == variables_.end() || depth > 16) continue;
      std::string value = expand(it->second, depth + 1);
      if (colon != std::string_view::npos) value = substituted(value, name.substr(colon + 1));
      if (!effort_.spend(value.size())) return {};
      out += value;
    }
    if (out.size() > kLongestValue) out.clear();
    return out;
  }

  std::string substituted(const std::string& value, std::string_view pattern) {
    const std::size_t equals = pattern.find('=');
    if (equals == std::string_view::npos) return value;
    const std::string_view from = pattern.substr(0, equals), to = pattern.substr(equals + 1);
    std::string out;
    for (const std::string_view word : words_of(value)) {
      if (!effort_.spend(word.size() + to.size() + 1)) return {};
      out += ' ';
      if (word.ends_with(from)) {
        out.append(word.substr(0, word.size() - from.size())).append(to);
      } else {
        out.append(word);
      }
    }
    return out;
  }

  // At blanks; "\ " is a blank inside a name.
  static std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> names;
    std::string name;
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '\\' && at + 1 < text.size() && (text[at + 1] == ' ' || text[at + 1] == '#')) {
        name += text[++at];
      } else if (!is_space(text[at])) {
        name += text[at];
      } else if (!name.empty()) {
        names.push_back(std::move(name));
        name.clear();
      }
    }
    if (!name.empty()) names.push_back(std::move(name));
    return names;
  }

  std::string_view rest_;
  Effort& effort_;
  std::map<std::string, std::string> variables_;
  std::vector<Reference> found_;
};

}  // namespace

std::vector<Reference> extract_rules(std::string_view content, Effort& effort) {
  return Makefile(content, effort).run();
}

// build OUT ... | IMPLICIT-OUT ...: RULE IN ... | IMPLICIT ... || ORDER-ONLY ...
std::vector<Reference> extract_ninja(std::string_view rest, Effort& effort) {
  std::vector<Reference> found;
  std::map<std::string, std::string> variables;
  while (!rest.empty() && effort.is_left()) {
    std::string line;
    for (;;) {
      const std::string_view part = take_line(rest);
      if (!part.ends_with('$') || rest.empty()) {
        line.append(part);
        break;
      }
      line.append(part.substr(0, part.size() - 1));
    }
    if (line.empty() || is_space(line[0]) || line[0] == '#') continue;
    // Words, with $-escapes and variables undone.
    std::vector<std::string> words(1);
    for (std::size_t at = 0; at < line.size(); ++at) {
      if (line[at] == '$' && at + 1 < line.size()) {
        const char next = line[++at];
        if (next == ' ' || next == ':' || next == '$') {
          words.back() += next;
          continue;
        }
        const bool braces = next == '{';
        std::size_t from = at + (braces ? 1 : 0), end = from;
        while (end < line.size() && (is_word(line[end]) || line[end] == '-' || (braces && line[end] == '.')))
          ++end;
        const auto it = variables.find(line.substr(from, end - from));
        if (it != variables.end() && effort.spend(it->second.size())) words.back() += it->second;
        at = braces ? end : end - 1;
      } else if (is_space(line[at])) {
        if (!words.back().empty()) words.emplace_back();
      } else if (line[at] == ':' || line[at] == '=') {
        words.emplace_back(1, line[at]);
        words.emplace_back();
      } else {
        words.back() += line[at];
      }
    }
    std::erase(words, "");
    if (words.empty()) continue;  // of variables that are empty
    if (words.size() >= 3 && words[1] == "=") {
      std::string& value = variables[words[0]];
      value.clear();
      for (std::size_t i = 2; i < words.size() && value.size() < kLongestValue; ++i) {
        if (effort.spend(words[i].size())) value += (i > 2 ? " " : "") + words[i];
      }
    } else if (words[0] == "build") {
      std::size_t at = 1;
      while (at < words.size() && words[at] != ":") ++at;
      std::vector<std::string> inputs;
      for (at += 2; at < words.size() && words[at] != "||"; ++at) {
        if (words[at] != "|") inputs.push_back(words[at]);
      }
      add_rule(found, inputs, effort);
    } else if ((words[0] == "include" || words[0] == "subninja") && words.size() > 1) {
      found.push_back({TargetForm::path, words[1], {}});
    }
  }
  return found;
}

// add_executable(NAME a.cc b.cc ...), add_library, target_sources, set(VAR ...) for ${VAR}.
std::vector<Reference> extract_cmake(std::string_view text, Effort& effort) {
  std::vector<Reference> found;
  std::map<std::string, std::vector<std::string>> variables;
  for (std::size_t at = 0; at < text.size() && effort.is_left();) {
    if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (!is_word(text[at])) {
      ++at;
      continue;
    }
    const std::size_t from = at;
    while (at < text.size() && is_word(text[at])) ++at;
    const std::string command = lowered(text.substr(from, at - from));
    at = skip_space(text, at);
    if (at >= text.size() || text[at] != '(') continue;
    std::vector<std::string> arguments;
    int depth = 1;
    for (++at; at < text.size() && depth > 0;) {
      const char c = text[at];
      if (is_space(c) || c == ';') {
        ++at;
      } else if (c == '#') {
        at = std::min(text.find('\n', at), text.size());
      } else if (c == '(' || c == ')') {
        depth += c == '(' ? 1 : -1;
        ++at;
      } else {
        std::string word;
        const bool quoted = c == '"';
        for (at += quoted ? 1 : 0; at < text.size(); ++at) {
          if (quoted ? text[at] == '"'
                     : is_space(text[at]) || text[at] == ')' || text[at] == '(' || text[at] == ';' ||
                           text[at] == '"')
            break;
          if (text[at] == '\\' && at + 1 < text.size()) ++at;
          word += text[at];
        }
        if (quoted) ++at;
        for (const std::string_view here : {"${CMAKE_CURRENT_SOURCE_DIR}/", "${CMAKE_CURRENT_LIST_DIR}/"}) {
          if (word.starts_with(here)) word.erase(0, here.size());
        }
        const auto it = word.starts_with("${") && word.ends_with('}')
                            ? variables.find(word.substr(2, word.size() - 3))
                            : variables.end();
        if (it != variables.end() && arguments.size() + it->second.size() < kLongestValue / 64) {
          if (!effort.spend(bytes_of(it->second))) return found;
          arguments.insert(arguments.end(), it->second.begin(), it->second.end());
        } else {
          arguments.push_back(std::move(word));
        }
      }
    }
    if (arguments.empty()) continue;
    if (!effort.spend(bytes_of(arguments))) return found;
    const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
    if (command == "set") {
      variables[arguments[0]] = rest;
    } else if (command == "add_executable" || command == "add_library" || command == "target_sources") {
      // Words such as STATIC or PRIVATE name no file, and so lead nowhere.
      std::vector<std::string> sources;
      for (const std::string& word : rest) {
        if (word.find('.') != std::string::npos) sources.push_back(word);
      }
      add_rule(found, sources, effort);
    } else if (command == "include" || command == "configure_file") {
      found.push_back({TargetForm::path, arguments[0], {}});
    }
  }
  return found;
}

}  // namespace cffs::grouping
