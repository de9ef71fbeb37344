#include "cli/manual_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "cli/help_formatter.h"

namespace cffs::cli {
namespace {

// Text as roff has it: nothing in it is a request or an escape, and a dash is one that can be searched and copied.
std::string as_roff(const std::string& text) {
  std::string roff;
  for (const char c : text) {
    if (c == '\\') {
      roff += "\\e";
    } else if (c == '-') {
      roff += "\\-";
    } else {
      roff += c;
    }
  }
  if (!roff.empty() && (roff[0] == '.' || roff[0] == '\'')) roff.insert(0, "\\&");
  return roff;
}

// A sentence each: with a full stop, and none that begins a request.
std::string sentence(const std::string& text) {
  std::string roff = as_roff(text);
  if (!roff.empty() && roff.back() != '.') roff += '.';
  return roff;
}

std::string bold(const std::string& text) { return "\\fB" + as_roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + as_roff(text) + "\\fR"; }

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

// As roff: what stands behind an option's name, and a sentence on what is allowed of it.
struct ValueShown {
  std::string shown;    // empty: it takes no value
  std::string allowed;  // empty: anything
  bool optional = false;
};

ValueShown value_shown(const CLI::Option& option) {
  const OptionValue value = value_of(option);
  ValueShown of;
  if (!value.name.empty()) of.shown = italic(value.name);
  for (const std::string& word : value.words) of.shown += (of.shown.empty() ? "" : "|") + bold(word);
  of.optional = value.optional;
  if (!value.least.empty()) of.allowed = sentence("From " + value.least + " to " + value.most);
  return of;
}

std::string option_entry(const CLI::Option& option) {
  const ValueShown value = value_shown(option);
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames())
    names.push_back(bold("-" + name) + (value.shown.empty() ? "" : " " + value.shown));
  for (const std::string& name : option.get_lnames())
    names.push_back(bold("--" + name) + (value.shown.empty() ? ""
                                         : value.optional    ? "[=" + value.shown + "]"
                                                             : "=" + value.shown));
  std::string entry = ".TP\n" + joined(names, ", ") + "\n";
  const std::string text = option.get_description();
  if (!text.empty()) entry += sentence(text) + "\n";
  if (!value.allowed.empty()) entry += value.allowed + "\n";
  if (!value.shown.empty() && !option.get_default_str().empty())
    entry += "Default: " + bold(option.get_default_str()) + ".\n";
  if (option.get_items_expected_max() > 1) entry += "May be given several times.\n";
  std::string others;
  for (const std::string& other : excluded_by(option)) others += (others.empty() ? "" : ", ") + bold(other);
  if (!others.empty()) entry += "Not with " + others + ".\n";
  if (option.get_required()) entry += "Required.\n";
  return entry;
}

// What is not hidden.
std::vector<const CLI::App*> shown_commands(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); });
}

std::vector<const CLI::Option*> shown_options(const CLI::App& command, bool positional) {
  std::vector<const CLI::Option*> options;
  for (const CLI::Option* option :
       command.get_options([](const CLI::Option* one) { return !one->get_group().empty(); })) {
    if (option->get_positional() == positional) options.push_back(option);
  }
  return options;
}

// As the command's help has it.
std::string positional_name(const CLI::App& command, const CLI::Option& option) {
  const auto help = std::dynamic_pointer_cast<HelpFormatter>(command.get_formatter());
  const std::string name = help ? help->shown_name(option) : option.get_name(true);
  std::string roff = italic(name);
  if (option.get_items_expected_max() > 1 && name.find("...") == std::string::npos) roff += "...";
  return option.get_required() ? roff : "[" + roff + "]";
}

std::string synopsis(const CLI::App& command, const std::string& name) {
  std::string roff = ".SH SYNOPSIS\n" + bold(name) + "\n";
  if (!shown_options(command, false).empty()) roff += "[" + italic("OPTION") + "]...\n";
  if (!shown_commands(command).empty()) roff += italic("COMMAND") + "\n";
  for (const CLI::Option* option : shown_options(command, true))
    roff += positional_name(command, *option) + "\n";
  return roff;
}

// The lines below the options: those about exit codes have a section of their own, and so have examples, which stay as they are.
std::string footer_sections(const CLI::App& command) {
  std::string notes, codes, examples;
  std::istringstream lines(command.get_footer());
  bool in_examples = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    in_examples = in_examples ? line.starts_with("  ") : line == "Example:" || line == "Examples:";
    if (in_examples) {
      if (line.starts_with("  ")) examples += as_roff(line.substr(2)) + "\n";
    } else {
      // One that goes on in the next line is no sentence yet.
      (line.starts_with("Exit code") ? codes : notes) +=
          (line.ends_with(',') ? as_roff(line) : sentence(line)) + "\n";
    }
  }
  std::string roff = notes.empty() ? "" : ".SH NOTES\n" + notes;
  roff += ".SH EXIT STATUS\n";
  roff +=
      codes.empty()
          ? "0 on success; 1 on failure, with one sentence on standard error; 2 for a wrong command line.\n"
          : codes + "2 for a wrong command line.\n";
  if (!examples.empty()) roff += ".SH EXAMPLES\n.nf\n" + examples + ".fi\n";
  return roff;
}

// The first sentence's beginning, without what follows a semicolon or comma that explains: for whatis(1).
std::string in_short(const std::string& description) {
  std::string text = description.substr(0, description.find_first_of(".;\n"));
  if (!text.empty() && text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0)
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

}  // namespace

Overview::Overview(const std::string& roff) : roff_(roff) {
  if (!roff.starts_with(".TH ")) return;
  const std::size_t from = roff.find('"');
  const std::size_t to = roff.find('"', from + 1);
  if (to < roff.find('\n')) date_ = roff.substr(from + 1, to - from - 1);
}

std::string Overview::prose(const std::string& command) const {
  const std::size_t commands = roff_.find("\n.SH COMMANDS\n");
  if (commands == std::string::npos) return {};
  const std::string head = "\n.TP\n.B " + command + "\n";
  const std::size_t at = roff_.find(head, commands);
  const std::size_t next_section = roff_.find("\n.SH ", commands + 1);
  if (at == std::string::npos || at > next_section) return {};
  const std::size_t from = at + head.size();
  const std::size_t to = std::min({roff_.find("\n.TP\n", from - 1), roff_.find("\n.PP\n", from - 1),
                                   roff_.find("\n.SH ", from - 1), roff_.size()});
  return roff_.substr(from, to - from) + "\n";
}

std::string manual_page(const CLI::App& command, const std::vector<std::string>& words,
                        const Overview& overview) {
  const std::string title = "cffs-" + joined(words, "-");
  std::string upper = title;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string page = fmt::format(".TH {} 1 \"{}\" \"cffs {}\" \"User Commands\"\n", as_roff(upper),
                                 overview.date(), CFFS_VERSION);
  page += ".ad l\n";  // long options leave lines that cannot be stretched
  page += ".SH NAME\n" + as_roff(title) + " \\- " + as_roff(in_short(command.get_description())) + "\n";
  page += synopsis(command, "cffs " + joined(words, " "));
  const std::string prose = words.size() == 1 ? overview.prose(words[0]) : std::string();
  page += ".SH DESCRIPTION\n" + (prose.empty() ? sentence(command.get_description()) + "\n" : prose);
  if (const auto arguments = shown_options(command, true); !arguments.empty()) {
    page += ".SH ARGUMENTS\n";
    for (const CLI::Option* option : arguments) {
      page += ".TP\n" + positional_name(command, *option) + "\n";
      const std::string text = option->get_description();
      page += text.empty() ? "As named.\n" : sentence(text) + "\n";
    }
  }
  if (const auto options = shown_options(command, false); !options.empty()) {
    page += ".SH OPTIONS\n";
    for (const CLI::Option* option : options) page += option_entry(*option);
  }
  const auto below = shown_commands(command);
  if (!below.empty()) {
    page += ".SH COMMANDS\n";
    for (const CLI::App* sub : below)
      page += ".TP\n" + bold(sub->get_name()) + "\n" + sentence(sub->get_description()) + "\n";
  }
  page += footer_sections(command);
  page += ".SH SEE ALSO\n.BR cffs (1)";
  if (words.size() > 1) page += ",\n.BR " + as_roff("cffs-" + words[0]) + " (1)";
  for (const CLI::App* sub : below) page += ",\n.BR " + as_roff(title + "-" + sub->get_name()) + " (1)";
  return page + "\n";
}

}  // namespace cffs::cli
