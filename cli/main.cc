// cffs: one binary, a subcommand for each task. Called as mount.cffs, mount.fuse.cffs or mount.fuseblk.cffs it is the helper of mount(8).
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "cli/commands.h"
#include "cli/dead_mount.h"
#include "cli/examples.h"
#include "cli/help_formatter.h"
#include "cli/usage_error.h"

namespace {

struct HelperCall {
  std::vector<std::string> words{"mount"};
  bool fake = false, elsewhere = false;
};

// mount.cffs STORE MNT [-sfnv] [-N NAMESPACE] [-o LIST] [-t TYPE]  ->  cffs mount STORE MNT [-o LIST]
HelperCall as_mount_helper(int argc, char** argv) {
  HelperCall call;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.size() > 1 && word[0] == '-' && word.find_first_not_of("sfnv", 1) == std::string::npos) {
      call.fake = call.fake || word.find('f') != std::string::npos;
    } else if (word == "-t" || word == "-N") {
      call.elsewhere = call.elsewhere || word == "-N";
      ++i;
    } else if (word == "-o" && i + 1 < argc) {
      call.words.push_back(word);
      call.words.emplace_back(argv[++i]);
    } else {
      call.words.push_back(word);
    }
  }
  return call;
}

// Of a command that did not come to what it is for: where 1 says what it found, another.
int could_not_run(const std::string& command) {
  if (command == "cffs fsck" || command == "cffs scrub" || command == "cffs backup")
    return cffs::cli::kCouldNotRun;
  return command == "cffs diff" ? 2 : 1;
}

// Who calls may have closed one of the first three descriptors; the next file, a store's too, would become standard error. Here it becomes
// one by which nothing can be read, or written: a command still fails that has something to say.
void fill_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_descriptors();
  CLI::App app{"cffs keeps millions of small files in few large objects, and shows them as ordinary files."};
  app.set_version_flag("--version", std::string("cffs ") + CFFS_VERSION);
  app.require_subcommand(1);
  app.formatter(std::make_shared<cffs::cli::HelpFormatter>());
  app.get_formatter()->column_width(34);
  int exit_code = 0;
  cffs::cli::add_format(app, exit_code);
  cffs::cli::add_mount(app, exit_code);
  cffs::cli::add_umount(app, exit_code);
  cffs::cli::add_import(app, exit_code);
  cffs::cli::add_export(app, exit_code);
  cffs::cli::add_stat(app, exit_code);
  cffs::cli::add_stats(app, exit_code);
  cffs::cli::add_top(app, exit_code);
  cffs::cli::add_fsck(app, exit_code);
  cffs::cli::add_scrub(app, exit_code);
  cffs::cli::add_backup(app, exit_code);
  cffs::cli::add_copy(app, exit_code);
  cffs::cli::add_salvage(app, exit_code);
  cffs::cli::add_compact(app, exit_code);
  cffs::cli::add_dump(app, exit_code);
  cffs::cli::add_ls(app, exit_code);
  cffs::cli::add_cat(app, exit_code);
  cffs::cli::add_find(app, exit_code);
  cffs::cli::add_du(app, exit_code);
  cffs::cli::add_diff(app, exit_code);
  cffs::cli::add_warm(app, exit_code);
  cffs::cli::add_advise(app, exit_code);
  cffs::cli::add_analyze(app, exit_code);
  cffs::cli::add_spark_part(app, exit_code);
  cffs::cli::add_evaluate(app, exit_code);
  cffs::cli::add_regroup(app, exit_code);
  cffs::cli::add_replay(app, exit_code);
  cffs::cli::add_trace(app, exit_code);
  cffs::cli::add_compare(app, exit_code);
  cffs::cli::add_bench(app, exit_code);
  cffs::cli::add_list(app, exit_code);
  cffs::cli::add_doctor(app, exit_code);
  cffs::cli::add_manual(app, exit_code);
  cffs::cli::add_help(app, exit_code);
  cffs::cli::add_quiet_flags(app);
  cffs::cli::add_examples(app);
  cffs::cli::add_value_names(app);
  const std::string called = std::filesystem::path(argv[0]).filename();
  const bool is_helper =
      called == "mount.cffs" || called == "mount.fuse.cffs" || called == "mount.fuseblk.cffs";
  const HelperCall call =
      is_helper ? as_mount_helper(argc, argv) : HelperCall{std::vector<std::string>(argv + 1, argv + argc)};
  if (call.elsewhere) {
    return cffs::cli::complain(
        cffs::Error::command_line("a mount's daemon belongs to one mount namespace: mount -N is not for "
                                  "cffs; nsenter --mount=NAMESPACE "
                                  "mount -t cffs STORE MNT makes it there"));
  }
  if (call.fake) return 0;  // mount -f, mount -fav: all but the mount
  const std::vector<std::string>& words = call.words;
  const auto named = cffs::cli::named_command(app, words);
  // umount is what helps; mount waits for daemons that are leaving, and says it then.
  if (named.path != "cffs umount" && named.path != "cffs mount") {
    if (const auto dead = cffs::cli::dead_mount_among(words)) {
      cffs::cli::say(*dead);
      return could_not_run(named.path);
    }
  }
  if (const std::string problem = cffs::cli::option_without_value(named, words); !problem.empty()) {
    std::fprintf(stderr, "%s\n", problem.c_str());
    return 2;
  }
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());  // as CLI11 wants them
    app.parse(reversed);
  } catch (const CLI::Success&) {  // --help, --version
    const bool is_version = std::find(words.begin(), words.end(), "--version") != words.end();
    std::fputs(is_version ? ("cffs " CFFS_VERSION "\n") : cffs::cli::help_of(named).c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "%s\n", cffs::cli::usage_error(app, words, error).c_str());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cffs: %s\n", error.what());
    return could_not_run(named.path);
  }
  // What a full device swallowed was not said.
  if ((std::fflush(stdout) != 0 || std::ferror(stdout) != 0) && exit_code == 0) {
    return cffs::cli::complain(cffs::Error::os(errno, "standard output"), could_not_run(named.path));
  }
  return exit_code;
}
