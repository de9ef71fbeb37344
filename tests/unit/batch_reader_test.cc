// Many files read at once: every content is whole whatever happened since places were looked up, and what is wrong with one file is that
// one's error.
#include <catch2/catch.hpp>
#include <new>
#include <stdexcept>

#include "core/composite/composite_store.h"
#include "tests/unit/batched_store.h"
#include "tests/unit/rot.h"

namespace cffs::test {

TEST_CASE("files of every home are read whole, into the memory that was given, by any number of threads") {
  BatchedStore s;
  s.look_at_all();
  CHECK(s.place("/d/m3").composite.value != 0);
  CHECK(s.place("/d/holes").composite.value != 0);
  CHECK(s.place("/d/empty").home == Home::none);
  CHECK(s.place("/d/inline").home == Home::inline_);
  CHECK(s.place("/d/large").home == Home::blob);
  CHECK(s.place("/d/sparse").home == Home::blob);
  for (const unsigned threads : {0u, 1u, 2u, 7u, 64u}) {
    INFO(threads << " threads");
    for (const auto& content : s.expect_all_but({}, threads)) {
      if (content.bytes > 0) CHECK(s.in_memory(content));
      CHECK(content.apart == nullptr);
    }
  }
}

TEST_CASE("the members of a group come with one read of the medium, however they are asked for") {
  BatchedStore s;
  s.look_at_all();
  std::vector<std::string> wanted;
  for (int i = 99; i >= 0; --i) {
    const std::string path = "/d/m" + std::to_string(i);
    if (s.place(path).composite == s.place("/d/m99").composite) wanted.push_back(path);
  }
  s.look(wanted);
  REQUIRE(s.paths.size() > 20);
  const std::size_t runs = BatchPlan(s.places).runs().size();
  REQUIRE(runs <= 2);
  s.objects.count_reads(true);
  const std::uint64_t before = s.objects.operations();
  s.expect_all_but({});
  CHECK(s.objects.operations() - before <= runs + 1);  // the composite may have to be opened
  s.objects.count_reads(false);
}

TEST_CASE("a damaged member is the error of that file, and the others' bytes are theirs") {
  BatchedStore s;
  s.look_at_all();
  const FilePlace place = s.place("/d/m40");
  flip_bit(s.objects, CompositeStore::object_name(place.composite), place.offset + 700);
  for (const unsigned threads : {1u, 4u}) {
    const auto read = s.expect_all_but({"/d/m40"}, threads);
    CHECK(s.error(read, "/d/m40").kind == ErrorKind::corruption);
    CHECK(s.error(read, "/d/m40").errno_value == EIO);
  }
}

TEST_CASE("a composite that is cut short costs those that lay behind the cut") {
  BatchedStore s;
  s.look_at_all();
  const FilePlace place = s.place("/d/m40");
  REQUIRE((*s.objects.open(CompositeStore::object_name(place.composite)))->truncate(place.offset + 10));
  std::set<std::string> lost;
  for (std::size_t i = 0; i < s.paths.size(); ++i) {
    if (s.places[i].composite == place.composite && s.places[i].offset >= place.offset)
      lost.insert(s.paths[i]);
  }
  REQUIRE(lost.size() > 1);
  REQUIRE(lost.size() < 90);
  s.expect_all_but(lost);
}

TEST_CASE("a read of the medium that fails once is made up for by the names") {
  BatchedStore s;
  s.look({"/d/m1", "/d/m2", "/d/m3"});
  s.objects.count_reads(true);
  for (std::uint64_t nth = 1; nth <= 2; ++nth) {
    s.objects.fail_operation(nth, EIO, FaultyStore::Persistence::once);
    s.expect_all_but({});
  }
  s.objects.fail_operation(1, EIO, FaultyStore::Persistence::from_then_on);
  s.expect_all_but({"/d/m1", "/d/m2", "/d/m3"});
  s.objects.fail_operation(0, 0, FaultyStore::Persistence::once);
  s.expect_all_but({});
}

TEST_CASE(
    "what was written since places were looked up is whole, and as it is now once the old bytes are gone") {
  BatchedStore s;
  s.look_at_all();
  SECTION("files of another size, and of the same") {
    const std::map<std::string, std::string> earlier = s.contents;
    s.write("m1", "short");
    s.write("m2", std::string(20'000, 'l'));
    s.write("m3", std::string(s.contents["/d/m3"].size(), 's'));
    s.write("m4", "");
    s.write("inline", std::string(40'000, 'i'));
    s.write("large", "little");
    const auto read = s.read(3);
    for (std::size_t i = 0; i < s.paths.size(); ++i) {
      INFO(s.paths[i]);
      REQUIRE_FALSE(read[i].error);
      const std::string_view bytes(reinterpret_cast<const char*>(read[i].data), read[i].bytes);
      const bool is_now = bytes == s.contents[s.paths[i]], was = bytes == earlier.at(s.paths[i]);
      CHECK((is_now || was));
      if (s.places[i].composite.value == 0) CHECK(is_now);
    }
    // Nobody's bytes may become anything: they are punched, or the composite is.
    for (const char* path : {"/d/m1", "/d/m2", "/d/m3", "/d/m4"})
      flip_bit(s.objects, CompositeStore::object_name(s.place(path).composite), s.place(path).offset);
    const auto now = s.expect_all_but({}, 3);
    // A member's room in memory may be another's as well.
    for (const char* path : {"/d/m1", "/d/m2", "/d/m3", "/d/inline", "/d/large"})
      CHECK(s.content(now, path).apart != nullptr);
    for (const char* path : {"/d/m5", "/d/waits"}) CHECK(s.content(now, path).apart == nullptr);
  }
  SECTION("files that are gone, or whose name is something else's") {
    const FilePlace m1 = s.place("/d/m1");
    for (const char* name : {"m1", "inline", "large", "waits"}) s.remove(name);
    flip_bit(s.objects, CompositeStore::object_name(m1.composite), m1.offset);
    REQUIRE(s.fs->mkdir(s.directory, "large", 0755, kRoot));
    REQUIRE(s.fs->mknod(s.directory, "waits", S_IFIFO | 0644, 0, kRoot));
    const auto read = s.expect_all_but({"/d/m1", "/d/inline", "/d/large", "/d/waits"}, 2);
    CHECK(s.error(read, "/d/m1").errno_value == ENOENT);
    CHECK(s.error(read, "/d/inline").errno_value == ENOENT);
    CHECK(s.error(read, "/d/large").errno_value == EISDIR);
    CHECK(s.error(read, "/d/waits").errno_value == EINVAL);
  }
}

// It may have become longer than memory is; here nothing of it can be had at all.
TEST_CASE("a file that there is no memory for is the error of that file") {
  BatchedStore s;
  s.look_at_all();
  const BatchPlan plan(s.places);
  std::string memory(plan.memory_bytes(), '?');
  for (const unsigned threads : {1u, 4u}) {
    BatchReader reader(*s.fs, s.places, plan, [&](std::size_t i) {
      if (s.paths[i] == "/d/inline") throw std::length_error("no memory");
      if (s.paths[i] == "/d/large") throw std::bad_alloc();
      return s.paths[i];
    });
    const auto read = reader.read(as_writable_bytes(memory), threads);
    for (const auto& [path, content] : s.contents) {
      INFO(path);
      const bool lost = path == "/d/inline" || path == "/d/large";
      CHECK(s.content(read, path).error.has_value() == lost);
      if (lost) CHECK(s.error(read, path).errno_value == ENOMEM);
    }
  }
}

TEST_CASE("a composite that a writer removed in between is read by the names") {
  BatchedStore s;
  s.look_at_all();
  const CompositeId old = s.place("/d/m10").composite;
  SECTION("its members were moved to another") {
    for (std::size_t i = 0; i < s.paths.size(); ++i) {
      if (s.places[i].composite == old && s.paths[i] != "/d/m10" && s.paths[i] != "/d/m11")
        s.write(s.paths[i].substr(3), "new content of " + s.paths[i]);
    }
    REQUIRE(Reorganiser(*s.fs).compact_now());
  }
  SECTION("all were written anew") {
    for (std::size_t i = 0; i < s.paths.size(); ++i) {
      if (s.places[i].composite == old) s.write(s.paths[i].substr(3), "new content of " + s.paths[i]);
    }
  }
  REQUIRE(s.fs->sync());
  REQUIRE_FALSE(*s.objects.exists(CompositeStore::object_name(old)));
  for (const unsigned threads : {1u, 4u}) s.expect_all_but({}, threads);
}

}  // namespace cffs::test
