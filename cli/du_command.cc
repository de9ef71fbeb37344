// du: sums up what directories of a store hold.
#include <map>
#include <optional>

#include "cli/browsed_stores.h"
#include "cli/browsing_commands.h"
#include "core/browse/disk_usage.h"
#include "core/browse/listing.h"
#include "core/browse/tree_path.h"

namespace cffs::cli {
namespace {

struct UsageFlags {
  std::vector<std::string> places;
  bool foreign_owner = false, summary = false, human = false, apparent = false, all = false, bytes = false,
       total = false;
  std::optional<unsigned> depth;
};

int run_du(const UsageFlags& flags) {
  if (flags.summary && flags.depth && *flags.depth > 0)
    return complain(Error::command_line("-s is one line a place, and -d more than that: one of them"));
  const ShownNames names;
  BrowsedStores stores(flags.foreign_owner);
  std::map<FileSystem*, DiskUsage> usages;  // a file with several names counts once, by whichever places
  int code = 0;
  std::uint64_t total = 0;
  std::string operand;
  StorePlace current;
  const auto line = [&](const std::string& name, std::uint64_t bytes) {
    put_line((flags.bytes   ? std::to_string(bytes)
              : flags.human ? short_size(bytes)
                            : std::to_string((bytes + 1023) / 1024)) +
             "\t" + names(name));
  };
  DiskUsageOptions options;
  options.apparent = flags.apparent || flags.bytes;
  options.all_files = flags.all;
  options.depth = flags.summary ? 0 : flags.depth.value_or(~0u);
  options.line = [&](const std::string& below, std::uint64_t bytes) {
    line(below.empty() ? operand : current.name_of(below), bytes);
  };
  options.trouble = [&](const std::string& below, const Error& error) {
    code = 1;
    complain_of(current.name_of(below), error);
  };
  for (const std::string& text : flags.places) {
    if (output_failed()) break;
    const auto measure = [&]() -> Status {
      CFFS_TRY(const auto place, stores.at(text, "du"));
      CFFS_TRY(const Attributes found, find_path(*place.fs, place.place.path, LastLink::keep, text));
      const Referred start(*place.fs, found);
      operand = text;
      current = place.place;
      CFFS_TRY(const std::uint64_t bytes,
               usages.try_emplace(place.fs, *place.fs, options).first->second.of(found));
      total += bytes;
      return {};
    };
    if (const Status done = measure(); !done) code = complain(done.error());
  }
  if (flags.total) line("total", total);
  return code;
}

}  // namespace

void add_du(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("du", "Sum up what directories of a store hold, as du does on a mount");
  command->set_help_flag("--help", "Print this help message and exit");
  auto o = std::make_shared<UsageFlags>();
  add_places(*command, o->places, "What to sum up")->required();
  auto* summary = command->add_flag("-s,--summarize", o->summary, "One line a place");
  command->add_flag("-h,--human-readable", o->human, "Sizes like 4.0K");
  command->add_option("-d,--max-depth", o->depth, "Lines for directories down to there");
  command->add_flag("-a,--all", o->all, "Lines for files, too")->excludes(summary);
  command->add_flag("-c,--total", o->total, "A line for all places together");
  command->add_flag("--apparent-size", o->apparent, "Sizes, not the blocks that a mount reports");
  command->add_flag("-b,--bytes", o->bytes, "As --apparent-size, in bytes");
  add_foreign_owner(*command, o->foreign_owner);
  command->callback([o, &exit_code] { exit_code = run_du(*o); });
}

}  // namespace cffs::cli
