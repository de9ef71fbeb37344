#include "cli/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/help_formatter.h"
#include "cli/nearest_word.h"
#include "core/base/printable.h"

namespace cffs::cli {
namespace {

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// The first of the words that looks like an option, is none, and is what the error speaks of.
std::string unknown_option(const NamedCommand& named, const std::vector<std::string>& words,
                           const CLI::ParseError& error) {
  const std::vector<std::string> known = options_of(*named.app);
  const std::string complaint = error.what();
  // Where a word is missing, or a command, CLI11 tells of that alone.
  const bool tells_all = named.path != "cffs" && dynamic_cast<const CLI::RequiredError*>(&error) == nullptr;
  bool is_value = false;  // of the option before it
  for (const std::string& word : words) {
    if (word == "--") break;
    if (std::exchange(is_value, false)) continue;
    if (!word.starts_with("-") || word.size() < 2) continue;
    const bool is_long = word.starts_with("--");
    if (!is_long && std::isdigit(static_cast<unsigned char>(word[1])) != 0) continue;
    const std::string name = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
    if (std::find(known.begin(), known.end(), name) != known.end()) {
      const CLI::Option* const option = named.app->get_option_no_throw(name);
      is_value = option != nullptr && option->get_expected_min() > 0 && word == name;
      continue;
    }
    if (!tells_all || complaint.find(name) != std::string::npos) return name;
  }
  return {};
}

void trim_last_lines(std::string& text) {
  while (text.ends_with('\n')) text.pop_back();
}

std::string usage_with_examples(const NamedCommand& named) {
  std::string text = help_of(named);
  // What is left out is in --help.
  const std::size_t options = text.find("\nOptions:");
  const auto help = std::dynamic_pointer_cast<HelpFormatter>(named.app->get_formatter());
  std::string footer = help ? help->make_footer(named.app) : named.app->get_footer();
  trim_last_lines(footer);
  if (options != std::string::npos) text.erase(options);
  trim_last_lines(text);
  while (!text.empty() && text.front() == '\n') text.erase(0, 1);
  if (!footer.empty()) text += "\n\n" + footer;
  return fmt::format("{}\n\nAll options: {} --help", text, named.path);
}

}  // namespace

// CLI11's own would be that of the command that was parsed, and name it twice.
std::string help_of(const NamedCommand& named) {
  return named.app->get_formatter()->make_help(named.app, named.path, CLI::AppFormatMode::Normal);
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* const command :
       app.get_subcommands([](const CLI::App* a) { return !a->get_group().empty(); }))
    names.push_back(command->get_name());
  return names;
}

NamedCommand named_command(const CLI::App& program, const std::vector<std::string>& words) {
  NamedCommand named{&program, "cffs", {}};
  for (const std::string& word : words) {
    if (word.starts_with("-")) continue;
    if (named.app->get_subcommands([](const CLI::App*) { return true; }).empty()) break;
    const auto found = named.app->get_subcommands([&](const CLI::App* a) { return a->get_name() == word; });
    const CLI::App* const next = found.empty() ? nullptr : found.front();
    if (next == nullptr) {
      named.stranger = word;
      break;
    }
    named.app = next;
    named.path += " " + word;
  }
  return named;
}

std::string unknown_command(const NamedCommand& named) {
  const std::string nearest = nearest_word(named.stranger, commands_of(*named.app));
  std::string text = fmt::format("{}: no command '{}'", named.path, printable(named.stranger));
  if (!nearest.empty()) text += fmt::format("; the nearest is {}", nearest);
  return text + fmt::format("; all commands: {} --help", named.path);
}

std::string option_without_value(const NamedCommand& named, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") break;
    const bool may_be = word.starts_with("--") && word.find('=') == word.size() - 1;
    if (may_be && named.app->get_option_no_throw(word.substr(0, word.size() - 1)) != nullptr)
      return fmt::format("{}: {} has no value; see {} --help", named.path, word, named.path);
  }
  return {};
}

std::string usage_error(const CLI::App& program, const std::vector<std::string>& words,
                        const CLI::ParseError& error) {
  const NamedCommand named = named_command(program, words);
  if (!named.stranger.empty()) return unknown_command(named);
  const bool alone = words.empty() || (words.size() == 1 && named.app != &program);
  const bool is_group = !commands_of(*named.app).empty();
  if (alone && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    if (!is_group) return usage_with_examples(named);
    std::string text = help_of(named);
    trim_last_lines(text);
    return fmt::format("{}\n\nMore of a command: {} COMMAND --help{}", text, named.path,
                       named.app == &program ? "; topics: cffs help" : "");
  }
  if (const std::string option = unknown_option(named, words, error); !option.empty()) {
    const std::string nearest = option.starts_with("--") ? nearest_word(option, options_of(*named.app)) : "";
    return fmt::format("{}: no option '{}'{}; all options: {} --help", named.path, printable(option),
                       nearest.empty() ? "" : fmt::format("; the nearest is {}", nearest), named.path);
  }
  return fmt::format("{}: {}; see {} --help", named.path, error.what(), named.path);
}

}  // namespace cffs::cli
