// What a member that is not in memory asks of the medium.
#include <algorithm>
#include <catch2/catch.hpp>

#include "core/composite/composite_store.h"
#include "core/object/memory_store.h"
#include "tests/unit/passing_object.h"

namespace cffs {
namespace {

// An object none of which is in memory at first; knows what came there, and in how many requests.
class ColdObject final : public test::PassingObject {
 public:
  explicit ColdObject(std::shared_ptr<Object> below) : PassingObject(std::move(below)), there_(1u << 20) {}

  Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override {
    if (*share_in_memory(offset, out.size()) < 1) ask(offset, out.size());
    return below_->read_at(offset, out);
  }
  Result<std::optional<std::size_t>> try_read_at(std::uint64_t offset, Bytes out) const override {
    if (*share_in_memory(offset, out.size()) < 1) return std::optional<std::size_t>();
    CFFS_TRY(const std::size_t n, below_->read_at(offset, out));
    return std::optional<std::size_t>(n);
  }
  std::optional<double> share_in_memory(std::uint64_t offset, std::uint64_t length) const override {
    const auto begin = there_.begin() + at(offset), end = there_.begin() + at(offset + length);
    return static_cast<double>(std::count(begin, end, true)) / static_cast<double>(length);
  }
  void prefetch(std::uint64_t offset, std::uint64_t length) const override { ask(offset, length); }
  void read_no_further() const override { alone = true; }

  mutable std::uint64_t requests = 0, bytes = 0;
  mutable bool alone = false;

 private:
  static std::ptrdiff_t at(std::uint64_t offset) { return static_cast<std::ptrdiff_t>(offset); }
  void ask(std::uint64_t offset, std::uint64_t length) const {
    ++requests;
    bytes += length;
    std::fill(there_.begin() + at(offset), there_.begin() + at(offset + length), true);
  }

  mutable std::vector<bool> there_;
};

}  // namespace

TEST_CASE("a cold member is one request of its own bytes; what follows it comes with its group, whole") {
  MemoryStore objects;
  CompositeStore store(objects, 16, false);
  CompositeBuilder builder(CompositeId{40}, 0, 0);
  std::vector<std::string> contents;
  for (std::uint64_t i = 0; i < 12; ++i) {
    contents.emplace_back(60'000 + i, static_cast<char>('a' + i));
    Inode inode;
    inode.ino = InodeId{100 + i};
    inode.mode = S_IFREG | 0640;
    builder.add(InodeId{2}, std::string(1, static_cast<char>('a' + i)), inode, contents.back());
    if (i % 4 == 3) builder.end_group();
  }
  REQUIRE(store.append(builder, false));
  const ColdObject cold(*store.open(CompositeId{40}));
  const auto read = [&](std::size_t i) {
    std::string out(contents[i].size(), '\0');
    REQUIRE(*store.read_for(9, cold, builder.extents()[i], 0, as_writable_bytes(out)) == out.size());
    CHECK(out == contents[i]);
  };
  read(5);
  CHECK(cold.alone);
  CHECK(cold.requests == 1);
  CHECK(cold.bytes == contents[5].size());
  read(6);
  CHECK(cold.requests == 2);
  CHECK(cold.bytes == contents[5].size() + builder.extents()[6].group_length);
  read(4);
  read(7);
  CHECK(cold.requests == 2);
  CHECK(store.read_ahead().counters().used == contents[4].size() + contents[7].size());
}

}  // namespace cffs
