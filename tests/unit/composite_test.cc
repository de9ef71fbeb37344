// The byte form of composites, and their accounts.
#include <catch2/catch.hpp>

#include "core/composite/composite_accounts.h"
#include "core/composite/composite_store.h"
#include "core/object/memory_store.h"

namespace cffs::test {
namespace {

Inode inode(std::uint64_t n) {
  Inode i;
  i.ino = InodeId{n};
  i.mode = S_IFREG | 0640;
  return i;
}

}  // namespace

TEST_CASE("a composite describes itself") {
  MemoryStore objects;
  CompositeStore store(objects, 16, false);
  CompositeBuilder first(CompositeId{20001}, 0, 0);
  first.add(InodeId{1}, "a", inode(10), "alpha");
  first.add(InodeId{1}, "b", inode(11), std::string(5000, 'b'));
  first.end_group();
  first.add(InodeId{2}, "c", inode(12), "gamma");
  first.end_group();
  REQUIRE(store.append(first, true));
  CompositeBuilder second(first.id(), first.object_bytes(), first.slots());
  second.add(InodeId{2}, "d", inode(13), "delta");
  second.end_group();
  REQUIRE(store.append(second, true));
  REQUIRE(*objects.list("") == std::vector<std::string>{"composites/2/20001"});

  std::vector<RecordMeta> records;
  REQUIRE(store.scan(first.id(), second.object_bytes(),
                     [&](const RecordMeta& r, std::uint64_t) { records.push_back(r); }));
  REQUIRE(records.size() == 4);
  REQUIRE(records[1].name == "b");
  REQUIRE(records[1].ino == InodeId{11});
  REQUIRE(records[2].parent == InodeId{2});
  REQUIRE(records[3].slot == 3);

  const auto object = *store.open(first.id());
  std::string out(5, '\0');
  const Extent& gamma = first.extents()[2];
  REQUIRE(*CompositeStore::read(*object, gamma, 0, as_writable_bytes(out)) == 5);
  REQUIRE(out == "gamma");
  REQUIRE(*CompositeStore::read(*object, gamma, 3, as_writable_bytes(out)) == 2);
  REQUIRE(out.substr(0, 2) == "ma");
  // Groups cover their members and nobody else's.
  REQUIRE(first.extents()[0].group_offset == kCompositeHeaderBytes);
  REQUIRE(first.extents()[0].group_length == first.extents()[1].group_length);
  REQUIRE(gamma.group_offset == first.extents()[0].group_offset + first.extents()[0].group_length);

  // Any flipped bit of a member is noticed, and costs no other member.
  REQUIRE(object->write_at(gamma.offset + 1, as_bytes("a")));
  REQUIRE(*CompositeStore::read(*object, gamma, 0, as_writable_bytes(out)) == 5);  // the same byte
  REQUIRE(object->write_at(gamma.offset + 1, as_bytes("x")));
  const auto bad = CompositeStore::read(*object, gamma, 0, as_writable_bytes(out));
  REQUIRE(!bad);
  REQUIRE(bad.error().kind == ErrorKind::corruption);
  REQUIRE(CompositeStore::read(*object, first.extents()[0], 0, as_writable_bytes(out)));
}

TEST_CASE("no damage to a record goes further than an error") {
  std::string bytes;
  append_record(bytes, 3, InodeId{9}, "name", inode(5), "data", 1);
  REQUIRE((**parse_record(bytes)).slot == 3);
  for (std::size_t n = 0; n < 40; ++n) {
    const auto record = parse_record(std::string_view(bytes).substr(0, n));
    REQUIRE((!record || !*record));
  }
  const std::size_t covered = (**parse_record(bytes)).meta_bytes;
  for (std::size_t i = 0; i < covered; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = bytes;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      const auto record = parse_record(bad);
      REQUIRE((!record || !*record));
    }
  }
}

TEST_CASE("accounts") {
  MemoryStore objects;
  TableOptions options;
  options.create = true;
  auto table = std::move(*Table::open(objects, options));
  const CompositeId id{300};
  Extent a{id, 0, 100, 600, 600, 0, 0, 0, false};
  Extent b{id, 1, 800, 200, 200, 0, 0, 0, true};
  const auto apply = [&](const std::function<void(CompositeAccounts&)>& change) {
    CompositeAccounts accounts(*table);
    change(accounts);
    Batch batch;
    auto outcome = accounts.write(batch);
    REQUIRE(outcome);
    REQUIRE(table->write(batch));
    return *outcome;
  };
  const auto row = [&] { return *decode_composite_row(**table->get(Key::null_name(id))); };
  apply([&](CompositeAccounts& c) {
    c.add(a, inode(1), 1);
    c.add(b, inode(2), 1);
    c.grow(id, 1000, 2);
  });
  REQUIRE(row().live_bytes == 800);
  REQUIRE(row().members == 2);
  auto outcome = apply([&](CompositeAccounts& c) { c.free(a, InodeId{1}); });
  REQUIRE(row().freed_bytes == 600);
  REQUIRE(outcome.wasteful == std::vector<CompositeId>{id});
  Batch moved;
  moved.put(Key::member_files(id, 1), "somewhere");
  REQUIRE(table->write(moved));
  outcome = apply([&](CompositeAccounts& c) { c.free(b, InodeId{2}); });
  REQUIRE(outcome.emptied == std::vector<CompositeId>{id});
  REQUIRE(!*table->get(Key::null_name(id)));
  REQUIRE(!*table->get(Key::member_files(id, 1)));
  REQUIRE(*table->get(PendingRemoval::of(id).key()));
}

}  // namespace cffs::test
