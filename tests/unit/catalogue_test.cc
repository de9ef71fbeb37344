// The catalogue: what is written is read, damage costs the chunk that it hit, and when one is written.
#include "core/table/catalogue.h"

#include <catch2/catch.hpp>
#include <map>

#include "core/inspect/consistency.h"
#include "core/inspect/scrub.h"
#include "core/object/faulty_store.h"
#include "core/reorganise/cataloguing.h"
#include "core/repair/repair.h"
#include "core/table/table.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/manual_clock.h"
#include "tests/unit/object_bytes.h"
#include "tests/unit/rot.h"

namespace cffs::test {
namespace {

constexpr CatalogueMoment kMoment{1'700'000'000'000'000'000, 900'000, 1234};
constexpr std::uint64_t kChunk = 4096;  // where chunks begin

Inode inode_of(std::uint64_t number) {
  Inode inode;
  inode.ino = InodeId{number};
  inode.mode = S_IFREG | 0644;
  inode.size = number;
  return inode;
}

using Names = std::map<std::string, std::uint64_t>;  // and inode numbers

Names write(ObjectStore& store, std::uint64_t rows) {
  const auto object = *store.create(kCatalogueObject, ObjectStore::Create::truncate);
  CatalogueWriter writer(*object, kMoment);
  Names names;
  for (std::uint64_t i = 0; i < rows; ++i) {
    const std::string name = "file number " + std::to_string(i);
    names[name] = 1000 + i;
    REQUIRE(writer.add_row(InodeId{2 + i % 7}, encode_single_row(name, inode_of(1000 + i))));
  }
  REQUIRE(writer.add_data(InodeId{1000}, 0, "data"));
  REQUIRE(writer.add_data(InodeId{1000}, 1, std::string(4096, 'd')));
  REQUIRE(writer.finish());
  CHECK(writer.bytes() == (*object).info()->size);
  return names;
}

struct Read {
  Names names;
  std::string data;
  CatalogueReading reading;
};

Read read(ObjectStore& store) {
  Read found;
  CatalogueVisitor visitor;
  visitor.row = [&](InodeId upper, const Row& row) {
    for (const Entry& entry : row.entries) {
      CHECK(upper.value == 2 + (entry.ino.value - 1000) % 7);
      found.names[entry.name] = entry.ino.value;
    }
  };
  visitor.data = [&](InodeId file, std::uint64_t chunk, std::string_view bytes) {
    found.data += std::to_string(file.value) + ' ' + std::to_string(chunk) + ' ';
    found.data += bytes.substr(0, 4);
    found.data += ';';
  };
  auto done = read_catalogue(store, visitor);
  REQUIRE(done);
  REQUIRE(*done);
  found.reading = std::move(**done);
  return found;
}

}  // namespace

TEST_CASE("what is put into a catalogue comes out of it") {
  for (const std::uint64_t rows : {0, 1, 5000}) {
    MemoryStore store;
    const Names names = write(store, rows);
    const Read found = read(store);
    CHECK(found.names == names);
    CHECK(found.data == "1000 0 data;1000 1 dddd;");
    CHECK(found.reading.moment == kMoment);
    CHECK(found.reading.whole);
    CHECK(found.reading.damage.empty());
    CHECK(*catalogue_moment(store) == kMoment);
  }
  MemoryStore none;
  CHECK_FALSE(*read_catalogue(none, {}));
  CHECK_FALSE(*catalogue_moment(none));
}

TEST_CASE("a row that is longer than a chunk has one of its own") {
  MemoryStore store;
  const auto object = *store.create(kCatalogueObject, ObjectStore::Create::truncate);
  CatalogueWriter writer(*object, kMoment);
  Inode inode = inode_of(5);
  for (int i = 0; i < 8; ++i)
    inode.xattrs.emplace_back("user." + std::to_string(i), std::string(60'000, 'x'));
  REQUIRE(writer.add_row(InodeId{2}, encode_single_row("before", inode_of(4))));
  REQUIRE(writer.add_row(InodeId{2}, encode_single_row("long", inode)));
  REQUIRE(writer.finish());
  std::size_t rows = 0;
  CatalogueVisitor visitor;
  visitor.row = [&](InodeId, const Row& row) {
    ++rows;
    if (row.entries.front().name == "long") CHECK(row.entries.front().inode->xattrs == inode.xattrs);
  };
  CHECK((*read_catalogue(store, visitor))->whole);
  CHECK(rows == 2);
}

TEST_CASE("damage costs the chunk that it hit, and is told") {
  MemoryStore store;
  const Names names = write(store, 5000);
  const std::string good = bytes_of(store, kCatalogueObject);
  std::vector<std::uint64_t> starts;
  for (std::uint64_t at = 0; at < good.size(); at += kChunk) {
    if (good.compare(at, 8, "cffsCTLG") == 0) starts.push_back(at);
  }
  REQUIRE(starts.size() > 4);
  for (std::size_t i = 0; i + 2 < starts.size(); ++i) {  // the last two have data, and the end
    for (const std::uint64_t into : {3, 9, 30, 45, 55, 70, 100, 5000}) {
      INFO("chunk " << i << ", byte " << into);
      std::string bytes = good;
      bytes[starts[i] + into] = static_cast<char>(bytes[starts[i] + into] ^ 4);
      replace(store, kCatalogueObject, bytes);
      const Read found = read(store);
      CHECK_FALSE(found.reading.whole);
      REQUIRE(found.reading.damage.size() == 1);
      CHECK(found.reading.damage.front().find("bytes " + std::to_string(starts[i]) + " to ") !=
            std::string::npos);
      CHECK(found.data == "1000 0 data;1000 1 dddd;");
      CHECK(found.names.size() < names.size());
      CHECK(found.names.size() + 2500 > names.size());
      for (const auto& [name, number] : found.names) CHECK(names.at(name) == number);
    }
  }
}

TEST_CASE("what was cut short, or put together from two, is not taken for whole") {
  MemoryStore store;
  write(store, 3000);
  const std::string good = bytes_of(store, kCatalogueObject);
  for (std::uint64_t size = 0; size + kChunk <= good.size(); size += 1000) {
    replace(store, kCatalogueObject, std::string_view(good).substr(0, size));
    const Read found = read(store);
    CHECK_FALSE(found.reading.whole);
    CHECK(found.reading.damage.size() == 1);
  }
  // One chunk of rows each, and one that says that this was all.
  const auto small = [](std::int64_t later) {
    MemoryStore other;
    const auto object = *other.create(kCatalogueObject, ObjectStore::Create::truncate);
    CatalogueMoment moment = kMoment;
    moment.at_ns += later;
    CatalogueWriter writer(*object, moment);
    REQUIRE(writer.add_row(InodeId{2}, encode_single_row("other", inode_of(1077))));
    REQUIRE(writer.finish());
    return bytes_of(other, kCatalogueObject);
  };
  REQUIRE(small(0).size() == 2 * kChunk);
  for (const std::int64_t later : {0, 1}) {
    replace(store, kCatalogueObject, small(later).substr(0, kChunk) + small(0).substr(kChunk));
    CHECK(read(store).reading.whole == (later == 0));
  }
  replace(store, kCatalogueObject, small(1).substr(0, kChunk) + good.substr(kChunk));
  CHECK_FALSE(read(store).reading.whole);
  replace(store, kCatalogueObject, good + good);
  CHECK_FALSE(read(store).reading.whole);
  replace(store, kCatalogueObject, std::string(100'000, '\0'));
  CHECK(read(store).reading.damage ==
        std::vector<std::string>{"object catalogue: bytes 0 to 99999 are damaged"});
}

namespace {

struct Catalogued {
  MemoryStore store;
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  std::unique_ptr<FileSystem> fs;

  Catalogued() {
    REQUIRE(FileSystem::format(store, repeatable(), *clock));
    open();
  }
  void open() {
    FileSystemOptions options = quiet();
    options.clock = clock;
    fs = std::move(*FileSystem::open(store, options));
  }
  void make(const std::string& name) {
    const auto made = fs->mknod(kRootInode, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    fs->forget(made->ino, 1);
  }
  // Of which moment, in ms; 0: there is none.
  std::int64_t written_at() {
    const auto moment = catalogue_moment(store);
    REQUIRE(moment);
    return *moment ? (*moment)->at_ns / 1'000'000 : 0;
  }
};

bool always() { return true; }

}  // namespace

TEST_CASE("a catalogue is written when a store that has changed is quiet, and then not again") {
  Catalogued c;
  Cataloguing cataloguing(*c.fs, 1000);
  cataloguing.run(always);
  c.make("one");
  for (int i = 0; i < 4; ++i) {
    cataloguing.run(always);
    CHECK(c.written_at() == 0);
    c.clock->pass_ms(1000);
  }
  c.make("two");
  c.clock->pass_ms(3000);
  cataloguing.run(always);  // sees the change
  c.clock->pass_ms(4999);
  cataloguing.run(always);
  CHECK(c.written_at() == 0);
  c.clock->pass_ms(1);
  cataloguing.run(always);
  const std::int64_t first = c.written_at();
  CHECK(first > 0);
  for (int i = 0; i < 400; ++i) {
    c.clock->pass_ms(1000);
    cataloguing.run(always);
  }
  CHECK(c.written_at() == first);
  c.make("three");
  cataloguing.run(always);
  c.clock->pass_ms(5000);
  cataloguing.run(always);
  CHECK(c.written_at() > first);
}

TEST_CASE("what changes before the first look counts, too") {
  Catalogued c;
  Cataloguing cataloguing(*c.fs, 1000);
  c.make("at once");
  c.clock->pass_ms(500);
  cataloguing.run(always);
  c.clock->pass_ms(5000);
  cataloguing.run(always);
  CHECK(c.written_at() > 0);
}

TEST_CASE("a store that never is quiet gets one all the same, seldom") {
  Catalogued c;
  Cataloguing cataloguing(*c.fs, 1000);
  std::vector<std::int64_t> written;
  for (int i = 0; i < 1000; ++i) {
    c.make("file" + std::to_string(i));
    c.clock->pass_ms(1000);
    cataloguing.run(always);
    if (written.empty() || c.written_at() != written.back()) written.push_back(c.written_at());
  }
  CHECK(written.size() == 4);  // none, and three
}

TEST_CASE("what an earlier user left out is noticed, and is in no hurry") {
  Catalogued c;
  c.make("one");
  REQUIRE(write_catalogue(*c.fs, always));
  const std::int64_t first = c.written_at();
  const bool adds = GENERATE(false, true);
  if (adds) c.make("two");
  REQUIRE(c.fs->close());
  c.open();
  Cataloguing cataloguing(*c.fs, 1000);
  for (int i = 0; i < 299; ++i) {
    cataloguing.run(always);
    c.clock->pass_ms(1000);
  }
  CHECK(c.written_at() == first);
  c.clock->pass_ms(1000);
  cataloguing.run(always);
  CHECK((c.written_at() > first) == adds);
}

TEST_CASE("a catalogue that is not finished leaves the one before, and nothing else") {
  Catalogued c;
  for (int i = 0; i < 50; ++i) c.make("file" + std::to_string(i));
  REQUIRE(write_catalogue(*c.fs, always));
  const std::string before = bytes_of(c.store, kCatalogueObject);
  c.make("another");
  int asked = 0;
  CHECK(write_catalogue(*c.fs, [&] { return ++asked < 20; }).error().errno_value == EINTR);
  c.store.show_available(1u << 20);
  CHECK(write_catalogue(*c.fs, always).error().errno_value == ENOSPC);
  CHECK(bytes_of(c.store, kCatalogueObject) == before);
  CHECK_FALSE(*c.store.exists(kUnfinishedCatalogue));
}

TEST_CASE("inline data is in a catalogue where it is not much") {
  Catalogued c;
  const auto made = c.fs->mknod(kRootInode, "file", S_IFREG | 0644, 0, kRoot);
  REQUIRE(c.fs->write(made->ino, 0, as_bytes(std::string(3000, 'x')), kRoot));
  REQUIRE(write_catalogue(*c.fs, always));
  std::string data;
  CatalogueVisitor visitor;
  visitor.data = [&](InodeId file, std::uint64_t, std::string_view bytes) {
    CHECK(file == made->ino);
    data += bytes;
  };
  REQUIRE(read_catalogue(c.store, visitor));
  CHECK(data == std::string(3000, 'x'));
}

TEST_CASE("a damaged catalogue is named by fsck and scrub, and a repair takes it away") {
  Catalogued c;
  c.make("file");
  REQUIRE(write_catalogue(*c.fs, always));
  CHECK(find_inconsistencies(*c.fs)->empty());
  flip_bit(c.store, kCatalogueObject, 80);
  const std::string sentence = "object catalogue: bytes 0 to " + std::to_string(kChunk - 1) + " are damaged";
  CHECK(*find_inconsistencies(*c.fs) == std::vector{sentence});
  std::vector<std::string> told;
  ScrubOptions options;
  options.on_damage = [&](const std::string& damage) { told.push_back(damage); };
  REQUIRE(Scrub(*c.fs, options).run());
  CHECK(told == std::vector{sentence});
  REQUIRE(c.fs->close());
  c.fs.reset();
  CHECK(repair_store(c.store, quiet())->size() == 1);
  CHECK(repair_store(c.store, quiet())->empty());
  CHECK_FALSE(*c.store.exists(kCatalogueObject));
}

}  // namespace cffs::test
