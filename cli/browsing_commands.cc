#include "cli/browsing_commands.h"

#include "cli/help_formatter.h"
#include "core/base/printable.h"

namespace cffs::cli {

void complain_of(const std::string& place, const Error& error) {
  say(printable(place) + ": " + error.message());
}

void put(std::string_view bytes) { (void)std::fwrite(bytes.data(), 1, bytes.size(), stdout); }
void put_line(const std::string& text) { put(text + "\n"); }
bool output_failed() { return std::ferror(stdout) != 0; }

CLI::Option* add_places(CLI::App& command, std::vector<std::string>& places, const std::string& what) {
  command.formatter(std::make_shared<ShownArgument>(*command.get_formatter(), "STORE", "STORE[:PATH]..."));
  return command.add_option("STORE", places,
                            what + ": STORE, STORE:PATH, or an address in a pool with :/PATH");
}

void add_foreign_owner(CLI::App& command, bool& foreign) {
  command.add_flag("--foreign-owner", foreign,
                   "The store may belong to another user, who is trusted with what is in it");
}

}  // namespace cffs::cli
