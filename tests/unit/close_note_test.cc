// What a closed store's table was is noted beside it: one that was cut short since is no store whose end was torn.
#include "core/table/close_note.h"

#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "core/fs/new_file.h"
#include "core/inspect/consistency.h"
#include "core/object/faulty_store.h"
#include "core/object/memory_store.h"
#include "core/reorganise/reorganiser.h"
#include "core/repair/repair.h"
#include "core/table/table_log.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/closed_store.h"
#include "tests/unit/object_bytes.h"
#include "tests/unit/rot.h"

namespace cffs::test {
namespace {

constexpr const char* kNote = "table/closed";

using Contents = std::map<std::string, std::string>;

// Members, all in composites, closed; their rows are in the log, or in files of the table.
Contents make_members(ObjectStore& store, bool rows_in_log) {
  Contents contents;
  StoreFormat format;
  format.inline_max = 64;
  format.composite_file_max = 8192;
  REQUIRE(FileSystem::format(store, repeatable(format), SystemClock()));
  const auto fs = std::move(*FileSystem::open(store, quiet()));
  for (int i = 0; i < 12; ++i) {
    const std::string name = "member" + std::to_string(i);
    contents[name] = name + std::string(500, static_cast<char>('a' + i));
    const auto made = fs->mknod(kRootInode, name, S_IFREG | 0640, 0, kRoot);
    REQUIRE(made);
    REQUIRE(fs->write(made->ino, 0, as_bytes(contents[name]), kRoot));
    fs->forget(made->ino, 1);
  }
  REQUIRE(Reorganiser(*fs).consolidate_now());
  REQUIRE(fs->sync());
  if (!rows_in_log) fs->table().compact();
  REQUIRE(fs->close());
  return contents;
}

std::vector<std::string> findings(ObjectStore& store) {
  FileSystemOptions looking = quiet();  // as cffs fsck does
  looking.read_only = looking.keep_what_is_whole = true;
  const auto fs = FileSystem::open(store, looking);
  INFO((fs ? "" : fs.error().message()));
  REQUIRE(fs);
  return *find_inconsistencies(**fs);
}

Contents readable(ObjectStore& store, const Contents& wanted) {
  Contents found;
  const auto fs = std::move(*FileSystem::open(store, quiet()));
  for (const auto& [name, content] : wanted) {
    const auto file = fs->lookup(kRootInode, name);
    if (!file) continue;
    std::string bytes(file->size, '\0');
    if (fs->read(file->ino, 0, as_writable_bytes(bytes))) found[name] = bytes;
    fs->forget(file->ino, 1);
  }
  return found;
}

void require_refused(ObjectStore& store) {
  for (const bool looks : {true, false}) {
    FileSystemOptions options = quiet();
    options.read_only = looks;
    const auto opened = FileSystem::open(store, options);
    REQUIRE_FALSE(opened);
    REQUIRE(opened.error().kind == ErrorKind::corruption);
    REQUIRE(opened.error().message().find("fsck --repair") != std::string::npos);
  }
}

}  // namespace

TEST_CASE("a closed store whose log was cut short is not clean, is not used, and gets its members back") {
  MemoryStore whole;
  const Contents contents = make_members(whole, true);
  REQUIRE(findings(whole).empty());
  const std::string log = only_object(whole, ".log");
  const std::string bytes = bytes_of(whole, log);
  std::vector<std::size_t> ends{0, 1, bytes.size() / 3, bytes.size() / 2};
  const LogContent content = read_log(bytes);
  for (std::size_t i = 0; i + 3 < content.before.size(); i += 7) ends.push_back(content.before[i].end);
  for (const std::size_t end : ends) {
    INFO(end);
    const auto store = copy_of(whole);
    REQUIRE((*store->open(log))->truncate(end));
    require_refused(*store);
    REQUIRE_FALSE(findings(*store).empty());
    REQUIRE_FALSE(store->exists("lost+found").value());
    const auto mended = repair_store(*store, quiet());
    INFO((mended ? "" : mended.error().message()));
    REQUIRE(mended);
    REQUIRE(*repair_store(*store, quiet()) == std::vector<std::string>{});
    REQUIRE(findings(*store) == std::vector<std::string>{});
    REQUIRE(readable(*store, contents) == contents);
  }
}

// Rows of an import come by hundreds: with the last of them go what they did to the composite's account, and with the first the row that says
// that it is nobody's removal.
TEST_CASE("what was imported comes back wherever the log of the import was cut") {
  MemoryStore whole;
  Contents contents;
  REQUIRE(FileSystem::format(whole, repeatable(), SystemClock()));
  {
    const auto fs = std::move(*FileSystem::open(whole, quiet()));
    std::vector<NewFile> group;
    for (int i = 0; i < 700; ++i) {
      NewFile file;
      file.parent = kRootInode;
      file.name = "member" + std::to_string(i);
      file.inode.mode = S_IFREG | 0640;
      file.content = contents[file.name] = file.name + std::string(900, static_cast<char>('a' + i % 26));
      group.push_back(std::move(file));
    }
    REQUIRE(fs->load({std::move(group)}));
    REQUIRE(fs->close());
  }
  const std::string log = only_object(whole, ".log");
  const LogContent content = read_log(bytes_of(whole, log));
  REQUIRE(content.before.size() > 3);
  for (std::size_t i = 0; i + 1 < content.before.size(); ++i) {
    INFO(i << " of " << content.before.size());
    const auto store = copy_of(whole);
    REQUIRE((*store->open(log))->truncate(content.before[i].end));
    std::vector<std::string> lost;
    REQUIRE(repair_store(*store, quiet(), &lost));
    CHECK(lost == std::vector<std::string>{});
    REQUIRE(*repair_store(*store, quiet()) == std::vector<std::string>{});
    CHECK(findings(*store) == std::vector<std::string>{});
    CHECK(readable(*store, contents) == contents);
  }
}

TEST_CASE("a closed store that lost the newest state of its manifest is not clean, and not used") {
  MemoryStore whole;
  const Contents contents = make_members(whole, false);
  const auto store = copy_of(whole);
  const std::string manifest = only_object(whole, "MANIFEST");
  SECTION("its last record") {
    const LogContent content = read_log(bytes_of(whole, manifest));
    REQUIRE(content.before.size() > 1);
    REQUIRE((*store->open(manifest))->truncate(content.before.back().begin));
  }
  SECTION("an older one is named") {
    MemoryStore earlier;
    REQUIRE(FileSystem::format(earlier, repeatable({}), SystemClock()));
    const std::string older = only_object(earlier, "MANIFEST");
    REQUIRE(older != manifest);
    replace(*store, older, bytes_of(earlier, older));
    replace(*store, "table/CURRENT", older.substr(older.find('/') + 1) + "\n");
  }
  require_refused(*store);
  REQUIRE_FALSE(findings(*store).empty());
  REQUIRE(repair_store(*store, quiet()));
  REQUIRE(findings(*store).empty());
  REQUIRE(readable(*store, contents) == contents);
  REQUIRE(*repair_store(*store, quiet()) == std::vector<std::string>{});
}

TEST_CASE("a log that was cut off is refused also where there is no descriptor for its note") {
  MemoryStore whole;
  (void)make_members(whole, true);
  const std::string log = only_object(whole, ".log");
  const LogContent content = read_log(bytes_of(whole, log));
  REQUIRE((*whole.open(log))->truncate(content.before[content.before.size() / 2].end));
  std::uint64_t n = 1;
  for (bool over = false; !over; ++n) {
    INFO(n);
    FaultyStore medium(copy_of(whole));
    medium.count_reads(true);
    medium.fail_operation(n, EMFILE, FaultyStore::Persistence::once);
    const bool opened = FileSystem::open(medium, quiet()).has_value();
    REQUIRE_FALSE(opened);
    over = medium.operations() < n;
  }
  REQUIRE(n > 5);
}

TEST_CASE("what a note of a closed table says stays true whatever is done with the store") {
  MemoryStore store;
  const Contents contents = make_members(store, true);
  REQUIRE(*read_close_note(store, "table"));
  for (int round = 0; round < 4; ++round) {
    const auto fs = std::move(*FileSystem::open(store, quiet()));
    const auto made = fs->mknod(kRootInode, "more" + std::to_string(round), S_IFREG | 0600, 0, kRoot);
    REQUIRE(made);
    if (round == 1) fs->table().compact();
    REQUIRE(fs->sync());
    const auto killed = copy_of(store);
    REQUIRE(readable(*killed, contents) == contents);
    REQUIRE(findings(*killed).empty());
    REQUIRE(fs->close());
    REQUIRE(findings(store).empty());
  }
}

TEST_CASE("a closed store without such a note, or with a torn one, opens as before") {
  MemoryStore whole;
  const Contents contents = make_members(whole, true);
  const std::string note = bytes_of(whole, kNote);
  for (std::size_t end = 0; end < note.size(); ++end) {
    const auto store = copy_of(whole);
    REQUIRE((*store->open(kNote))->truncate(end));
    REQUIRE(readable(*store, contents) == contents);
  }
  REQUIRE(whole.remove(kNote));
  REQUIRE(findings(whole).empty());
  REQUIRE_FALSE(whole.exists(kNote).value());  // nothing was changed
  REQUIRE(readable(whole, contents) == contents);
}

TEST_CASE("a power cut behind a close leaves a store that is whole, and no tail that is taken for damage") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO(seed);
    FaultyStore medium;
    const Contents contents = make_members(medium, true);
    {
      const auto fs = std::move(*FileSystem::open(medium, quiet()));
      REQUIRE(fs->mknod(kRootInode, "later", S_IFREG | 0600, 0, kRoot));
      if (seed % 2 == 0) REQUIRE(fs->close());
    }
    const auto store = medium.power_cut(seed);
    REQUIRE(readable(*store, contents) == contents);
    REQUIRE(findings(*store).empty());
  }
}

TEST_CASE("a note of a closed table is read as it was written") {
  CloseNote note;
  note.manifest = 7;
  note.manifest_bytes = 300;
  note.logs = {{5, 12}, {9, 1u << 20}};
  const std::string bytes = encode_close_note(note);
  const auto read = decode_close_note(bytes);
  REQUIRE(read);
  REQUIRE(read->manifest == 7);
  REQUIRE(read->manifest_bytes == 300);
  REQUIRE(read->logs == note.logs);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    REQUIRE_FALSE(decode_close_note(damaged));
  }
}

TEST_CASE("the end of a log that a power cut tore is no damage, for a check as for a repair", "[repair]") {
  ClosedStore closed;
  std::unique_ptr<MemoryStore> left;
  {
    const auto fs = std::move(*FileSystem::open(closed.store, quiet()));
    closed.make(*fs, "before", 100);
    REQUIRE(fs->sync());
    const auto later = fs->mknod(kRootInode, "after", S_IFREG | 0644, 0, kRoot);
    REQUIRE(later);
    left = copy_of(closed.store);  // as who was killed now leaves it
  }
  const std::string log = only_object(*left, ".log");
  flip_bit(*left, log, (*left->open(log))->info()->size - 3);
  FileSystemOptions looking = quiet();
  looking.read_only = looking.keep_what_is_whole = true;
  {
    const auto fs = FileSystem::open(*left, looking);
    REQUIRE(fs);
    REQUIRE(!(*fs)->table().dropped().empty());
    REQUIRE(*find_inconsistencies(**fs) == Sentences{});
  }
  REQUIRE(*repair_store(*left, quiet()) == Sentences{});
  const auto fs = std::move(*FileSystem::open(*left, quiet()));
  REQUIRE(*find_inconsistencies(*fs) == Sentences{});
  closed.require_all(*fs);
}

}  // namespace cffs::test
