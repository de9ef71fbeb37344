// Objects that are not durable yet: all are under way before one is waited for, and what failed stays known.
#include "core/fs/dirty_objects.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/object/memory_store.h"
#include "tests/passing_object.h"

namespace cffs::test {
namespace {

// Tells what is asked of it, in order.
class Telling final : public PassingObject {
 public:
  Telling(std::shared_ptr<Object> below, std::string name, std::vector<std::string>& told)
      : PassingObject(std::move(below)), name_(std::move(name)), told_(told) {}
  void begin_writeback(std::uint64_t, std::uint64_t) override { told_.push_back("begin " + name_); }
  Status sync() override {
    told_.push_back("sync " + name_);
    if (failing) return fail(EIO, name_);
    return {};
  }
  bool failing = false;

 private:
  const std::string name_;
  std::vector<std::string>& told_;
};

struct Some {
  MemoryStore store;
  std::vector<std::string> told;
  std::shared_ptr<Telling> object(const std::string& name) {
    return std::make_shared<Telling>(*store.create(name, ObjectStore::Create::keep), name, told);
  }
  std::vector<std::string> take() { return std::exchange(told, {}); }
};

using Told = std::vector<std::string>;

}  // namespace

TEST_CASE("dirty objects: all are under way before the first is waited for") {
  Some some;
  DirtyObjects dirty(100);
  dirty.note(InodeId{2}, some.object("a"));
  CHECK(dirty.sync_all());
  CHECK(some.take() == Told{"sync a"});
  const auto b = some.object("b");
  dirty.note(InodeId{3}, b);
  dirty.note(InodeId{3}, b);
  dirty.note(InodeId{4}, some.object("c"));
  CHECK(dirty.sync_all());
  CHECK(some.take() == Told{"begin b", "begin c", "sync b", "sync c"});
  CHECK(dirty.sync_all());
  CHECK(some.take().empty());
}

TEST_CASE("dirty objects: whose data is not durable is known until it is") {
  Some some;
  DirtyObjects dirty(100);
  CHECK(!dirty.holds(InodeId{2}));
  dirty.note(InodeId{2}, some.object("a"));
  dirty.note(InodeId{2}, some.object("a again"));  // by another handle
  CHECK(dirty.holds(InodeId{2}));
  CHECK(!dirty.holds(InodeId{3}));
  CHECK(dirty.sync_all());
  CHECK(!dirty.holds(InodeId{2}));
  const auto bad = some.object("bad");
  bad->failing = true;
  dirty.note(InodeId{4}, bad);
  dirty.note(InodeId{5}, some.object("good"));
  CHECK(!dirty.sync_all());
  CHECK(dirty.holds(InodeId{4}));
  CHECK(!dirty.holds(InodeId{5}));
  bad->failing = false;
  CHECK(!dirty.sync_all());  // asked again the kernel might say that all is well
}

TEST_CASE(
    "dirty objects: that they fill up is said once at half of the bound, and at the bound the older half "
    "goes") {
  Some some;
  DirtyObjects dirty(4);
  dirty.note(InodeId{2}, some.object("a"));
  dirty.note(InodeId{3}, some.object("b"));
  CHECK(!dirty.begins_to_fill());
  dirty.note(InodeId{4}, some.object("c"));
  CHECK(dirty.begins_to_fill());
  CHECK(!dirty.begins_to_fill());
  dirty.note(InodeId{5}, some.object("d"));
  CHECK(dirty.limit());
  CHECK(some.take().empty());
  dirty.note(InodeId{6}, some.object("e"));
  CHECK(dirty.limit());
  CHECK(some.take() == Told{"begin a", "begin b", "sync a", "sync b"});
  CHECK(dirty.many());
  CHECK(dirty.begins_to_fill());  // anew
  CHECK(dirty.sync_all());
  CHECK(!dirty.begins_to_fill());
}

}  // namespace cffs::test
