// cffs: one binary, a subcommand for each task. Called as mount.cffs, mount.fuse.cffs or mount.fuseblk.cffs it is the helper of mount(8).
#include <filesystem>

#include "cli/commands.h"

namespace {

// mount.cffs STORE MNT [-sfnv] [-o LIST]  ->  cffs mount STORE MNT [-o LIST]
std::vector<std::string> as_mount_helper(int argc, char** argv) {
  std::vector<std::string> words{"mount"};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "-s" || word == "-f" || word == "-n" || word == "-v") continue;
    if (word == "-t" || word == "-N") {
      ++i;
      continue;
    }
    words.push_back(word);
  }
  return words;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"cffs keeps millions of small files in few large objects, and shows them as ordinary files."};
  app.set_version_flag("--version", std::string("cffs ") + CFFS_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  int exit_code = 0;
  cffs::cli::add_format(app, exit_code);
  cffs::cli::add_mount(app, exit_code);
  cffs::cli::add_umount(app, exit_code);
  cffs::cli::add_import(app, exit_code);
  cffs::cli::add_export(app, exit_code);
  cffs::cli::add_stat(app, exit_code);
  cffs::cli::add_fsck(app, exit_code);
  cffs::cli::add_scrub(app, exit_code);
  cffs::cli::add_backup(app, exit_code);
  cffs::cli::add_copy(app, exit_code);
  cffs::cli::add_salvage(app, exit_code);
  cffs::cli::add_compact(app, exit_code);
  cffs::cli::add_dump(app, exit_code);
  cffs::cli::add_advise(app, exit_code);
  cffs::cli::add_analyze(app, exit_code);
  cffs::cli::add_spark_part(app, exit_code);
  cffs::cli::add_evaluate(app, exit_code);
  cffs::cli::add_regroup(app, exit_code);
  cffs::cli::add_replay(app, exit_code);
  cffs::cli::add_trace(app, exit_code);
  cffs::cli::add_compare(app, exit_code);
  cffs::cli::add_bench(app, exit_code);
  try {
    const std::string called = std::filesystem::path(argv[0]).filename();
    if (called == "mount.cffs" || called == "mount.fuse.cffs" || called == "mount.fuseblk.cffs") {
      std::vector<std::string> words = as_mount_helper(argc, argv);
      std::reverse(words.begin(), words.end());  // as CLI11 wants them
      app.parse(words);
    } else {
      app.parse(argc, argv);
    }
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "cffs: %s; see cffs --help\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cffs: %s\n", error.what());
    return 1;
  }
  // What a full device swallowed was not said.
  if ((std::fflush(stdout) != 0 || std::ferror(stdout) != 0) && exit_code == 0) {
    return cffs::cli::complain(cffs::Error::os(errno, "standard output"));
  }
  return exit_code;
}
