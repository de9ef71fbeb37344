// manual: writes the manual pages of all commands; for the build, and hidden.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/commands.h"
#include "cli/manual_page.h"

namespace cffs::cli {
namespace {

struct ManualOptions {
  std::string directory, overview;
};

Status write_manual_page(const std::string& path, const std::string& page) {
  errno = 0;
  std::ofstream out(path);
  out << page;
  out.close();
  if (!out) return fail(errno != 0 ? errno : EIO, path);
  return {};
}

// Of the commands below this one, and of those below them.
Status write_manual_pages(const CLI::App& command, const std::vector<std::string>& words,
                          const Overview& overview, const std::string& directory) {
  for (const CLI::App* sub :
       command.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); })) {
    std::vector<std::string> longer = words;
    longer.push_back(sub->get_name());
    std::string path = directory + "/cffs";
    for (const std::string& word : longer) path += "-" + word;
    CFFS_TRY_VOID(write_manual_page(path + ".1", manual_page(*sub, longer, overview)));
    CFFS_TRY_VOID(write_manual_pages(*sub, longer, overview, directory));
  }
  return {};
}

Status write_manual(const CLI::App& program, const ManualOptions& o) {
  Overview overview;
  if (!o.overview.empty()) {
    std::ifstream in(o.overview);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in) return fail(errno != 0 ? errno : EIO, o.overview);
    overview = Overview(text.str());
  }
  std::error_code problem;
  std::filesystem::create_directories(o.directory, problem);
  if (problem) return fail(problem.value(), o.directory);
  return write_manual_pages(program, {}, overview, o.directory);
}

}  // namespace

void add_manual(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("manual", "Write the manual pages of all commands")->group("");
  auto o = std::make_shared<ManualOptions>();
  command->add_option("DIR", o->directory, "Directory for them")->required();
  command->add_option("--overview", o->overview, "Page whose paragraphs about the commands they take along");
  command->callback([&app, o, &exit_code] {
    if (const Status done = write_manual(app, *o); !done) exit_code = complain(done.error());
  });
}

}  // namespace cffs::cli
