// stat, fsck, compact: looking at a store, mounted or not.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "cli/commands.h"
#include "cli/directories_report.h"
#include "cli/stop_signals.h"
#include "core/base/work_step.h"
#include "core/inspect/consistency.h"
#include "core/inspect/statistics_json.h"
#include "core/reorganise/reorganiser.h"
#include "core/repair/repair.h"
#include "fusefs/operations.h"

namespace cffs::cli {
namespace {

// Statistics of a mounted store come from its daemon, as a virtual attribute of the root.
Result<std::string> statistics_of(const StoreName& name) {
  const std::string& path = name.path;
  CFFS_TRY_VOID(check_there(path));
  std::string json(64 * 1024, '\0');
  const ssize_t n = ::getxattr(path.c_str(), kStatisticsXattr, json.data(), json.size());
  if (n > 0) {
    json.resize(static_cast<std::size_t>(n));
    return json;
  }
  CFFS_TRY(const OpenStore store, open_store_for_reading(name));
  CFFS_TRY(const Statistics statistics, collect_statistics(*store.fs));
  return statistics_json(statistics);
}

int run_stat(const StoreName& name, bool json) {
  const auto text = statistics_of(name);
  if (!text) return complain(text.error());
  if (json) {
    fmt::print("{}\n", *text);
    return 0;
  }
  const auto s = nlohmann::json::parse(*text);
  const auto n = [&](const char* key) { return s.at(key).get<std::uint64_t>(); };
  fmt::print("files          {:>12}   {}\n", n("files"), human_bytes(n("file_bytes")));
  fmt::print("directories    {:>12}\n", n("directories"));
  fmt::print("symlinks       {:>12}\n", n("symlinks"));
  fmt::print("special files  {:>12}\n", n("specials"));
  fmt::print("where the data is\n");
  fmt::print("  empty        {:>12}\n", n("empty_files"));
  fmt::print("  inline       {:>12}   {}\n", n("inline_files"), human_bytes(n("inline_bytes")));
  fmt::print("  members      {:>12}   {} live, {} freed\n", n("member_files"), human_bytes(n("live_bytes")),
             human_bytes(n("freed_bytes")));
  if (n("sharing_files") > 0) {
    fmt::print("    that share {:>12}   {} spared\n", n("sharing_files"), human_bytes(n("shared_bytes")));
  }
  fmt::print("  blobs        {:>12}   {}, {} with checksums\n", n("blobs"), human_bytes(n("blob_bytes")),
             n("sealed_blobs"));
  fmt::print("composites     {:>12}   {}\n", n("composites"), human_bytes(n("composite_bytes")));
  const std::string compression = s.value("compression", "none");
  const auto share = [](std::uint64_t stored, std::uint64_t bytes) {
    return static_cast<double>(stored) / static_cast<double>(std::max<std::uint64_t>(1, bytes));
  };
  if (compression != "none" || s.value("stored_bytes", n("composite_bytes")) < n("composite_bytes")) {
    fmt::print("  stored                      {}, {:.3f} of that; compressed from now on: {}\n",
               human_bytes(n("stored_bytes")), share(n("stored_bytes"), n("composite_bytes")), compression);
    const auto by_policy = s.value("composites_by_policy", nlohmann::json::object());
    for (const auto& [policy, of] : by_policy.items()) {
      const auto bytes = of.at("bytes").get<std::uint64_t>(),
                 stored = of.at("stored_bytes").get<std::uint64_t>();
      fmt::print("    {:<10} {:>12}   {} of {}, {:.3f}\n", policy, of.at("composites").get<std::uint64_t>(),
                 human_bytes(stored), human_bytes(bytes), share(stored, bytes));
    }
    const std::uint64_t frames = s.value("frames_decompressed", std::uint64_t{0});
    const std::uint64_t found = s.value("frames_in_memory", std::uint64_t{0});
    if (frames > 0) {
      fmt::print(
          "  decompressed {:>12}   in {:.2f} s; of {} frames that were wanted {:.0f} % were in memory\n",
          human_bytes(s.value("frames_decompressed_bytes", std::uint64_t{0})),
          static_cast<double>(s.value("frames_decompressed_ns", std::uint64_t{0})) / 1e9, frames + found,
          100.0 * static_cast<double>(found) / static_cast<double>(frames + found));
    }
  }
  if (s.value("value_log_bytes", std::uint64_t{0}) > 0)
    fmt::print("value log      {:>12}   for small files that wait to be moved\n",
               human_bytes(n("value_log_bytes")));
  const bool on_regions = s.contains("regions");
  fmt::print("objects        {:>12}   {} on the {}, {} of {} free there\n", n("objects"),
             human_bytes(n("object_bytes")), on_regions ? "device" : "backing file system",
             human_bytes(s.value("backing_available_bytes", n("backing_free_bytes"))),
             human_bytes(n("backing_total_bytes")));
  if (on_regions) {
    fmt::print(
        "  in pieces    {:>12}   {:.2f} each\n", n("extents"),
        n("objects") > 0 ? static_cast<double>(n("extents")) / static_cast<double>(n("objects")) : 0.0);
    fmt::print("regions\n");
    for (const auto& room : s.at("regions")) {
      const auto of = [&](const char* key) { return room.at(key).get<std::uint64_t>(); };
      const std::string kind = room.at("kind");
      fmt::print("  {:<12} {:>12}", kind, of("regions"));
      if (kind != "unused" && of("bytes") > 0)
        fmt::print(
            "   {:.0f} % used, {} free in {} pieces",
            100.0 * static_cast<double>(of("bytes") - of("free_bytes")) / static_cast<double>(of("bytes")),
            human_bytes(of("free_bytes")), of("free_runs"));
      fmt::print("\n");
    }
  }
  if (s.value("reserve_bytes", std::uint64_t{0}) > 0)
    fmt::print(
        "reserve        {:>12}   beside the objects, held for removing and committing on a full disk\n",
        human_bytes(n("reserve_bytes")));
  if (n("read_ahead_bytes") > 0)
    fmt::print("read ahead     {:>12}   of it used: {}; a request is worth {}\n",
               human_bytes(n("read_ahead_bytes")), human_bytes(n("read_ahead_used_bytes")),
               human_bytes(n("break_even_bytes")));
  if (s.contains("local_cache")) {
    const auto& near = s.at("local_cache");
    const auto of = [&](const char* key) { return near.at(key).get<std::uint64_t>(); };
    fmt::print("local cache    {:>12}   of {} in {}{}; pages found {}, missed {}, damaged {}\n",
               human_bytes(of("bytes")), human_bytes(of("most_bytes")),
               near.at("directory").get<std::string>(),
               near.at("in_use").get<bool>() ? "" : " (another mount has it)", of("pages_found"),
               of("pages_missed"), of("damaged"));
  }
  if (s.contains("transport"))
    fmt::print("requests come  {:>12}\n", s.at("transport") == "ring" ? "by io_uring" : "by /dev/fuse");
  if (n("staged_directories") > 0)
    fmt::print("waiting        {:>12}   directories with staged files\n", n("staged_directories"));
  return 0;
}

// For programs all that stat tells, with the directories.
int run_stat_by_directory(const StoreName& name, unsigned depth, bool json) {
  const auto directories = directories_of(name, depth);
  if (!directories) return complain(directories.error());
  if (!json) {
    print_directories(*directories);
    return 0;
  }
  const auto text = statistics_of(name);
  if (!text) return complain(text.error());
  auto all = nlohmann::ordered_json::parse(*text);
  all.update(*directories);
  fmt::print("{}\n", all.dump(2));
  return 0;
}

int run_fsck(const StoreName& name, bool repair, unsigned jobs) {
  const auto could_not = [](const Error& error) {
    return complain(error, error.kind == ErrorKind::corruption ? kNotMended : kCouldNotRun);
  };
  std::vector<std::string> mended, lost;
  if (repair) {
    const auto objects = open_objects(name, PosixStore::Access::read_write);
    if (!objects) return could_not(objects.error());
    FileSystemOptions options;
    options.log = say;
    auto done = repair_store(**objects, options, &lost);
    if (!done) return could_not(with_mount_points(done.error(), name.path));
    mended = std::move(*done);
    for (const std::string& sentence : mended) fmt::print("mended: {}\n", sentence);
    for (const std::string& sentence : lost) fmt::print("lost: {}\n", sentence);
  }
  const auto store = open_store_for_check(name);
  if (!store) return could_not(store.error());
  ProgressLine progress;
  const EndingSignals signals(name.path +
                              ": the check was interrupted; what it had not read yet may be damaged");
  const auto found =
      find_inconsistencies(*store->fs, {jobs, [&](const WorkStep& step) { progress.show(step); }});
  progress.clear();
  if (!found) return could_not(found.error());
  for (const std::string& problem : *found) fmt::print("{}\n", problem);
  if (found->empty() && !lost.empty()) {
    fmt::print("{}: whole now, {} mended; {} could not come back\n", name.path, mended.size(), lost.size());
    return kNotMended;
  }
  if (found->empty()) {
    fmt::print("{}: {}\n", name.path,
               mended.empty() ? "clean" : fmt::format("clean now, {} mended", mended.size()));
    return mended.empty() ? kClean : kMended;
  }
  fmt::print(
      "{}: {} problems{}\n", name.path, found->size(),
      repair ? fmt::format(" left, {} mended", mended.size()) : "; cffs fsck --repair mends what can be");
  return kNotMended;
}

// Its daemon does it, we watch.
Result<int> compact_mount(const std::string& path) {
  constexpr std::string_view kBegin = "begin";
  if (::setxattr(path.c_str(), kCompactXattr, kBegin.data(), kBegin.size(), 0) != 0) {
    if (errno == EBUSY) return fail(EBUSY, "a compaction of " + path + " is under way");
    return fail(errno, "the daemon of " + path + " refused");
  }
  ProgressLine progress;
  const StopSignals signals(StopSignals::not_ignored(kStopSignals));
  for (;;) {
    const auto status = nlohmann::json::parse(mount_attribute(path, kCompactXattr), nullptr, false);
    if (!status.is_object()) return fail(EIO, path + " went away while it was compacted; run it again");
    const std::string state = status.value("state", "");
    if (state == "failed") return fail(Error::usage(path + ": " + status.value("error", "")));
    if (state == "stopped") return fail(EINTR, path + " is being unmounted; run it again");
    if (state == "done") return 0;
    if (state != "running") return fail(EIO, path + " was mounted anew while it was compacted; run it again");
    if (StopSignals::came()) {
      progress.clear();
      say(path + " is compacted on by its daemon");
      return StopSignals::exit_code();
    }
    progress.show(step_of_json(status.value("progress", nlohmann::json()).dump()));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Result<int> run_compact(const StoreName& name) {
  const std::string& path = name.path;
  CFFS_TRY_VOID(check_there(path));
  if (::getxattr(path.c_str(), kCompactXattr, nullptr, 0) > 0) return compact_mount(path);
  CFFS_TRY(const OpenStore store, open_store(name));
  {
    const StopSignals signals(StopSignals::not_ignored(kStopSignals));
    ProgressLine progress;
    CompactOptions options;
    options.on_progress = [&](const WorkStep& step) { progress.show(step); };
    options.go_on = [] { return !StopSignals::came(); };
    CFFS_TRY_VOID(Reorganiser(*store.fs).compact_now(options));
    CFFS_TRY_VOID(store.fs->sync());
    progress.show(WorkStep{"rewriting the table"});
    if (!StopSignals::came()) store.fs->table().compact();
  }
  CFFS_TRY_VOID(store.fs->close());
  if (!StopSignals::came()) return 0;
  say("it was interrupted; what was compacted stays so, the same command goes on");
  return StopSignals::exit_code();
}

}  // namespace

void add_stat(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("stat", "Show what is in a store: files, homes, composites, objects, space");
  auto store = std::make_shared<StoreName>();
  auto json = std::make_shared<bool>(false);
  auto depth = std::make_shared<std::string>();
  add_store_argument(*command, "STORE|MNT", *store, "Store, or where it is mounted")->required();
  command
      ->add_flag("--by-directory{1}", *depth,
                 "What directories hold and what that takes, down to a depth (1 where none is given)")
      ->check(CLI::Range(0u, kDeepest));
  command->add_flag("--json", *json, "For programs");
  command->callback([store, json, depth, &exit_code] {
    exit_code = depth->empty()
                    ? run_stat(*store, *json)
                    : run_stat_by_directory(*store, static_cast<unsigned>(std::stoul(*depth)), *json);
  });
}

void add_fsck(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("fsck",
                                     "Check a store that is not mounted: read all rows, composites, members "
                                     "with their checksums, and blobs");
  auto store = std::make_shared<StoreName>();
  auto repair = std::make_shared<bool>(false);
  auto jobs = std::make_shared<unsigned>(std::max(2u, std::thread::hardware_concurrency()));
  add_store_argument(*command, "STORE", *store, "Store")->required();
  command->add_option("--jobs", *jobs, "Objects that are read at a time")
      ->check(CLI::Range(1u, 256u))
      ->capture_default_str();
  command->add_flag(
      "--repair", *repair,
      "Mend what can be mended; what has lost its name is kept in lost+found, in the tree or in the store");
  command->footer(
      "Exit code: 0 clean, 1 all that was found is mended, 4 problems are left (one line each), 8 the check "
      "could not run.");
  command->callback([store, repair, jobs, &exit_code] { exit_code = run_fsck(*store, *repair, *jobs); });
}

void add_compact(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("compact", "Consolidate staged files and rewrite half-empty composites now");
  auto store = std::make_shared<StoreName>();
  add_store_argument(*command, "STORE|MNT", *store, "Store, or where it is mounted")->required();
  command->callback([store, &exit_code] {
    const auto done = run_compact(*store);
    exit_code = done ? *done : complain(done.error());
  });
}

}  // namespace cffs::cli
