// What is wrong with a command line, in one sentence, with what was meant perhaps and where to look.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace cffs::cli {

// A command line as far as it names commands: "bench", "reads".
struct NamedCommand {
  const CLI::App* app = nullptr;  // the innermost
  std::string path;               // "cffs bench reads"
  std::string stranger;           // the word that stood where a command of it was expected; empty: none did
};
// `words` without the program's name.
NamedCommand named_command(const CLI::App& program, const std::vector<std::string>& words);
// All of its --help.
std::string help_of(const NamedCommand& named);
// What can stand behind it.
std::vector<std::string> commands_of(const CLI::App& app);
// "no command 'exprot'; the nearest is export: cffs export --help; all commands: cffs --help"
std::string unknown_command(const NamedCommand& named);

// "cffs format: --compress= has no value; see cffs format --help", where one of the command's options stands so; else empty. (CLI11 would
// take the next word for it.)
std::string option_without_value(const NamedCommand& named, const std::vector<std::string>& words);
// What CLI11 found wrong, for people; several lines where the command was named alone: how it is used, with examples.
std::string usage_error(const CLI::App& program, const std::vector<std::string>& words,
                        const CLI::ParseError& error);

}  // namespace cffs::cli
