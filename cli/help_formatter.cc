#include "cli/help_formatter.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "cli/terminal_width.h"

namespace cffs::cli {
namespace {

// Of the terminal that help is shown on; 0: none, and whoever reads it wants whole lines.
std::size_t terminal_columns() {
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    if (const std::size_t columns = terminal_width(fd); columns >= 20) return columns;
  }
  return 0;
}

// "  left      text", or the text below where left is too long, or the terminal too narrow for two columns.
std::string entry(const std::string& left, const std::string& text, std::size_t column) {
  const std::size_t columns = terminal_columns();
  const bool narrow = columns != 0 && columns < 72;
  const std::size_t indent = narrow ? 6 : column;
  std::string out = "  " + left;
  if (text.empty()) return out + "\n";
  if (narrow || out.size() >= indent) {
    out += "\n" + std::string(indent, ' ');
  } else {
    out += std::string(indent - out.size(), ' ');
  }
  return out + wrapped(text, columns, indent) + "\n";
}

const std::map<std::string, std::string>& value_names() {
  static const std::map<std::string, std::string> kNames = {
      {"access-record", "SIZE"},
      {"awake-inodes", "N"},
      {"baseline", "TARGET"},
      {"before", "COMMAND"},
      {"below", "DIR"},
      {"benchmark", "NAME"},
      {"cache", "SIZE"},
      {"cache-size", "SIZE"},
      {"composite-file-max", "SIZE"},
      {"composite-max", "SIZE"},
      {"compress", "HOW"},
      {"conf", "FILE"},
      {"disk-at", "DIR"},
      {"exchange-bytes", "SIZE"},
      {"exclude", "PATTERN"},
      {"format", "FORMAT"},
      {"graph", "FILE"},
      {"html", "FILE"},
      {"id", "USER"},
      {"image-size", "SIZE"},
      {"initial", "FILE"},
      {"inline-max", "SIZE"},
      {"known-inodes", "N"},
      {"large-block", "SIZE"},
      {"library", "STORE"},
      {"local-cache", "DIR:SIZE"},
      {"log", "LOG"},
      {"markdown", "FILE"},
      {"master", "URL"},
      {"max-bytes", "SIZE"},
      {"memory", "SIZE"},
      {"metrics", "ADDRESS"},
      {"name", "NAME"},
      {"namespace", "NAME"},
      {"output", "FILE"},
      {"plan", "PLAN.db"},
      {"plot", "DIR"},
      {"policy", "POLICY"},
      {"pool", "POOL"},
      {"prefix", "DIR"},
      {"rate", "SIZE"},
      {"record", "FILE"},
      {"region-size", "SIZE"},
      {"regroup-budget", "SIZE"},
      {"rest-bytes", "SIZE"},
      {"results", "FILE"},
      {"sample", "SIZE"},
      {"session-gap", "SECONDS"},
      {"site", "DIR"},
      {"site-root", "DIR"},
      {"size", "SIZE"},
      {"spark", "DIR"},
      {"spark-log", "FILE"},
      {"table-bytes", "SIZE"},
      {"target", "DIR"},
      {"to", "DIR"},
      {"transactions", "FILE"},
      {"tree", "DIR"},
      {"work", "DIR"},
      {"keep", "SECONDS"},
      {"quiet", "SECONDS"},
      {"interval", "SECONDS"},
      {"commit-interval", "SECONDS"},
      {"watch", "SECONDS"},
      {"longest-idle", "SECONDS"},
      {"regroup-interval", "SECONDS"},
  };
  return kNames;
}

}  // namespace

std::string wrapped(const std::string& text, std::size_t columns, std::size_t indent) {
  if (columns == 0) return text;
  const std::size_t room = columns > indent + 20 ? columns - indent : 20;
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!out.empty()) out += "\n" + (line.empty() ? "" : std::string(indent, ' '));
    if (line.starts_with(' ') || line.size() <= room) {
      out += line;
      continue;
    }
    std::size_t used = 0;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (used > 0 && used + 1 + word.size() > room) {
        out += "\n" + std::string(indent, ' ');
        used = 0;
      } else if (used > 0) {
        out += ' ';
        ++used;
      }
      out += word;
      used += word.size();
    }
  }
  return out;
}

OptionValue value_of(const CLI::Option& option) {
  OptionValue value;
  const std::string type = option.get_type_name();
  // A flag that may have a value ("--watch=5") expects none; only what is allowed of it tells it from others.
  value.optional = option.get_items_expected_max() == 0;
  if (value.optional && type.find(':') == std::string::npos) return value;
  const std::size_t limits_at = std::min({type.find(":{"), type.find(":FLOAT in ["), type.find(":INT in ["),
                                          type.find(":UINT in ["), type.size()});
  const std::string kind = type.substr(0, limits_at);
  const std::string limits = limits_at < type.size() ? type.substr(limits_at + 1) : std::string();
  value.name = kind == "TEXT"                    ? "VALUE"
               : kind == "FLOAT"                 ? "NUMBER"
               : kind == "UINT" || kind == "INT" ? "N"
                                                 : kind;
  if (limits.starts_with("{") && limits.ends_with("}")) {
    value.name.clear();
    std::istringstream words(limits.substr(1, limits.size() - 2));
    for (std::string word; std::getline(words, word, ',');) value.words.push_back(word);
  } else if (const std::size_t open = limits.find("in ["), dash = limits.find(" - ");
             open != std::string::npos && dash != std::string::npos && limits.ends_with("]")) {
    if (value.name.empty()) value.name = limits.starts_with("FLOAT") ? "NUMBER" : "N";
    value.least = limits.substr(open + 4, dash - open - 4);
    value.most = limits.substr(dash + 3, limits.size() - dash - 4);
  }
  return value;
}

// CLI11 has them by where they lie in memory.
std::vector<std::string> excluded_by(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const CLI::Option* const other : option.get_excludes()) names.push_back(other->get_name());
  std::sort(names.begin(), names.end());
  return names;
}

void add_value_names(CLI::App& program) {
  for (CLI::Option* const option : program.get_options()) {
    const std::vector<std::string>& names = option->get_lnames();
    const auto known = names.empty() ? value_names().end() : value_names().find(names.front());
    const std::string type = option->get_type_name(), kind = type.substr(0, type.find(':'));
    // A number may be seconds; what a directory is elsewhere (--to) it is not.
    if (known != value_names().end() && (kind == "TEXT" || (kind == "FLOAT" && known->second == "SECONDS") ||
                                         (kind.empty() && !type.empty())))
      option->type_name(known->second);
    if (names.empty() && option->get_snames() == std::vector<std::string>{"o"} && type == "TEXT")
      option->type_name("LIST");
  }
  for (CLI::App* const command : program.get_subcommands([](const CLI::App*) { return true; }))
    add_value_names(*command);
}

std::string HelpFormatter::shown_name(const CLI::Option& positional) const {
  return positional.get_name(true);
}

std::string HelpFormatter::make_option_usage(const CLI::Option* positional) const {
  const std::string name = shown_name(*positional) + (positional->get_items_expected_max() > 1 ? "..." : "");
  return positional->get_required() ? name : "[" + name + "]";
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool positional) const {
  std::string text = option->get_description();
  if (positional) return entry(shown_name(*option), text, get_column_width());
  std::string left;
  const auto add = [&left](const std::string& name) { left += (left.empty() ? "" : ",") + name; };
  for (const std::string& name : option->get_snames()) add("-" + name);
  for (const std::string& name : option->get_lnames()) add("--" + name);
  const OptionValue value = value_of(*option);
  const std::string shown = value.words.empty() ? value.name : CLI::detail::join(value.words, "|");
  if (!shown.empty()) left += value.optional ? "[=" + shown + "]" : " " + shown;
  std::vector<std::string> notes;
  if (!value.least.empty()) notes.push_back(value.least + " to " + value.most);
  if (!value.takes_none() && !option->get_default_str().empty())
    notes.push_back("default " + option->get_default_str());
  if (const std::vector<std::string> others = excluded_by(*option); !others.empty())
    notes.push_back("not with " + CLI::detail::join(others, ", "));
  if (!notes.empty()) text += (text.empty() ? "(" : " (") + CLI::detail::join(notes, "; ") + ")";
  return entry(left, text, get_column_width());
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return entry(command->get_name(), command->get_description(), get_column_width());
}

std::string HelpFormatter::make_description(const CLI::App* command) const {
  return wrapped(command->get_description(), terminal_columns()) + "\n";
}

std::string HelpFormatter::make_footer(const CLI::App* command) const {
  const std::string footer = command->get_footer();
  return footer.empty() ? footer : wrapped(footer, terminal_columns()) + "\n";
}

std::string ShownArgument::make_option_usage(const CLI::Option* positional) const {
  if (positional->get_name(true) != name_) return HelpFormatter::make_option_usage(positional);
  return positional->get_required() ? shown_ : "[" + shown_ + "]";
}

std::string ShownArgument::shown_name(const CLI::Option& positional) const {
  return positional.get_name(true) == name_ ? shown_ : HelpFormatter::shown_name(positional);
}

}  // namespace cffs::cli
