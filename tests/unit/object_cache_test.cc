// Handles that are kept open: who opens an object while its name goes to another one must not leave the old one to the next.
#include "core/object/object_cache.h"

#include <catch2/catch.hpp>
#include <utility>

#include "core/object/memory_store.h"
#include "tests/passing_store.h"

namespace cffs::test {
namespace {

// Calls what a test set in the middle of one operation: the object was found and is not yet handed out, or is about to go.
class Interrupted final : public PassingStore {
 public:
  Interrupted() : PassingStore(under_) {}

  std::function<void()> in_open, in_remove;

  Result<std::shared_ptr<Object>> open(std::string_view name) override {
    auto object = under_.open(name);
    if (auto call = std::exchange(in_open, nullptr)) call();
    return object;
  }
  Status remove(std::string_view name) override {
    if (auto call = std::exchange(in_remove, nullptr)) call();
    return under_.remove(name);
  }

 private:
  MemoryStore under_;
};

std::string content(const Result<std::shared_ptr<Object>>& object) {
  if (!object) return "none";
  return *read_whole(**object);
}

void make(ObjectCache& cache, const std::string& bytes) {
  const auto object = cache.create("o", ObjectStore::Create::truncate);
  REQUIRE(object);
  REQUIRE((*object)->write_at(0, as_bytes(bytes)));
}

struct Opened {
  Interrupted store;
  ObjectCache cache{store, 16};

  // One object of this name, of which nobody keeps a handle.
  explicit Opened(const std::string& bytes) {
    make(cache, bytes);
    cache.drop("o");
  }
};

}  // namespace

TEST_CASE("an object that was opened while another took its name is not kept") {
  Opened it("old");
  it.store.in_open = [&] {
    REQUIRE(it.cache.remove("o"));
    make(it.cache, "new");
  };
  CHECK(content(it.cache.open("o")) != "none");  // either is right for who asked meanwhile
  CHECK(content(it.cache.open("o")) == "new");
}

TEST_CASE("one that was opened while its name went is not kept") {
  Opened it("old");
  it.store.in_open = [&] { REQUIRE(it.cache.remove("o")); };
  (void)it.cache.open("o");
  CHECK(content(it.cache.open("o")) == "none");
}

TEST_CASE("nor one that was opened just before its name goes") {
  Opened it("old");
  it.store.in_remove = [&] { CHECK(content(it.cache.open("o")) == "old"); };
  REQUIRE(it.cache.remove("o"));
  CHECK(content(it.cache.open("o")) == "none");
}

TEST_CASE("nor one that was opened while somebody else moved it away") {
  Opened it("old");
  it.store.in_open = [&] {
    REQUIRE(it.store.rename("o", "held/o"));
    it.cache.drop("o");
  };
  (void)it.cache.open("o");
  CHECK(content(it.cache.open("o")) == "none");
}

TEST_CASE("of two who open the same object at once both have a good one") {
  Opened it("old");
  Result<std::shared_ptr<Object>> other = fail(ENOENT);
  it.store.in_open = [&] { other = it.cache.open("o"); };
  const auto mine = it.cache.open("o");
  CHECK(content(mine) == "old");
  CHECK(content(other) == "old");
}

}  // namespace cffs::test
