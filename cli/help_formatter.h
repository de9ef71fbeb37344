// What --help looks like: values named for what they are, defaults and limits behind the text, and on a terminal lines as wide as that is.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace cffs::cli {

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_description(const CLI::App* command) const override;
  std::string make_footer(const CLI::App* command) const override;
  std::string make_option_usage(const CLI::Option* positional) const override;
  // A positional as a person writes it: "STORE|MNT[:PATH]".
  virtual std::string shown_name(const CLI::Option& positional) const;
};

// CLI11 2.4 takes neither ' ' nor ':' in the name of an argument; help shows it all the same.
class ShownArgument : public HelpFormatter {
 public:
  ShownArgument(const CLI::FormatterBase& like, std::string name, std::string shown)
      : name_(std::move(name)), shown_(std::move(shown)) {
    column_width(like.get_column_width());
  }
  std::string make_option_usage(const CLI::Option* positional) const override;
  std::string shown_name(const CLI::Option& positional) const override;

 private:
  const std::string name_, shown_;
};

// The kind of value that an option takes and what is allowed of it, as CLI11 has them in one: "UINT:INT in [1 - 64]", "TEXT:{auto,ring}".
struct OptionValue {
  std::string name;                // "N", "FILE"; empty: it takes none, or one of the words
  std::vector<std::string> words;  // that are allowed
  std::string least, most;         // that are allowed; empty: any
  bool optional = false;           // "--watch" or "--watch=5"
  bool takes_none() const { return name.empty() && words.empty(); }
};
OptionValue value_of(const CLI::Option& option);
// The names of those that it does not go with, in order.
std::vector<std::string> excluded_by(const CLI::Option& option);

// Texts that an option takes get names: --to takes a DIR. For all commands, once they are made.
void add_value_names(CLI::App& program);

// In lines of at most so many columns; those that begin with a blank stay as they are. 0: no limit.
std::string wrapped(const std::string& text, std::size_t columns, std::size_t indent = 0);

}  // namespace cffs::cli
