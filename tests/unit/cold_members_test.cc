// What a member that is not in memory asks of the medium.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>

#include "core/composite/composite_store.h"
#include "core/object/blocking_section.h"
#include "core/object/memory_store.h"
#include "core/object/suspension.h"
#include "tests/passing_object.h"

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

namespace {

// Whoever runs the thread lets operations go that may be suspended, for as long as `lets`.
class Lets final : public BlockingObserver {
 public:
  Lets() { set_for_this_thread(this); }
  ~Lets() override { set_for_this_thread(nullptr); }
  void about_to_block() override { ++blocks; }
  bool may_leave() override { return lets; }
  bool lets = true;
  int blocks = 0;
};

// What a device was asked for, and has not brought yet.
class SlowObject final : public test::PassingObject {
 public:
  explicit SlowObject(std::shared_ptr<Object> below) : PassingObject(std::move(below)) {}
  Result<std::optional<std::size_t>> try_read_at(std::uint64_t offset, Bytes out) const override {
    if (!arrived) return std::optional<std::size_t>();
    CFFS_TRY(const std::size_t n, below_->read_at(offset, out));
    return std::optional<std::size_t>(n);
  }
  Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override {
    ++waits;
    return below_->read_at(offset, out);
  }
  std::optional<double> share_in_memory(std::uint64_t, std::uint64_t) const override {
    return asked ? 1.0 : 0.0;
  }
  void prefetch(std::uint64_t, std::uint64_t) const override {
    asked = true;
    ++requests;
  }
  bool arrived = false;
  mutable bool asked = false;
  mutable int requests = 0, waits = 0;
};

// One run of a read of member 5; its outcome, and what it leaves.
struct Run {
  Run(ColdComposite& composite, const Object& object, std::unique_ptr<Suspension> left,
      std::uint64_t offset = 0)
      : out(composite.contents[5].size() - offset, '\0') {
    SuspendableRun run(std::move(left));
    result = composite.store.read_for({9, InodeId{105}}, object, composite.extents[5], offset,
                                      as_writable_bytes(out));
    suspended = run.is_suspended();
    next = run.leave();
  }
  std::string out;
  Result<std::size_t> result;
  bool suspended = false;
  std::unique_ptr<Suspension> next;
};

}  // namespace

TEST_CASE("a cold member is asked for and left, and read when it has come, as one touch and one request",
          "[parked]") {
  ColdComposite composite;
  const SlowObject slow(*composite.store.open(CompositeId{40}));
  auto& arrives = const_cast<SlowObject&>(slow);
  Lets observer;
  const std::uint64_t offset = GENERATE(0u, 100u);
  Run first(composite, slow, nullptr, offset);
  CHECK(first.suspended);
  CHECK_FALSE(first.result);
  CHECK(slow.requests == 1);

  Run second(composite, slow, std::move(first.next), offset);
  CHECK(second.suspended);
  CHECK(slow.requests == 1);

  SECTION("it comes") {
    arrives.arrived = true;
    const Run third(composite, slow, std::move(second.next), offset);
    CHECK_FALSE(third.suspended);
    REQUIRE(third.result);
    CHECK(third.out == composite.contents[5].substr(offset));
    CHECK(slow.waits == 0);
    CHECK(observer.blocks == 0);
  }
  SECTION("it is waited for") {
    observer.lets = false;
    const Run third(composite, slow, std::move(second.next), offset);
    CHECK_FALSE(third.suspended);
    REQUIRE(third.result);
    CHECK(third.out == composite.contents[5].substr(offset));
    CHECK(slow.waits == 1);
    CHECK(observer.blocks == 1);
  }
  SECTION("it is gone from there") {
    composite.extents[5] = composite.extents[7];
    composite.contents[5] = composite.contents[7];
    arrives.arrived = true;
    const Run third(composite, slow, std::move(second.next), 0);
    REQUIRE(third.result);
    CHECK(third.out == composite.contents[7]);
  }
  CHECK(slow.requests == 1);
  // Nobody waits any more: the next to be waited for is alone.
  CHECK(ReadAhead::Wait(const_cast<ReadAhead&>(composite.store.read_ahead())).alone());
}

TEST_CASE("who is no operation that may be suspended waits", "[parked]") {
  ColdComposite composite;
  const SlowObject slow(*composite.store.open(CompositeId{40}));
  Lets observer;
  std::string out(composite.contents[5].size(), '\0');
  REQUIRE(composite.store.read_for({9, InodeId{105}}, slow, composite.extents[5], 0, as_writable_bytes(out)));
  CHECK(out == composite.contents[5]);
  CHECK(observer.blocks > 0);
}

}  // namespace cffs
