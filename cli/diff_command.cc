// diff: two trees held against each other, each in a store, a directory, or an archive.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <thread>

#include "cli/browsed_stores.h"
#include "cli/temporary_place.h"
#include "core/backend/store_at.h"
#include "core/base/printable.h"
#include "core/browse/tree_difference.h"
#include "core/rados/address.h"
#include "core/transfer/archive_form.h"
#include "core/transfer/archive_import.h"
#include "fusefs/ending_signals.h"

namespace cffs::cli {
namespace {

// As diff(1): 0 the same, 1 they differ, 2 it could not be told.
enum DiffCode { kSameTrees = 0, kTreesDiffer = 1, kNotCompared = 2 };

struct DiffFlags {
  std::array<std::string, 2> sides;
  bool foreign_owner = false, times = false, no_owners = false, no_permissions = false, no_xattrs = false,
       no_contents = false, details = false, quiet = false;
};

bool has_archive_name(const std::string& path) {
  const auto form = archive_form(path);
  return form && *form && (*form)->format == ArchiveForm::Format::tar && path != "-";
}

// An archive, as a store among the temporary files for as long as it is compared: it can be read from the front alone.
class ArchiveStore {
 public:
  static Result<std::unique_ptr<ArchiveStore>> of(const std::string& archive) {
    std::error_code problem;
    const std::filesystem::path temporary = std::filesystem::temp_directory_path(problem);
    if (problem) return fail(problem.value(), "the directory of temporary files");
    CFFS_TRY(auto place, TemporaryPlace::make(temporary, "cffs-diff"));
    const std::string folder = place->path();
    std::unique_ptr<ArchiveStore> store(new ArchiveStore(std::move(place)));
    CFFS_TRY_VOID(store->ending_.begin());
    CFFS_TRY_VOID(make_store({folder + "/store", false}, StoreFormat()));
    CFFS_TRY(store->open_, open_store({folder + "/store", false}));
    ImportReport report;
    {
      ProgressLine progress;
      ImportTarget target(
          *store->open_.fs, std::max(2u, std::thread::hardware_concurrency()), [&](const ImportReport& r) {
            progress.show(fmt::format("{}: {} files, {}", archive, r.files, human_bytes(r.bytes)));
          });
      CFFS_TRY_VOID(import_archive(archive, target));
      CFFS_TRY(report, target.finish());
    }
    if (report.failed > 0)
      return fail(Error::usage(archive + " cannot be compared: " + report.problems.front()));
    return store;
  }
  ~ArchiveStore() { open_ = {}; }
  ArchiveStore(const ArchiveStore&) = delete;
  ArchiveStore& operator=(const ArchiveStore&) = delete;
  FileSystem& fs() const { return *open_.fs; }

 private:
  explicit ArchiveStore(std::unique_ptr<TemporaryPlace> place) : place_(std::move(place)) {}
  const std::unique_ptr<TemporaryPlace> place_;
  SignalWatch ending_{[this] {
    place_->remove();
    ::_exit(130);
  }};
  OpenStore open_;
};

// Of an archive that is not unpacked here, and so would be compared as one file.
Status check_kind(const std::string& text, const ComparedTree& tree, const ComparedTree& other) {
  const auto form = archive_form(text);
  const bool is_archive = !form || (*form && (*form)->format != ArchiveForm::Format::tar);
  if (!is_archive || !S_ISREG(tree.start().mode) || !S_ISDIR(other.start().mode)) return {};
  return fail(Error::usage(text +
                           " is one file, and no tar archive: others are not unpacked to be compared; import "
                           "it into a store, and compare that"));
}

struct Side {
  std::unique_ptr<ArchiveStore> archive;
  std::unique_ptr<ComparedTree> tree;
};

Result<Side> open_side(const std::string& text, BrowsedStores& stores) {
  Side side;
  struct stat st;
  const bool is_there = !RadosAddress::is_one(text) && ::stat(text.c_str(), &st) == 0;
  if (is_there && S_ISREG(st.st_mode) && has_archive_name(text) && !is_store_at(text)) {
    CFFS_TRY(side.archive, ArchiveStore::of(text));
    CFFS_TRY(side.tree, compared_store_tree(side.archive->fs(), "", text));
  } else if (is_there && !is_store_at(text)) {
    CFFS_TRY(side.tree, compared_directory(text));
  } else {
    CFFS_TRY(const auto place, stores.at(text, "diff -r"));
    CFFS_TRY(side.tree, compared_store_tree(*place.fs, place.place.path, text));
  }
  return side;
}

Result<int> run_diff(const DiffFlags& flags) {
  // The archive's copy goes at the end, whoever stops reading what is printed; the signals are its.
  const bool has_archive = has_archive_name(flags.sides[0]) || has_archive_name(flags.sides[1]);
  if (has_archive) {
    (void)std::signal(SIGPIPE, SIG_IGN);
    block_ending_signals();
  }
  BrowsedStores stores(flags.foreign_owner);
  CFFS_TRY(const Side first, open_side(flags.sides[0], stores));
  CFFS_TRY(const Side second, open_side(flags.sides[1], stores));
  for (const bool turn : {false, true})
    CFFS_TRY_VOID(
        check_kind(flags.sides[turn ? 1 : 0], *(turn ? second : first).tree, *(turn ? first : second).tree));
  const ShownNames names;
  ProgressLine progress;
  DifferenceOptions options;
  options.times = flags.times;
  options.owners = !flags.no_owners;
  options.permissions = !flags.no_permissions;
  options.xattrs = !flags.no_xattrs;
  options.contents = !flags.no_contents;
  const std::string start = S_ISDIR(first.tree->start().mode) ? "." : flags.sides[0];
  bool differ = false;
  std::uint64_t compared = 0;
  options.found = [&](const Difference& difference) {
    differ = true;
    if (flags.quiet) return;
    progress.clear();
    std::string line = difference.kinds + " " + names(difference.path.empty() ? start : difference.path);
    if (flags.details) {
      line += "\t(";
      for (std::size_t i = 0; i < difference.details.size(); ++i)
        line += (i > 0 ? "; " : "") + difference.details[i];
      line += ")";
    }
    std::fprintf(stdout, "%s\n", line.c_str());
  };
  options.trouble = [&](const std::string& path, const Error& error) {
    progress.clear();
    say(printable(path.empty() ? start : path) + ": " + error.message());
  };
  options.go_on = [&] {
    if (++compared % 64 == 0) progress.show(fmt::format("{} compared", compared));
    return std::ferror(stdout) == 0 && !(flags.quiet && differ);
  };
  const auto done = compare_trees(*first.tree, *second.tree, options);
  progress.clear();
  if (!done && done.error().errno_value == EINTR) return flags.quiet && differ ? kTreesDiffer : kNotCompared;
  if (!done) return fail(done.error());
  return done->troubles > 0 ? kNotCompared : done->differences > 0 ? kTreesDiffer : kSameTrees;
}

}  // namespace

void add_diff(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "diff", "Compare two trees, each in a store, a directory or an archive: names, attributes, every byte");
  auto o = std::make_shared<DiffFlags>();
  command
      ->add_option(
          "A", o->sides[0],
          "STORE or STORE:PATH, a directory or file, or a tar archive by its name (it is unpacked into "
          "a store among the temporary files meanwhile)")
      ->required();
  command->add_option("B", o->sides[1], "The same: what A is compared with")->required();
  command->add_flag("--times", o->times, "Times of the last change of files, too");
  command->add_flag("--no-owner", o->no_owners, "Not owners and groups");
  command->add_flag("--no-mode", o->no_permissions, "Not permissions");
  command->add_flag("--no-xattrs", o->no_xattrs, "Not extended attributes and ACLs");
  command->add_flag("--no-content", o->no_contents, "Not contents, nor sizes");
  auto* details = command->add_flag("--details", o->details, "Say behind each name what is different");
  command->add_flag("-q,--quiet", o->quiet, "Print nothing, and end with the first difference")
      ->excludes(details);
  command->add_flag("--foreign-owner", o->foreign_owner,
                    "Stores may belong to another user, who is trusted with what is in them");
  command->footer(
      "A line for each file that differs: letters, a space, its path. < only in A, > only in B (for all of a "
      "directory), else T type, C content, L target of a symbolic link, N device number, P permissions, O "
      "owner "
      "or group, X extended attributes, M time.\nExit code: 0 the same, 1 different, 2 it could not be "
      "told.");
  command->callback([o, &exit_code] {
    const auto done = run_diff(*o);
    exit_code = done ? *done : complain(done.error(), kNotCompared);
  });
}

}  // namespace cffs::cli
