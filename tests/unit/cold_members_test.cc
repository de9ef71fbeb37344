// What a member that is not in memory asks of the medium.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>

#include "core/composite/composite_store.h"
#include "core/object/blocking_section.h"
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

namespace {

// Three groups of four members in one composite.
struct ColdComposite {
  ColdComposite() {
    CompositeBuilder builder(CompositeId{40}, 0, 0);
    for (std::uint64_t i = 0; i < 12; ++i) {
      contents.emplace_back(60'000 + i, static_cast<char>('a' + i));
      Inode inode;
      inode.ino = InodeId{100 + i};
      inode.mode = S_IFREG | 0640;
      builder.add(InodeId{2}, std::string(1, static_cast<char>('a' + i)), inode, contents.back());
      if (i % 4 == 3) builder.end_group();
    }
    REQUIRE(store.append(builder, false));
    extents = builder.extents();
    cold = std::make_unique<ColdObject>(*store.open(CompositeId{40}));
  }
  void read(std::size_t i) {
    std::string out(contents[i].size(), '\0');
    REQUIRE(*store.read_for({9, InodeId{100 + i}}, *cold, extents[i], 0, as_writable_bytes(out)) ==
            out.size());
    CHECK(out == contents[i]);
  }

  MemoryStore objects;
  CompositeStore store{objects, 16, false};
  std::vector<std::string> contents;
  std::vector<Extent> extents;
  std::unique_ptr<ColdObject> cold;
};

}  // namespace

TEST_CASE("a cold member is one request of its own bytes; what follows it comes with its group, whole") {
  ColdComposite composite;
  const ColdObject& cold = *composite.cold;
  composite.read(5);
  CHECK(cold.alone);
  CHECK(cold.requests == 1);
  CHECK(cold.bytes == composite.contents[5].size());
  composite.read(6);
  CHECK(cold.requests == 2);
  CHECK(cold.bytes == composite.contents[5].size() + composite.extents[6].group_length);
  composite.read(4);
  composite.read(7);
  CHECK(cold.requests == 2);
  CHECK(composite.store.read_ahead().counters().used ==
        composite.contents[4].size() + composite.contents[7].size());
}

TEST_CASE("a first touch of a group that a plan says is wanted together is one request for all of it") {
  ColdComposite composite;
  std::vector<std::uint64_t> asked_of;
  composite.store.on_absent([&](InodeId file) {
    asked_of.push_back(file.value);
    return file.value < 104 ? 0.9 : file.value < 108 ? 0.3 : 0;
  });
  composite.read(2);
  CHECK(composite.cold->requests == 1);
  CHECK(composite.cold->bytes == composite.extents[2].group_length);
  for (const std::size_t i : {0u, 1u, 3u}) composite.read(i);
  CHECK(composite.cold->requests == 1);
  CHECK(asked_of == std::vector<std::uint64_t>{102});  // the others were in memory
}

namespace {

// Whoever runs the thread: looks once, or not at all.
class Loop final : public BlockingObserver {
 public:
  Loop() { set_for_this_thread(this); }
  ~Loop() override { set_for_this_thread(nullptr); }
  void about_to_block() override { ++blocks; }
  bool watches() override { return patient; }
  bool watch(const Ready& ready) override {
    ++looks;
    return ready();
  }
  bool patient = true;
  int blocks = 0, looks = 0;
};

}  // namespace

TEST_CASE("a cold member is on its way before somebody looks for it, as one request; for much nobody looks") {
  ColdComposite composite;
  Loop loop;
  composite.read(5);
  CHECK(composite.cold->requests == 1);
  CHECK(composite.cold->bytes == composite.contents[5].size());
  CHECK(loop.looks == 1);
  CHECK(loop.blocks == 0);
  composite.read(6);  // with its group, which takes a while
  CHECK(composite.cold->requests == 2);
  CHECK(loop.looks == 1);
  CHECK(loop.blocks > 0);
  loop.blocks = 0;
  composite.read(4);  // in memory
  CHECK(loop.looks == 1);
  CHECK(loop.blocks == 0);
}

TEST_CASE(
    "who does not look for what a device brings is told that it is waited for, before the device is asked") {
  ColdComposite composite;
  Loop loop;
  loop.patient = false;
  composite.read(5);
  CHECK(loop.looks == 0);
  CHECK(loop.blocks > 0);
  CHECK(composite.cold->requests == 1);
  CHECK(composite.cold->bytes == composite.contents[5].size());
}

}  // namespace cffs
