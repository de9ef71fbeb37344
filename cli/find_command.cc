// find: searches a store by names and attributes, in the words of find(1).
#include <sys/stat.h>

#include "cli/browsed_stores.h"
#include "cli/browsing_commands.h"
#include "cli/help_formatter.h"
#include "core/base/clock.h"
#include "core/browse/find_expression.h"
#include "core/browse/listing.h"
#include "core/browse/tree_path.h"
#include "core/browse/tree_walk.h"

namespace cffs::cli {
namespace {

// Places and words are none of CLI11's options; help shows them all the same.
class FindUsage : public HelpFormatter {
 public:
  explicit FindUsage(const CLI::FormatterBase& like) { column_width(like.get_column_width()); }
  std::string make_usage(const CLI::App*, std::string name) const override {
    return "Usage: " + name + " [OPTIONS] STORE[:PATH]... [EXPRESSION]\n";
  }
};

// -newer FILE: of this machine; :PATH is one of the store that is looked at, STORE:PATH of another.
Result<std::int64_t> time_of_file(BrowsedStores& stores, const BrowsedStores::Place& here,
                                  const std::string& text) {
  struct stat st;
  if (!text.starts_with(':') && ::stat(text.c_str(), &st) == 0) return to_ns(st.st_mtim);
  const int reason = errno;
  FileSystem* fs = here.fs;
  std::string path = text.substr(std::min<std::size_t>(1, text.size()));
  if (!text.starts_with(':')) {
    if (text.find(':') == std::string::npos) return fail(reason, "-newer " + text);
    CFFS_TRY(const auto other, stores.at(text, "find"));
    fs = other.fs;
    path = other.place.path;
  }
  CFFS_TRY(const Attributes found, find_path(*fs, path, LastLink::follow, "-newer " + text));
  fs->forget(found.ino, 1);
  return found.mtime_ns;
}

Result<bool> is_empty(FileSystem& fs, const WalkedFile& directory) {
  CFFS_TRY(const Attributes referred, directory.depth == 0 ? fs.lookup(directory.attributes.ino, ".")
                                                           : fs.lookup(directory.parent, directory.name()));
  const Referred held(fs, referred);
  bool empty = true;
  CFFS_TRY_VOID(fs.readdir(referred.ino, 2, false, [&](const DirectoryEntry&) { return empty = false; }));
  return empty;
}

// "/usr/bin": where the search began, and what is below.
std::string inside_path(std::string_view start, const std::string& below) {
  while (start.starts_with('/')) start.remove_prefix(1);
  while (start.ends_with('/')) start.remove_suffix(1);
  return "/" + std::string(start) + (start.empty() || below.empty() ? "" : "/") + below;
}

int run_find(const std::vector<std::string>& words, bool foreign_owner) {
  std::size_t places = 0;
  while (places < words.size() && !FindExpression::begins(words[places])) ++places;
  if (places == 0)
    return complain(Error::command_line("find wants a STORE or STORE:PATH before the expression"));
  const std::vector<std::string> expression_words(words.begin() + static_cast<std::ptrdiff_t>(places),
                                                  words.end());
  const std::int64_t now_ns = SystemClock().now_ns();
  // Whether it is one is the same for all places, and said before any is opened.
  if (const auto good = FindExpression::parse(expression_words, now_ns, [](const auto&) { return 0; }); !good)
    return complain(good.error());
  const ShownNames names;
  BrowsedStores stores(foreign_owner);
  int code = 0;
  bool quit = false;
  for (std::size_t i = 0; i < places && !quit; ++i) {
    const auto search = [&]() -> Status {
      CFFS_TRY(const auto place, stores.at(words[i], "find"));
      CFFS_TRY(const FindExpression expression,
               FindExpression::parse(expression_words, now_ns, [&](const std::string& file) {
                 return time_of_file(stores, place, file);
               }));
      CFFS_TRY(const Attributes found, find_path(*place.fs, place.place.path, LastLink::keep, words[i]));
      const Referred start(*place.fs, found);
      TreeWalker walker;
      walker.enter = [&](const WalkedFile& file) -> Result<Onward> {
        if (output_failed()) return Onward::end;
        const std::string path = file.path.empty() ? words[i] : place.place.name_of(file.path);
        const std::string own_name = file.path.empty()
                                         ? place.place.path.substr(place.place.path.rfind('/') + 1)
                                         : std::string(file.name());
        FoundVerdict verdict;
        if (file.depth >= expression.least_depth()) {
          const std::string inside = inside_path(place.place.path, file.path);
          const auto empty = [&] {
            const auto answer = is_empty(*place.fs, file);
            if (answer) return *answer;
            code = 1;
            complain_of(path, answer.error());
            return false;
          };
          verdict = expression.ask({own_name, path, inside, file.attributes, empty});
        }
        for (const char end : verdict.prints) put((end == '\0' ? path : names(path)) + end);
        if (verdict.quit) quit = true;
        if (quit) return Onward::end;
        return verdict.prune || file.depth >= expression.most_depth() ? Onward::pass_by : Onward::descend;
      };
      walker.trouble = [&](const WalkedFile& file, const Error& error) {
        code = 1;
        complain_of(place.place.name_of(file.path), error);
      };
      return walk_tree(*place.fs, found, walker);
    };
    if (const Status done = search(); !done) code = complain(done.error());
  }
  return code;
}

}  // namespace

void add_find(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("find", "Search a store by names and attributes, without a mount");
  auto foreign = std::make_shared<bool>(false);
  add_foreign_owner(*command, *foreign);
  command->prefix_command();  // find's own words are no options
  command->formatter(std::make_shared<FindUsage>(*app.get_formatter()));
  command->footer(
      "EXPRESSION is find(1)'s, single dashes and all: -name -iname -path -ipath GLOB, -type f,d,l,p,s,c,b,\n"
      "-size [+-]N[cbwkMG], -mtime -ctime -atime [+-]DAYS, -mmin -cmin -amin [+-]MINUTES, -newer "
      "FILE|:PATH,\n"
      "-perm [-/]MODE, -user -group NAME, -uid -gid -links -inum [+-]N, -empty, -true, -false, -maxdepth N,\n"
      "-mindepth N, -prune, -quit, -print, -print0, joined by ( ) ! -a -o.");
  command->callback([command, foreign, &exit_code] {
    if (command->remaining().empty()) throw CLI::RequiredError("STORE");
    exit_code = run_find(command->remaining(), *foreign);
  });
}

}  // namespace cffs::cli
