// Table files and manifests with right checksums and wrong sense: none makes LevelDB read or write where it must not, take memory without
// bound, or end the process.
#include <catch2/catch.hpp>
#include <limits>

#include "core/base/crc32c.h"
#include "core/object/memory_store.h"
#include "core/table/replay_check.h"
#include "core/table/table_log.h"
#include "tests/test_options.h"
#include "tests/unit/crafted_store.h"
#include "tests/unit/object_bytes.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

constexpr std::uint64_t kMuch = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMuch32 = std::numeric_limits<std::uint32_t>::max();
const std::string kTail(8, '\1');  // sequence and type

struct Item {
  std::uint64_t shared = 0;
  std::string rest, value;
  std::optional<std::uint64_t> rest_bytes = {}, value_bytes = {};  // as they are told
};

std::string block(const std::vector<Item>& items, std::vector<std::uint32_t> restarts = {0},
                  std::optional<std::uint32_t> told = {}) {
  std::string bytes;
  ByteWriter w(bytes);
  for (const Item& item : items) {
    w.varint(item.shared);
    w.varint(item.rest_bytes.value_or(item.rest.size()));
    w.varint(item.value_bytes.value_or(item.value.size()));
    bytes += item.rest + item.value;
  }
  for (const std::uint32_t at : restarts) w.u32(at);
  w.u32(told.value_or(static_cast<std::uint32_t>(restarts.size())));
  return bytes;
}

struct Place {
  std::uint64_t offset = 0, bytes = 0;
};
std::string place(Place p) {
  std::string bytes;
  ByteWriter w(bytes);
  w.varint(p.offset);
  w.varint(p.bytes);
  return bytes;
}

// A table file, of which each part may be something else. Its blocks are uncompressed unless `type` says otherwise.
struct CraftedTable {
  std::string data = block({{0, key("a"), "value"}});
  std::function<std::string(Place data)> index = [](Place p) { return block({{0, key("z"), place(p)}}); };
  std::optional<std::string> filters = {};  // the index of filters
  std::optional<Place> index_at = {}, filters_at = {};
  char type = 0;

  static std::string key(const std::string& user) { return std::string(16, user[0]) + kTail; }

  std::string file(std::size_t size) const {
    std::string bytes;
    const auto add = [&bytes](const std::string& contents, char how) {
      const Place at{bytes.size(), contents.size()};
      std::string summed = contents;
      summed += how;
      bytes += summed;
      ByteWriter(bytes).u32(masked_crc32c(summed));
      return at;
    };
    const Place data_at = add(data, type);
    const Place made_filters = add(filters.value_or(block({})), 0);
    const Place made_index = add(index(data_at), 0);
    REQUIRE(bytes.size() + 48 <= size);
    bytes.resize(size - 48);
    std::string footer = place(filters_at.value_or(made_filters)) + place(index_at.value_or(made_index));
    footer.resize(40);
    ByteWriter(footer).u64(0xdb4775248b80fb57u);
    return bytes + footer;
  }
};

// Closed twice: what the first one left in the log is a file of the table then, beside the empty store's.
std::unique_ptr<MemoryStore> with_a_table_file() {
  auto store = std::make_unique<MemoryStore>();
  REQUIRE(FileSystem::format(*store, repeatable(StoreFormat()), SystemClock()));
  for (int round = 0; round < 2; ++round) {
    const auto fs = FileSystem::open(*store, all_in_rows());
    REQUIRE(fs);
    for (int i = 0; i < 300 && round == 0; ++i) {
      const auto made = (*fs)->mknod(kRootInode, "file." + std::to_string(i), S_IFREG | 0600, 0, kRoot);
      REQUIRE(made);
      REQUIRE((*fs)->write(made->ino, 0, as_bytes(std::string(700, 'x')), kRoot));
    }
    REQUIRE((*fs)->close());
  }
  return store;
}

// The store's table file is this one.
int met_with(const CraftedTable& crafted) {
  const auto store = with_a_table_file();
  const auto names = *store->list("table");
  std::string largest, before;
  for (const std::string& name : names) {
    if (!name.ends_with(".ldb") || bytes_of(*store, name).size() <= before.size()) continue;
    largest = name;
    before = bytes_of(*store, name);
  }
  REQUIRE(!largest.empty());
  replace(*store, largest, crafted.file(before.size()));
  return in_bounds([&] {
    const TemporaryDirectory outside;
    const bool found = look(*store, outside.path);
    use(*store);
    return found ? kFound : kNothingFound;
  });
}

}  // namespace

TEST_CASE("a table file that is well made and says nothing true is met in bounds") {
  CHECK(met_with({}) == kFound);
}

TEST_CASE("places that are not in a table file are refused") {
  const Place places[] = {{0, kMuch},
                          {0, kMuch - 4},
                          {0, kMuch - 5},
                          {kMuch, 10},
                          {kMuch - 3, 4},
                          {0, std::uint64_t{1} << 62},
                          {0, std::uint64_t{1} << 35},
                          {1u << 30, 10}};
  for (const Place& wrong : places) {
    INFO(wrong.offset << ", " << wrong.bytes);
    CraftedTable index, filters, data, filter;
    index.index_at = wrong;
    CHECK(met_with(index) == kFound);
    filters.filters_at = wrong;
    CHECK(met_with(filters) == kFound);
    data.index = [&](Place) { return block({{0, CraftedTable::key("z"), place(wrong)}}); };
    CHECK(met_with(data) == kFound);
    filter.filters = block({{0, "filter.leveldb.BuiltinBloomFilter2", place(wrong)}});
    CHECK(met_with(filter) == kFound);
  }
}

TEST_CASE("lengths that no block holds are refused") {
  const std::string key = CraftedTable::key("a");
  const std::vector<std::vector<Item>> blocks = {
      {{0, key, "value", kMuch32, 1}},
      {{0, key, "value", kMuch32 - 8, 20}},
      {{0, key, "value", 24, kMuch32 - 20}},
      {{0, key, "value", 24, kMuch}},
      {{5, key, "value"}},
      {{0, key, "value"}, {kMuch32, key, "value"}},
      {{0, key, "value"}, {20, "", "value", kMuch32, 6}},
  };
  for (const auto& items : blocks) {
    CraftedTable data, index;
    data.data = block(items);
    CHECK(met_with(data) == kFound);
    index.index = [&](Place) { return block(items); };
    CHECK(met_with(index) == kFound);
  }
}

TEST_CASE("keys that are too short are refused") {
  for (const std::size_t bytes : {0u, 1u, 7u}) {
    CraftedTable data, index;
    data.data = block({{0, std::string(bytes, 'k'), "value"}});
    CHECK(met_with(data) == kFound);
    index.index = [&](Place p) { return block({{0, std::string(bytes, 'k'), place(p)}}); };
    CHECK(met_with(index) == kFound);
  }
}

TEST_CASE("restarts that are no entries are refused") {
  const std::vector<Item> items = {
      {0, CraftedTable::key("a"), std::string("\x7f\xff\xff\xff\xff\x0f\x01rest", 11)}};
  const std::vector<std::vector<std::uint32_t>> restarts = {
      {27}, {28}, {0, 27}, {0, 28}, {0, 0}, {0, std::uint32_t{1} << 31}, {std::uint32_t{1} << 31}};
  for (const auto& at : restarts) {
    CraftedTable data;
    data.data = block(items, at);
    CHECK(met_with(data) == kFound);
  }
  for (const std::uint32_t told : {0u, 100u, 1u << 30, ~0u}) {
    CraftedTable data;
    data.data = block(items, {0}, told);
    CHECK(met_with(data) == kFound);
  }
}

TEST_CASE("a block that is compressed too well is refused") {
  CraftedTable data;
  data.type = 1;
  std::string bytes;
  ByteWriter(bytes).varint(kMuch32);
  data.data = bytes + std::string(20, '\0');
  CHECK(met_with(data) == kFound);
}

TEST_CASE("a manifest whose keys are too short is refused") {
  for (const std::size_t bytes : {0u, 1u, 7u}) {
    const auto store = with_a_table_file();
    std::string name;
    const auto names = *store->list("table");
    for (const std::string& n : names) {
      if (n.find("MANIFEST") != std::string::npos) name = n;
    }
    const LogContent before = read_log(bytes_of(*store, name));
    std::string edit;
    ByteWriter w(edit);
    w.varint(7);  // a new file
    w.varint(0);
    w.varint(4);
    w.varint(1000);
    w.string(std::string(bytes, 'k'));
    w.string(std::string(bytes, 'k'));
    std::vector<const LogRecord*> records;
    for (const LogRecord& record : before.before) records.push_back(&record);
    const LogRecord crafted{0, 0, edit};
    records.push_back(&crafted);
    replace(*store, name, write_log(records));
    const auto plan = check_replay(*store, "table", false, true);
    REQUIRE_FALSE(plan);
    CHECK(plan.error().kind == ErrorKind::corruption);
    CHECK(in_bounds([&] {
            use(*store);
            return kFound;
          }) == kFound);
  }
}

}  // namespace cffs::test
