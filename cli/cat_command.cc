// cat: writes files of a store to standard output.
#include <sys/stat.h>

#include "cli/browsed_stores.h"
#include "cli/browsing_commands.h"
#include "core/base/printable.h"
#include "core/browse/tree_path.h"

namespace cffs::cli {
namespace {

int run_cat(const std::vector<std::string>& places, bool foreign_owner) {
  BrowsedStores stores(foreign_owner);
  int code = 0;
  const auto write_out = [&](const std::string& text) -> Status {
    CFFS_TRY(const auto place, stores.at(text, "cat"));
    CFFS_TRY(const Attributes found, find_path(*place.fs, place.place.path, LastLink::follow, text));
    const Referred file(*place.fs, found);
    if (S_ISDIR(found.mode)) return fail(EISDIR, printable(text));
    if (!S_ISREG(found.mode))
      return fail(Error::usage(printable(text) + " is no regular file, and has nothing to read"));
    std::string buffer(std::min<std::uint64_t>(std::max<std::uint64_t>(found.size, 1), 1u << 20), '\0');
    for (std::uint64_t at = 0; !output_failed();) {
      CFFS_TRY(const std::size_t n, place.fs->read(found.ino, at, as_writable_bytes(buffer)));
      if (n == 0) break;
      put(std::string_view(buffer).substr(0, n));
      at += n;
    }
    return {};
  };
  for (const std::string& text : places) {
    if (const Status done = write_out(text); !done) {
      (void)std::fflush(stdout);  // in the order in which it came
      if (done.error().kind == ErrorKind::corruption) {
        code = 1;
        complain_of(text, done.error());
      } else {
        code = complain(done.error());
      }
    }
  }
  return code;
}

}  // namespace

void add_cat(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("cat", "Write files of a store to standard output, without a mount");
  auto places = std::make_shared<std::vector<std::string>>();
  auto foreign = std::make_shared<bool>(false);
  add_places(*command, *places, "Files")->required();
  add_foreign_owner(*command, *foreign);
  command->callback([places, foreign, &exit_code] { exit_code = run_cat(*places, *foreign); });
}

}  // namespace cffs::cli
