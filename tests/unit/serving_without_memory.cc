// Memory runs out where a mount tells what it does: its requests are answered all the same. Of allocation_tests, which replaces operator new.
#include <linux/fuse.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <new>

#include "core/fs/file_system.h"
#include "core/object/memory_store.h"
#include "fusefs/load_windows.h"
#include "fusefs/request_counts.h"
#include "tests/crash/each_allocation.h"
#include "tests/test_options.h"

namespace cffs::test {

TEST_CASE("a reply goes out although there is no memory to tell who watches whose request it was",
          "[parts]") {
  MemoryStore objects;
  REQUIRE(FileSystem::format(objects, repeatable(), SystemClock()));
  const auto fs = FileSystem::open(objects, quiet());
  REQUIRE(fs);
  LoadWindows windows(**fs);
  REQUIRE(windows.take("viewer", 60'000, 100'000));
  RequestCounts counts(&windows);
  fuse_in_header asked{};
  asked.len = sizeof asked;
  asked.opcode = FUSE_MKDIR;
  asked.unique = 7;
  asked.nodeid = FUSE_ROOT_ID;
  asked.pid = static_cast<std::uint32_t>(::getpid());
  fuse_buf request{};
  request.mem = &asked;
  request.size = sizeof asked;
  fuse_out_header answer{sizeof answer, 0, asked.unique};
  const iovec piece{&answer, sizeof answer};
  bool thrown = false;
  with_each_allocation_failing(
      [&] {
        counts.begin(request);
        try {
          const CountedReply reply(&piece, 1);
        } catch (const std::bad_alloc&) {
          thrown = true;
        }
      },
      [&] { CHECK_FALSE(thrown); });
  CHECK(counts.numbers().kinds.count(FUSE_MKDIR) == 1);
}

}  // namespace cffs::test
