// A sector that stays unreadable is damage as rot is: it is told, costs what is in it, and a repair ends.
#include "tests/bad_sectors.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>

#include "core/inspect/consistency.h"
#include "core/object/memory_store.h"
#include "core/reorganise/plan_object.h"
#include "core/repair/repair.h"
#include "core/table/checkpoint.h"
#include "core/table/table_log.h"
#include "core/table/value_log.h"
#include "tests/model/memory_place.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/backed_up_store.h"
#include "tests/unit/object_bytes.h"
#include "tests/unit/rot.h"
#include "tests/unit/scrubbed.h"

namespace cffs::test {
namespace {

std::string random_bytes(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

// Files in the root, each of as many bytes that do not compress.
struct Filled {
  MemoryStore store;
  std::unique_ptr<FileSystem> fs;
  std::map<std::string, std::string> all;

  Filled(int files, std::size_t bytes, const FileSystemOptions& options, bool synced) {
    REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
    fs = std::move(*FileSystem::open(store, options));
    make("file", files, bytes, synced);
  }
  void make(const std::string& prefix, int files, std::size_t bytes, bool synced) {
    for (int i = 0; i < files; ++i) {
      const std::string name = prefix + std::to_string(i);
      all[name] = random_bytes(bytes, static_cast<unsigned>(all.size()));
      const auto made = fs->mknod(kRootInode, name, S_IFREG | 0600, 0, kRoot);
      REQUIRE(made);
      REQUIRE(fs->write(made->ino, 0, as_bytes(all[name]), kRoot));
      if (synced) REQUIRE(fs->fsync(made->ino));
      fs->forget(made->ino, 1);
    }
  }
  // Of those that are in a store, as it opens now.
  std::set<std::string> readable_on(ObjectStore& medium) const {
    const auto opened = FileSystem::open(medium, quiet());
    REQUIRE(opened);
    return readable_in(**opened);
  }
  // As its next user finds it.
  std::unique_ptr<MemoryStore> left(bool closed) {
    if (closed) {
      REQUIRE(fs->close());
      fs.reset();
    }
    return copy_of(store);
  }
  // Names whose content is what was written. What is there and differs is an error.
  std::set<std::string> readable_in(FileSystem& of) const {
    std::set<std::string> names;
    for (const auto& [name, content] : all) {
      const auto file = of.lookup(kRootInode, name);
      if (!file) continue;
      std::string bytes(content.size(), '\0');
      const auto n = of.read(file->ino, 0, as_writable_bytes(bytes));
      if (n && *n == content.size()) {
        INFO(name);
        REQUIRE((bytes == content));
        names.insert(name);
      }
      of.forget(file->ino, 1);
    }
    return names;
  }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& [name, content] : all) names.insert(name);
    return names;
  }
};

bool says(const std::vector<std::string>& sentences, const std::string& words) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [&](const std::string& s) { return s.find(words) != std::string::npos; });
}

// As cffs fsck looks.
std::vector<std::string> findings(ObjectStore& store) {
  FileSystemOptions looking = quiet();
  looking.read_only = looking.keep_what_is_whole = true;
  const auto fs = FileSystem::open(store, looking);
  INFO((fs ? std::string() : fs.error().message()));
  REQUIRE(fs);
  const auto found = find_inconsistencies(**fs);
  INFO((found ? std::string() : found.error().message()));
  REQUIRE(found);
  return *found;
}

// Twice: the second time there is nothing left to do.
std::vector<std::string> repaired(ObjectStore& store) {
  const auto mended = repair_store(store, quiet());
  INFO((mended ? std::string() : mended.error().message()));
  REQUIRE(mended);
  const auto again = repair_store(store, quiet());
  INFO((again ? std::string() : again.error().message()));
  REQUIRE(again);
  REQUIRE(*again == std::vector<std::string>{});
  return *mended;
}

std::string largest_file_of_table(ObjectStore& store, std::uint64_t& size) {
  std::string largest;
  size = 0;
  const auto names = *store.list("table");
  for (const std::string& name : names) {
    const std::uint64_t bytes = (*store.open(name))->info()->size;
    if (!name.ends_with(".ldb") || bytes <= size) continue;
    largest = name;
    size = bytes;
  }
  REQUIRE(size > 0);
  return largest;
}

}  // namespace

TEST_CASE("a sector of the log that stays unreadable is named with its cure, and mended around") {
  const bool closed = GENERATE(false, true);
  Filled filled(120, 700, all_in_rows(), true);
  const auto image = filled.left(closed);
  const std::string log = only_object(*image, ".log");
  const std::size_t end = read_log(bytes_of(*image, log)).size;
  const std::uint64_t at = GENERATE(as<std::uint64_t>{}, 0, 1, 2, 3);
  // The first and the last are in a record alone, those between may be in several.
  BadSectors medium(*image, log, at == 0 ? 10 : at == 3 ? end - 60 : end * at / 3);
  INFO(at << (closed ? ", closed" : ", killed"));
  for (int round = 0; round < 2; ++round) {
    const auto opened = FileSystem::open(medium, quiet());
    REQUIRE_FALSE(opened);
    CHECK(opened.error().kind == ErrorKind::corruption);
    const std::string said = opened.error().message();
    INFO(said);
    CHECK(said.find(log + " is damaged at byte ") != std::string::npos);
    CHECK(said.find("cannot be read") != std::string::npos);
    CHECK(said.find("cffs fsck --repair") != std::string::npos);
  }
  if (at > 0) CHECK(says(findings(medium), log + " is damaged at byte "));
  repaired(medium);
  const auto fs = FileSystem::open(medium, quiet());
  REQUIRE(fs);
  const auto found = filled.readable_in(**fs);
  CHECK(found.size() + 14 >= filled.all.size());  // 4 KiB are at most 6 files, each of several records
  if (at > 0) CHECK(found.contains("file0"));
  if (at < 3) CHECK(found.contains("file119"));
}

TEST_CASE("a sector of the manifest or of CURRENT that stays unreadable costs no row") {
  const bool closed = GENERATE(false, true);
  Filled filled(60, 700, all_in_rows(), true);
  filled.fs->table().compact();
  filled.make("later", 20, 700, true);
  const auto image = filled.left(closed);
  std::string name = "table/CURRENT";
  std::uint64_t at = 3;
  SECTION("CURRENT") {}
  SECTION("the manifest") {
    name = only_object(*image, "MANIFEST-");
    at = bytes_of(*image, name).size() / 2;
  }
  SECTION("the manifest's end") {
    name = only_object(*image, "MANIFEST-");
    at = bytes_of(*image, name).size() - 1;
  }
  INFO(name << (closed ? ", closed" : ", killed"));
  BadSectors medium(*image, name, at);
  const auto opened = FileSystem::open(medium, quiet());
  REQUIRE_FALSE(opened);
  CHECK(opened.error().kind == ErrorKind::corruption);
  INFO(opened.error().message());
  CHECK(opened.error().message().find(name + " is damaged at byte ") != std::string::npos);
  CHECK(opened.error().message().find("cffs fsck --repair") != std::string::npos);
  CHECK(says(findings(medium), name + " is damaged at byte "));
  repaired(medium);
  CHECK(filled.readable_on(medium) == filled.names());
}

TEST_CASE("a log or a manifest or CURRENT that cannot even be opened is damage like another") {
  const bool closed = GENERATE(false, true);
  Filled filled(60, 700, all_in_rows(), true);
  filled.fs->table().compact();
  filled.make("later", 20, 700, true);
  const auto image = filled.left(closed);
  const std::string name = GENERATE("CURRENT", "MANIFEST-", ".log");
  const std::string object = only_object(*image, name);
  INFO(object << (closed ? ", closed" : ", killed"));
  BadSectors medium(*image);
  medium.refuse_opening(object);
  const auto opened = FileSystem::open(medium, quiet());
  REQUIRE_FALSE(opened);
  CHECK(opened.error().message().find(object + " is damaged at byte 0") != std::string::npos);
  CHECK(opened.error().message().find("cffs fsck --repair") != std::string::npos);
  CHECK(says(findings(medium), object + " is damaged at byte 0"));
  repaired(medium);
  const auto fs = FileSystem::open(medium, quiet());
  REQUIRE(fs);
  const auto found = filled.readable_in(**fs);
  CHECK(found.contains("file0"));
  if (name != ".log") CHECK(found == filled.names());
}

// What is in the place of a blob's object says nothing about rows.
TEST_CASE("a repair that meets a stranger in a blob's place does not make the table anew") {
  Filled filled(3, 2u << 20, all_in_rows(), true);
  const auto image = filled.left(false);
  const std::string blob = image->list("blobs")->front();
  BadSectors medium(*image);
  medium.refuse_opening(blob, Error::corruption({}));
  (void)repair_store(medium, quiet());
  CHECK(image->list("table/lost")->empty());
  repaired(*image);
  CHECK(filled.readable_on(*image) == filled.names());
}

// It has been closed: nobody counts what rows name of the value log.
TEST_CASE("a stranger among the objects of the value log keeps a closed store from nothing") {
  Filled filled(40, 600, quiet(), true);
  const auto image = filled.left(true);
  const std::string stranger = std::string(kValueFolder) + "/99";
  replace(*image, stranger, "");
  BadSectors medium(*image);
  medium.refuse_opening(stranger, GENERATE(false, true) ? Error::corruption({}) : Error::os(EIO));
  CHECK(filled.readable_on(medium) == filled.names());
  const auto fs = FileSystem::open(medium, quiet());
  REQUIRE(fs);
  REQUIRE((*fs)->mknod(kRootInode, "made", S_IFREG | 0600, 0, kRoot));
  REQUIRE((*fs)->close());
  CHECK(*medium.exists(stranger));  // it is nobody's to remove
  repaired(medium);
  CHECK(image->list("table/lost")->empty());
  CHECK(*medium.exists(stranger));
  CHECK(filled.readable_on(medium) == filled.names());
}

TEST_CASE("a superblock or its copy on a sector that stays unreadable is put back from the other") {
  const std::string name = GENERATE("superblock", "superblock.copy");
  const int reason = GENERATE(EIO, EUCLEAN, EBADMSG, ENODATA);
  const bool opens = GENERATE(false, true);
  Filled filled(5, 700, all_in_rows(), true);
  const auto image = filled.left(true);
  INFO(name << ", errno " << reason << (opens ? "" : ", nor be opened"));
  BadSectors medium(*image);
  if (opens) {
    medium.refuse(name, 20, reason);
  } else {
    medium.refuse_opening(name, Error::os(reason));
  }
  const auto opened = FileSystem::open(medium, quiet());
  if (name == "superblock") {
    REQUIRE_FALSE(opened);
    CHECK(opened.error().kind == ErrorKind::corruption);
    CHECK(opened.error().message().find("fsck --repair puts it back") != std::string::npos);
  } else {
    REQUIRE(opened);
    CHECK_FALSE(check_format_copy(medium));
    REQUIRE((*opened)->close());
  }
  CHECK(says(repaired(medium), "put back from the other"));
  CHECK(check_format_copy(medium));
  CHECK(filled.readable_on(medium) == filled.names());
}

TEST_CASE("a superblock of which a process has no descriptor is not lost") {
  const int reason = GENERATE(EMFILE, ENOMEM, ETIMEDOUT);
  Filled filled(5, 700, all_in_rows(), true);
  const auto image = filled.left(true);
  BadSectors medium(*image);
  medium.refuse("superblock", 20, reason);
  const auto mended = repair_store(medium, quiet());
  REQUIRE_FALSE(mended);
  CHECK(mended.error().errno_value == reason);
}

TEST_CASE("hints on a sector that stays unreadable are as none") {
  const int reason = GENERATE(EIO, EUCLEAN, EBADMSG, ENODATA);
  Filled filled(5, 700, all_in_rows(), true);
  const auto image = filled.left(true);
  BadSectors medium(*image);
  INFO("errno " << reason);
  SECTION("what followers read") {
    const bool is_stranger = GENERATE(false, true);
    Checkpoint checkpoint;
    checkpoint.sequence = 3;
    checkpoint.table = *table_state_at_rest(*image);
    REQUIRE(write_checkpoint(*image, checkpoint));
    if (is_stranger) medium.refuse_opening(kCheckpointObject, Error::corruption({}));
    if (!is_stranger) medium.refuse(kCheckpointObject, 10, reason);
    CHECK(filled.readable_on(medium) == filled.names());
    repaired(medium);
  }
  SECTION("the plan") {
    grouping::PlanGroups plan;
    plan.add_group({{"file0", 0}, {"file1", 0}});
    REQUIRE(write_plan_object(*image, plan));
    if (GENERATE(false, true)) {
      medium.refuse("plan", 10, reason);
    } else {
      medium.refuse_opening("plan", Error::os(reason));
    }
    const auto read = read_plan_object(medium);
    REQUIRE_FALSE(read);
    CHECK(read.error().kind == ErrorKind::corruption);  // who mounts goes on without it
    CHECK(says(findings(medium), "object plan cannot be read"));
    medium.mend("plan");
    medium.refuse("plan", 10, EMFILE);
    CHECK(read_plan_object(medium).error().is_shortage());
  }
}

TEST_CASE("what was not synced is not taken for torn where the medium does not give it") {
  Filled filled(20, 700, all_in_rows(), true);
  filled.make("late", 10, 700, false);
  const auto image = filled.left(false);
  const std::string log = only_object(*image, ".log");
  BadSectors medium(*image, log, read_log(bytes_of(*image, log)).size - 1);
  const auto opened = FileSystem::open(medium, quiet());
  REQUIRE_FALSE(opened);
  CHECK(opened.error().message().find("cffs fsck --repair") != std::string::npos);
  CHECK(says(repaired(medium), log + " is damaged at byte "));
  CHECK(filled.readable_on(medium).contains("file19"));
}

// A pool that does not answer, or a process short of something, tells nothing about what the store has.
TEST_CASE("what a table is not given for another reason is no damage, and ends a repair") {
  const int reason = GENERATE(EMFILE, ENFILE, ENOMEM, ETIMEDOUT, ESHUTDOWN);
  Filled filled(200, 300, all_in_rows(), false);
  filled.fs->table().compact();
  filled.make("later", 20, 300, true);
  const auto image = filled.left(false);
  std::uint64_t size = 0;
  std::string name = largest_file_of_table(*image, size);
  std::uint64_t at = size / 3;
  SECTION("a table file") {}
  SECTION("the log") {
    name = only_object(*image, ".log");
    at = 100;
  }
  SECTION("CURRENT") {
    name = "table/CURRENT";
    at = 1;
  }
  INFO(name << ", errno " << reason);
  {
    BadSectors medium(*image);
    medium.refuse(name, at, reason);
    auto opened = FileSystem::open(medium, quiet());
    if (!opened) CHECK(opened.error().kind == ErrorKind::os);
    if (!name.ends_with(".ldb")) CHECK_FALSE(opened);
    if (opened) opened->reset();
    const auto mended = repair_store(medium, quiet());
    REQUIRE_FALSE(mended);
    INFO(mended.error().message());
    CHECK(mended.error().is_shortage());
  }
  CHECK(image->list("table/lost")->empty());
  repaired(*image);
  CHECK(filled.readable_on(*image) == filled.names());
}

TEST_CASE("a sector of a table file that stays unreadable costs what a flipped bit there does") {
  const bool closed = GENERATE(false, true);
  const bool values_apart = GENERATE(false, true);
  const double part = GENERATE(0.02, 0.2, 0.4, 0.6, 0.8, 0.95);
  Filled filled(300, 300, values_apart ? quiet() : all_in_rows(), false);
  filled.fs->table().compact();
  const auto image = filled.left(closed);
  INFO(part << (closed ? ", closed" : ", killed") << (values_apart ? ", values apart" : ""));
  const auto flipped = copy_of(*image);
  flip_in_table(*flipped, part);
  std::uint64_t size = 0;
  const std::string name = largest_file_of_table(*image, size);
  BadSectors medium(*image, name, static_cast<std::uint64_t>(static_cast<double>(size) * part));
  const bool told = says(repaired(*flipped), name);
  CHECK((told || part > 0.9));  // of a filter nobody is told: it is not needed
  CHECK(says(repaired(medium), name) == told);
  CHECK(medium.refused() > 0);
  const auto fs = std::move(*FileSystem::open(medium, quiet()));
  const auto found = filled.readable_in(*fs);
  CHECK(found.size() > filled.all.size() / 4);
  CHECK(found == filled.readable_in(**FileSystem::open(*flipped, quiet())));
  std::vector<std::string> listed;
  REQUIRE(fs->readdir(kRootInode, 0, false, [&](const DirectoryEntry& e) {
    listed.emplace_back(e.name);
    return true;
  }));
  for (const std::string& each : listed) {
    if (each.starts_with("file")) CHECK(fs->lookup(kRootInode, each));
  }
}

TEST_CASE("a file of the table that cannot be opened costs its rows and no others") {
  const bool closed = GENERATE(false, true);
  const bool stranger = GENERATE(false, true);
  Filled filled(100, 300, all_in_rows(), false);
  filled.fs->table().compact();
  filled.make("later", 50, 300, true);
  const auto image = filled.left(closed);
  std::uint64_t size = 0;
  const std::string name = largest_file_of_table(*image, size);
  INFO((closed ? "closed" : "killed") << (stranger ? ", a stranger" : ""));
  BadSectors medium(*image);
  medium.refuse_opening(name, stranger ? Error::corruption({}) : Error::os(EIO));
  CHECK(says(repaired(medium), name));
  const auto fs = std::move(*FileSystem::open(medium, quiet()));
  const auto found = filled.readable_in(*fs);
  for (int i = 0; i < 50; ++i) CHECK(found.contains("later" + std::to_string(i)));
}

TEST_CASE("checks, scrubs and backups go on past a sector of the table that stays unreadable") {
  Filled filled(300, 300, all_in_rows(), false);
  filled.fs->table().compact();
  const auto image = filled.left(true);
  std::uint64_t size = 0;
  const std::string name = largest_file_of_table(*image, size);
  // The root's row is in the first block, and what the store has of itself in the last.
  const double part = GENERATE(0.3, 0.5, 0.7);
  INFO(part);
  BadSectors medium(*image, name, static_cast<std::uint64_t>(static_cast<double>(size) * part));
  const auto found = findings(medium);
  CHECK(says(found, name));
  const auto fs = std::move(*FileSystem::open(medium, quiet()));
  const auto readable = filled.readable_in(*fs);
  CHECK(readable.size() < filled.all.size());
  CHECK(readable.size() > filled.all.size() / 2);
  CHECK(says(scrubbed(*fs), name));
  MemoryPlace place;
  place.begin();
  const auto done = Backup(*fs, place, {}).run();
  INFO((done ? std::string() : done.error().message()));
  REQUIRE(done);
  CHECK(done->damaged > 0);
  // What can be read is in the copy, and nothing else is made up.
  const auto copy = repair_store(place.store(), quiet());
  REQUIRE(copy);
  const auto copied = filled.readable_in(**FileSystem::open(place.store(), quiet()));
  CHECK(copied == readable);
}

TEST_CASE("a backup that is short of descriptors ends, also where rows are damaged beside it") {
  Filled filled(300, 600, quiet(), false);
  filled.fs->table().compact();
  const auto image = filled.left(true);
  std::uint64_t size = 0;
  const std::string name = largest_file_of_table(*image, size);
  BadSectors medium(*image, name, size * 3 / 10);  // names
  const auto objects = *image->list(kValueFolder);
  REQUIRE(objects.size() > 2);
  medium.refuse(objects[1], 700, EMFILE);
  const auto fs = FileSystem::open(medium, quiet());
  INFO((fs ? std::string() : fs.error().message()));
  REQUIRE(fs);
  MemoryPlace place;
  place.begin();
  const auto done = Backup(**fs, place, {}).run();
  REQUIRE_FALSE(done);
  CHECK(done.error().errno_value == EMFILE);
}

TEST_CASE("an object of the value log that cannot be opened costs the files that have values in it") {
  const bool closed = GENERATE(false, true);
  Filled filled(40, 600, quiet(), false);
  const auto image = filled.left(closed);
  INFO((closed ? "closed" : "killed"));
  const auto objects = *image->list(kValueFolder);
  REQUIRE(objects.size() > 2);
  BadSectors medium(*image);
  const bool stranger = GENERATE(false, true);
  medium.refuse_opening(objects[1], stranger ? Error::corruption({}) : Error::os(EIO));
  const auto found = findings(medium);
  CHECK_FALSE(found.empty());
  repaired(medium);
  const auto fs = std::move(*FileSystem::open(medium, quiet()));
  const auto readable = filled.readable_in(*fs);
  CHECK(readable.size() < filled.all.size());
  CHECK(readable.size() > filled.all.size() / 2);
  REQUIRE(fs->close());
  CHECK(*medium.exists(objects[1]));  // what rows name does not go
}

TEST_CASE("a sector of a value that stays unreadable costs that file alone") {
  const bool closed = GENERATE(false, true);
  Filled filled(40, 600, quiet(), false);
  const auto image = filled.left(closed);
  INFO((closed ? "closed" : "killed"));
  const std::string name = image->list(kValueFolder)->front();
  BadSectors medium(*image, name, 700);
  if (!closed) {  // nobody noted that it was durable; it may have been acknowledged all the same
    const auto opened = FileSystem::open(medium, quiet());
    REQUIRE_FALSE(opened);
    CHECK(opened.error().kind == ErrorKind::corruption);
    INFO(opened.error().message());
    CHECK(opened.error().message().find(name + ": ") != std::string::npos);
    CHECK(opened.error().message().find("cffs fsck --repair") != std::string::npos);
  }
  const auto found = findings(medium);
  REQUIRE(found.size() == 1);
  CHECK(found.front().find("0 of its 600 bytes are in the table") != std::string::npos);
  (void)repaired(medium);
  const auto fs = std::move(*FileSystem::open(medium, quiet()));
  const auto readable = filled.readable_in(*fs);
  CHECK(readable.size() + 1 == filled.all.size());
  MemoryPlace place;
  place.begin();
  const auto done = Backup(*fs, place, {}).run();
  INFO((done ? std::string() : done.error().message()));
  REQUIRE(done);
  CHECK(done->damaged > 0);
  CHECK(filled.readable_in(**FileSystem::open(place.store(), quiet())) == readable);
  CHECK_FALSE(scrubbed(*fs).empty());
}

}  // namespace cffs::test
