// A closed store with a file of each kind, whose rows are then whatever a test makes of them; and everything that can be done
// with a store, in a process of its own.
#pragma once

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <unordered_set>

#include "core/batch/batch_reader.h"
#include "core/batch/group_members.h"
#include "core/browse/compared_tree.h"
#include "core/browse/disk_usage.h"
#include "core/browse/tree_difference.h"
#include "core/composite/composite_store.h"
#include "core/inspect/consistency.h"
#include "core/inspect/row_names.h"
#include "core/inspect/statistics.h"
#include "core/object/memory_store.h"
#include "core/reorganise/regrouping.h"
#include "core/reorganise/reorganiser.h"
#include "core/reorganise/store_paths.h"
#include "core/repair/repair.h"
#include "core/table/table.h"
#include "core/transfer/export.h"
#include "core/warm/warming.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {

inline constexpr std::uint64_t kHuge = ~std::uint64_t{0};

// A store with a file of each kind, closed; then its rows are whatever a case makes of them.
struct Crafted {
  MemoryStore store;
  std::map<std::string, std::pair<Key, Inode>> places;  // by name

  Crafted() {
    StoreFormat format;
    format.inline_max = 512;
    format.composite_file_max = 16384;
    REQUIRE(FileSystem::format(store, format, SystemClock()));
    const auto fs = std::move(*FileSystem::open(store, quiet()));
    const InodeId directory = fs->mkdir(kRootInode, "directory", 0755, kRoot)->ino;
    REQUIRE(fs->mkdir(directory, "below", 0755, kRoot));
    make(*fs, kRootInode, "member", "some data");
    make(*fs, kRootInode, "neighbour", "other data");
    REQUIRE(Reorganiser(*fs).consolidate_now());
    make(*fs, directory, "inline", std::string(9000, 'i'));
    make(*fs, directory, "blob", std::string(100'000, 'b'));
    REQUIRE(fs->symlink(directory, "symlink", "inline", kRoot));
    make(*fs, directory, "linked", "x");
    REQUIRE(fs->link(fs->lookup(directory, "linked")->ino, kRootInode, "again"));
    REQUIRE(find_inconsistencies(*fs)->empty());
    REQUIRE(fs->table().scan_entries([&](Key key, const Row& row) {
      for (const Entry& entry : row.entries) places[entry.name] = {key, entry.inode.value_or(Inode())};
      return true;
    }));
    REQUIRE(fs->close());
  }
  static void make(FileSystem& fs, InodeId parent, const char* name, const std::string& content) {
    const InodeId ino = fs.mknod(parent, name, S_IFREG | 0644, 0, kRoot)->ino;
    REQUIRE(fs.write(ino, 0, as_bytes(content), kRoot));
  }

  Inode inode(const std::string& name) { return places.at(name).second; }
  Key key(const std::string& name) { return places.at(name).first; }
  Extent extent() { return inode("member").extent; }
  void with_table(const std::function<void(Table&)>& change) {
    const auto table = std::move(*Table::open(store, {}));
    change(*table);
    REQUIRE(table->sync());
  }
  void put(Key at, const std::string& value) {
    with_table([&](Table& table) {
      Batch batch;
      batch.put(at, value);
      REQUIRE(table.write(batch));
    });
  }
  void entry(const std::string& name, const std::function<void(Entry&)>& change) {
    with_table([&](Table& table) {
      Row row = *table.get_row(key(name));
      change(*row.find(name));
      Batch batch;
      batch.put(key(name), encode_row(row));
      REQUIRE(table.write(batch));
    });
  }
  void change(const std::string& name, const std::function<void(Inode&)>& change) {
    entry(name, [&](Entry& e) { change(*e.inode); });
  }
  // One more name, below a hash that nobody looks for.
  void add(InodeId parent, Entry entry) {
    Row row;
    row.entries.push_back(std::move(entry));
    put(Key::entry(parent, 77 + places.size()), encode_row(row));
    places["#" + std::to_string(places.size())] = {};
  }
  void add_file(const std::string& name) {
    Inode inode;
    inode.ino = InodeId{900 + places.size()};
    inode.mode = S_IFREG | 0644;
    add(kRootInode, Entry{name, inode.ino, S_IFREG, inode});
  }
  std::string composite_name() { return CompositeStore::object_name(extent().composite); }
  void composite_row(const std::function<void(CompositeRow&)>& change) {
    CompositeRow row;
    with_table(
        [&](Table& table) { row = *decode_composite_row(**table.get(Key::null_name(extent().composite))); });
    change(row);
    put(Key::null_name(extent().composite), encode_composite_row(row));
  }
};

// Everything that can be done to a file; what it says is not looked at.
inline void use_file(FileSystem& fs, InodeId parent, const std::string& name, const Attributes& file) {
  std::string bytes(70'000, '\0');
  (void)fs.getattr(file.ino);
  (void)fs.readlink(file.ino);
  if (const auto names = fs.listxattr(file.ino)) {
    for (const std::string& attribute : *names) (void)fs.getxattr(file.ino, attribute);
  }
  for (const std::uint64_t at : {std::uint64_t{0}, file.size / 2, file.size - 1}) {
    (void)fs.read(file.ino, at, as_writable_bytes(bytes));
    (void)fs.next_data(file.ino, at);
    (void)fs.next_hole(file.ino, at);
  }
  (void)fs.write(file.ino, 3, as_bytes("written"), kRoot);
  (void)fs.setxattr(file.ino, "user.x", "y", XattrMode::any, kRoot);
  for (const std::uint64_t size : {9'500, 5, 30'000}) {
    AttributeChange change;
    change.size = size;
    (void)fs.setattr(file.ino, change, kRoot);
  }
  (void)fs.allocate(file.ino, 10, 100, AllocateMode::punch_hole, true, kRoot);
  (void)fs.link(file.ino, parent, name + ".linked");
  (void)fs.rename(parent, name, parent, name + ".renamed", RenameMode::replace, kRoot);
  (void)fs.unlink(parent, name + ".renamed");
  (void)fs.rmdir(parent, name + ".renamed");
  (void)fs.read(file.ino, 0, as_writable_bytes(bytes));
  (void)fs.write(file.ino, 3, as_bytes("written"), kRoot);
}

// `changes`: else files are only looked at.
inline void use_tree(FileSystem& fs, bool changes) {
  std::vector<InodeId> pending{kRootInode};
  std::unordered_set<InodeId> met{kRootInode};
  while (!pending.empty()) {
    const InodeId directory = pending.back();
    pending.pop_back();
    std::vector<std::pair<std::string, Attributes>> files;
    for (const bool refer : {false, true}) {
      (void)fs.readdir(directory, 0, refer, [&](const DirectoryEntry& e) {
        if (refer && e.name != "." && e.name != "..") files.emplace_back(e.name, e.attributes);
        return true;
      });
    }
    for (const char* name :
         {"directory", "member", "inline", "blob", "symlink", "linked", "again", "below"}) {
      if (const auto found = fs.lookup(directory, name)) files.emplace_back(name, *found);
    }
    for (const auto& [name, file] : files) {
      if (S_ISDIR(file.mode) && met.insert(file.ino).second) pending.push_back(file.ino);
      if (changes && !S_ISDIR(file.mode)) use_file(fs, directory, name, file);
      (void)fs.lookup(file.ino, "..");
    }
    if (changes) {
      (void)fs.mkdir(directory, "new", 0755, kRoot);
      (void)fs.rename(directory, "new", kRootInode, "moved", RenameMode::replace, kRoot);
      (void)fs.rename(directory, "member", kRootInode, "inline", RenameMode::exchange, kRoot);
      (void)fs.mknod(directory, "file", S_IFREG | 0644, 0, kRoot);
    }
  }
  (void)fs.sync();
}

// Browsing, warming, and many files at once; what they say is not looked at.
inline void look_without_mount(ObjectStore& store, FileSystem& fs) {
  const std::vector<std::string> root{"/"};
  if (const auto start = fs.lookup(kRootInode, ".")) {
    DiskUsageOptions lines;
    lines.all_files = true;
    lines.line = [](const std::string&, std::uint64_t) {};
    (void)DiskUsage(fs, lines).of(*start);
  }
  const auto first = compared_store_tree(fs, "/", "first"), second = compared_store_tree(fs, "/", "second");
  DifferenceOptions all;
  all.times = true;
  all.contents = false;  // of a file without end they have none either
  if (first && second) (void)compare_trees(**first, **second, all);
  WarmOptions some;
  some.most_bytes = 1u << 20;
  (void)warm_store(store, fs, root, some);
  some.metadata_only = true;
  (void)warm_store(store, fs, {"/directory", "/member"}, some);
  (void)find_data_order(fs, root);
  for (const char* path : {"/member", "/again", "/directory/inline", "/directory/blob", "/directory/symlink"})
    (void)group_of(fs, path);
  (void)fs.live_counters();
  const auto files = PlacedFiles::below(fs, "/");
  if (!files) return;
  std::vector<FilePlace> places;
  for (const std::uint32_t i : files->by_path()) places.push_back(files->place(i));
  const BatchPlan plan(places);
  if (plan.memory_bytes() > (256u << 20)) return;
  std::string memory(plan.memory_bytes(), '\0');
  const std::vector<std::uint32_t> order = files->by_path();
  BatchReader reader(fs, places, plan, [&](std::size_t i) { return files->path(order[i]); });
  reader.ask();
  (void)reader.read(as_writable_bytes(memory), 2);
}

// False: nothing was found to be wrong, and all could be read.
inline bool look(ObjectStore& store, const std::string& outside) {
  FileSystemOptions options = quiet();
  options.read_only = true;
  options.keep_what_is_whole = true;
  const auto fs = FileSystem::open(store, options);
  if (!fs) return true;
  use_tree(**fs, false);
  (void)collect_statistics(**fs);
  (void)(*fs)->table().scan({0, 0}, {kHuge, kHuge}, [&](Key key, std::string_view value) {
    if (key.tag() != KeyTag::namespace_ && key.tag() != KeyTag::file_data) (void)check_row(key, value);
    return true;
  });
  look_without_mount(store, **fs);
  const std::string here = outside + "/export";
  (void)export_directory(**fs, "", here);
  (void)export_archive(**fs, "", outside + "/export.tar", {});
  const auto found = find_inconsistencies(**fs);
  return !found || !found->empty();
}

inline void use(ObjectStore& store) {
  for (int round = 0; round < 2; ++round) {
    if (round == 1) (void)repair_store(store, quiet());
    const auto fs = FileSystem::open(store, quiet());
    if (!fs) continue;
    auto owned = std::make_unique<Reorganiser>(**fs);
    Reorganiser& reorganiser = *owned;
    (void)reorganiser.compact_now();
    for (const char* policy : {"reference", "none", "directory"}) {
      (void)regroup(reorganiser, *grouping::make_policy(policy), {});
    }
    StorePaths paths(**fs);
    for (std::uint64_t ino = 0; ino < 1100; ++ino) (void)paths.path_of(InodeId{ino});
    use_tree(**fs, true);
    (void)reorganiser.compact_now();
    (void)find_inconsistencies(**fs);
    owned.reset();  // it writes down what it leaves
    (void)(*fs)->close();
  }
}

enum Verdict { kFound = 0, kNothingFound = 1, kEscaped = 2 };

inline int in_bounds(const std::function<int()>& work, std::size_t most_bytes = std::size_t{4} << 30) {
  const pid_t child = ::fork();
  if (child == 0) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // they reserve more than any bound
    (void)most_bytes;
#else
    const rlimit memory{most_bytes, most_bytes};
    (void)::setrlimit(RLIMIT_AS, &memory);
#endif
    const rlimit seconds{30, 30};
    (void)::setrlimit(RLIMIT_CPU, &seconds);
    const rlimit bytes{std::size_t{1} << 30, std::size_t{1} << 30};
    (void)::setrlimit(RLIMIT_FSIZE, &bytes);
    (void)std::signal(SIGXFSZ, SIG_IGN);  // EFBIG instead
    ::alarm(120);
    int verdict = -1;
    try {
      verdict = work();
    } catch (const std::exception& error) {
      (void)!::write(STDERR_FILENO, error.what(), std::strlen(error.what()));
    }
    ::_exit(verdict);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) WARN("it ended with signal " << WTERMSIG(status));
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Exports go to OUTSIDE/export and OUTSIDE/export.tar; the rest is as it was.
inline bool escaped(const std::string& outside) {
  std::size_t names = 0;
  for (const auto& entry : std::filesystem::directory_iterator(outside)) {
    const std::string name = entry.path().filename();
    if (name != "export" && name != "export.tar") ++names;
  }
  return names > 0;
}

}  // namespace cffs::test
