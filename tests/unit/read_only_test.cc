// A store that is opened to be looked at: everything is there, also what only the log has, and no object changes.
#include <catch2/catch.hpp>
#include <map>
#include <thread>

#include "core/composite/composite_store.h"
#include "core/fs/file_system.h"
#include "core/inspect/consistency.h"
#include "core/inspect/statistics.h"
#include "core/object/memory_store.h"
#include "core/reorganise/reorganiser.h"
#include "core/table/system_rows.h"
#include "core/table/table.h"
#include "tests/test_options.h"
#include "tests/unit/object_bytes.h"

namespace cffs::test {
namespace {

using Contents = std::map<std::string, std::string>;

Contents contents_of(ObjectStore& store) {
  Contents all;
  const auto names = *store.list("");
  for (const std::string& name : names) all[name] = bytes_of(store, name);
  return all;
}
FileSystemOptions how_to_open(bool read_only) {
  FileSystemOptions options;
  options.background = false;
  options.read_only = read_only;
  options.boot_id = "this boot";
  return options;
}

std::string read_whole(FileSystem& fs, InodeId parent, const char* name) {
  const auto file = fs.lookup(parent, name);
  REQUIRE(file);
  std::string bytes(file->size, '\0');
  REQUIRE(*fs.read(file->ino, 0, as_writable_bytes(bytes)) == bytes.size());
  fs.forget(file->ino, 1);
  return bytes;
}

InodeId write_file(FileSystem& fs, InodeId parent, const char* name, const std::string& content) {
  const auto made = fs.mknod(parent, name, S_IFREG | 0644, 0, Caller::privileged());
  REQUIRE(made);
  REQUIRE(fs.write(made->ino, 0, as_bytes(content), Caller::privileged()));
  return made->ino;
}

// A store with files in every home, one removed blob, and changes that only the log has.
std::unique_ptr<MemoryStore> killed_store() {
  auto store = std::make_unique<MemoryStore>();
  StoreFormat format;
  format.inline_max = 512;
  format.composite_file_max = 16384;
  REQUIRE(FileSystem::format(*store, repeatable(format), SystemClock()));
  const auto fs = *FileSystem::open(*store, how_to_open(false));
  for (int i = 0; i < 300; ++i) {
    write_file(*fs, kRootInode, ("member" + std::to_string(i)).c_str(), "content " + std::to_string(i));
  }
  REQUIRE(Reorganiser(*fs).consolidate_now());
  write_file(*fs, kRootInode, "blob", std::string(100'000, 'b'));
  write_file(*fs, kRootInode, "removed", std::string(100'000, 'r'));
  REQUIRE(fs->sync());
  REQUIRE(fs->unlink(kRootInode, "removed"));
  REQUIRE(fs->unlink(kRootInode, "member7"));
  write_file(*fs, kRootInode, "staged", "waits");
  REQUIRE(fs->setxattr(kRootInode, "user.note", "hello", XattrMode::any, Caller::privileged()));
  return copy_of(*store);
}

void look_at_everything(FileSystem& fs) {
  REQUIRE(read_whole(fs, kRootInode, "member8") == "content 8");
  REQUIRE(read_whole(fs, kRootInode, "staged") == "waits");
  REQUIRE(read_whole(fs, kRootInode, "blob") == std::string(100'000, 'b'));
  REQUIRE(fs.lookup(kRootInode, "member7").error().errno_value == ENOENT);
  REQUIRE(*fs.getxattr(kRootInode, "user.note") == "hello");
  int entries = 0;
  REQUIRE(fs.readdir(kRootInode, 0, false, [&](const DirectoryEntry&) { return ++entries, true; }));
  REQUIRE(entries == 2 + 299 + 2);
  REQUIRE(*find_inconsistencies(fs) == std::vector<std::string>{});
  REQUIRE(collect_statistics(fs)->files == 301);
}

}  // namespace

TEST_CASE("looking at a store changes no object of it") {
  const auto store = killed_store();
  const Contents before = contents_of(*store);
  const std::string boot = GENERATE(as<std::string>{}, "this boot", "after a power cut");
  {
    FileSystemOptions options = how_to_open(true);
    options.boot_id = boot;
    const auto first = FileSystem::open(*store, options);
    REQUIRE(first);
    const auto second = FileSystem::open(*store, options);  // two looks at a time
    REQUIRE(second);
    look_at_everything(**first);
    look_at_everything(**second);
    REQUIRE(contents_of(*store) == before);
    const auto writer = FileSystem::open(*store, how_to_open(false));
    REQUIRE(writer.error().errno_value == EBUSY);
    REQUIRE(writer.error().message().find(std::string("in use by ").append(kSomebodyReads)) !=
            std::string::npos);
    REQUIRE((*first)->close());
  }
  REQUIRE(contents_of(*store) == before);
  const auto writer = *FileSystem::open(*store, how_to_open(false));
  REQUIRE(contents_of(*store) != before);
  REQUIRE(FileSystem::open(*store, how_to_open(true)).error().errno_value == EBUSY);
}

TEST_CASE("a store that was closed keeps its count of files when it is looked at") {
  const auto store = killed_store();
  REQUIRE_FALSE((*FileSystem::open(*store, how_to_open(true)))->file_count());
  {
    FileSystemOptions counts = how_to_open(false);
    counts.background = true;
    const auto fs = *FileSystem::open(*store, counts);
    while (!fs->file_count()) std::this_thread::yield();
    REQUIRE(fs->close());
  }
  const Contents before = contents_of(*store);
  const auto fs = *FileSystem::open(*store, how_to_open(true));
  REQUIRE(fs->file_count() == 302);  // with the root
  // What is shown is what the medium has, not what a user would leave there.
  REQUIRE(*fs->table().get(system_key(SystemField::file_count)));
  REQUIRE_FALSE(*fs->table().get(system_key(SystemField::open_boot)));
  REQUIRE(fs->close());
  REQUIRE(contents_of(*store) == before);
}

TEST_CASE("every change of a store that is looked at is refused") {
  const auto store = killed_store();
  const Contents before = contents_of(*store);
  const auto fs = *FileSystem::open(*store, how_to_open(true));
  const auto refused = [](const auto& result) { return !result && result.error().errno_value == EROFS; };
  const InodeId member = fs->lookup(kRootInode, "member8")->ino;
  const InodeId blob = fs->lookup(kRootInode, "blob")->ino;
  const InodeId staged = fs->lookup(kRootInode, "staged")->ino;
  REQUIRE(refused(fs->mknod(kRootInode, "new", S_IFREG | 0644, 0, Caller::privileged())));
  REQUIRE(refused(fs->mkdir(kRootInode, "new", 0755, Caller::privileged())));
  REQUIRE(refused(fs->symlink(kRootInode, "new", "target", Caller::privileged())));
  REQUIRE(refused(fs->link(member, kRootInode, "new")));
  REQUIRE(refused(fs->unlink(kRootInode, "member8")));
  REQUIRE(refused(
      fs->rename(kRootInode, "member8", kRootInode, "new", RenameMode::replace, Caller::privileged())));
  for (const InodeId file : {member, blob, staged}) {
    REQUIRE(refused(fs->write(file, 0, as_bytes("x"), Caller::privileged())));
    AttributeChange cut;
    cut.size = 1;
    REQUIRE(refused(fs->setattr(file, cut, Caller::privileged())));
    REQUIRE(refused(fs->setxattr(file, "user.x", "y", XattrMode::any, Caller::privileged())));
    fs->accessed(file);
    REQUIRE(fs->fsync(file));
  }
  REQUIRE(fs->sync());
  look_at_everything(*fs);
  fs->table().compact();
  REQUIRE(fs->close());
  REQUIRE(contents_of(*store) == before);
}

// LevelDB compacts by itself once enough tables lie in level 0: that would bring the table into memory.
TEST_CASE("looking takes no more memory than the log") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  for (int run = 0; run < 6; ++run) {  // each leaves a table in level 0
    const auto fs = *FileSystem::open(store, how_to_open(false));
    for (int i = 0; i < 50; ++i) {
      write_file(*fs, kRootInode, (std::to_string(run) + "." + std::to_string(i)).c_str(),
                 std::string(1000, 'x'));
    }
    REQUIRE(fs->close());
  }
  std::uint64_t log = 0, table = 0;
  for (const auto& [name, bytes] : contents_of(store)) {
    if (name.ends_with(".log")) log += bytes.size();
    if (name.ends_with(".ldb")) table += bytes.size();
  }
  FileSystemOptions options = how_to_open(true);
  const auto fs = *FileSystem::open(store, options);
  std::uint64_t made = 0;
  const auto seen = *fs->objects().list("table");
  for (const std::string& name : seen) {
    if (!*store.exists(name)) made += (*fs->objects().open(name))->info()->size;
  }
  INFO("log " << log << ", tables " << table << ", made " << made);
  REQUIRE(table > 0);
  REQUIRE(made <= log + 4096);  // the new manifest
}

}  // namespace cffs::test
