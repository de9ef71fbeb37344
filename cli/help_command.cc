// help: what a command or a topic is about.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/help_topics.h"
#include "cli/nearest_word.h"
#include "cli/usage_error.h"
#include "core/base/printable.h"

namespace cffs::cli {
namespace {

void print_overview(const CLI::App& program) {
  fmt::print("{}\nTopics (cffs help TOPIC):\n", help_of({&program, "cffs", {}}));
  for (const HelpTopic& topic : help_topics()) fmt::print("  {:<31} {}\n", topic.name, topic.title);
}

int help_with(const CLI::App& program, const std::vector<std::string>& words) {
  if (words.empty()) {
    print_overview(program);
    return 0;
  }
  if (words.size() == 1) {
    for (const HelpTopic& topic : help_topics()) {
      if (topic.name != words.front()) continue;
      fmt::print("{}\n\n{}", topic.title, topic.text);
      return 0;
    }
  }
  NamedCommand named = named_command(program, words);
  const bool all_named =
      named.stranger.empty() &&
      static_cast<std::size_t>(std::count(named.path.begin(), named.path.end(), ' ')) == words.size();
  if (all_named) {
    fmt::print("{}", help_of(named));
    return 0;
  }
  std::vector<std::string> known = commands_of(*named.app);
  if (named.app == &program) {
    for (const HelpTopic& topic : help_topics()) known.push_back(topic.name);
  }
  const std::string& typed = named.stranger.empty() ? words.back() : named.stranger;
  const std::string nearest = nearest_word(typed, known);
  say(fmt::format("no command or topic '{}'{}; all: cffs help", printable(typed),
                  nearest.empty() ? "" : fmt::format("; the nearest is {}", nearest)));
  return 2;
}

}  // namespace

void add_help(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("help", "What a command or a topic is about; without one, all of them");
  auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("COMMAND|TOPIC", *words, "A command, and one of its own commands; or a topic");
  command->callback([words, &app, &exit_code] { exit_code = help_with(app, *words); });
}

}  // namespace cffs::cli
