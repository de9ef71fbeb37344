// What a sync of a directory store's objects promises, by whatever handle, and what it must not forget.
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "core/object/posix_store.h"
#include "tests/unit/failing_writeback.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {

using Create = ObjectStore::Create;

// Descriptors are scarce, so the handle that made an object may be closed before anybody syncs it.
TEST_CASE("posix store: a sync by another handle than the one that made an object syncs its folder, too") {
  TemporaryDirectory directory;
  const auto store = *PosixStore::open_directory(directory.path);
  const std::string folder = directory.path + "/blobs", away = directory.path + "/away";
  {
    const auto made = store->create("blobs/0/1", Create::exclusive);
    REQUIRE(made);
  }
  const auto found = store->open("blobs/0/1");
  REQUIRE(found);
  std::filesystem::rename(folder, away);  // who looks for the folder is told
  CHECK(!(*found)->sync());
  std::filesystem::rename(away, folder);
  CHECK((*found)->sync());
  std::filesystem::rename(folder, away);
  CHECK((*found)->sync());  // once is enough
  std::filesystem::rename(away, folder);
  const auto again = store->open("blobs/0/1");
  REQUIRE(again);
  std::filesystem::rename(folder, away);
  CHECK((*again)->sync());  // whoever asks
}

TEST_CASE("posix store: a writeback that failed when it was begun is told by every sync that follows") {
  TemporaryDirectory directory;
  const auto store = *PosixStore::open_directory(directory.path);
  const auto object = *store->create("object", Create::exclusive);
  REQUIRE(object->write_at(0, as_bytes("x")));
  const int reason = GENERATE(EIO, ENOSPC, EDQUOT);
  failing_writeback = reason;
  object->begin_writeback();
  REQUIRE(failing_writeback == 0);
  for (int asked = 0; asked < 2; ++asked) {
    const Status done = object->sync();
    REQUIRE(!done);
    CHECK(done.error().errno_value == reason);
  }
  const auto other = *store->create("other", Create::exclusive);
  for (const int harmless :
       {EINVAL, ESPIPE, ENOSYS, ENOMEM}) {  // a file system that cannot, a moment without memory
    failing_writeback = harmless;
    other->begin_writeback();
    CHECK(other->sync());
  }
}

TEST_CASE("posix store: a sync beside a writeback that fails does not end before it is known") {
  TemporaryDirectory directory;
  const auto store = *PosixStore::open_directory(directory.path);
  const auto object = *store->create("object", Create::exclusive);
  REQUIRE(object->write_at(0, as_bytes("x")));
  failing_writeback_ms = 100;
  failing_writeback = ENOSPC;
  std::thread early([&] { object->begin_writeback(0, 1); });
  while (failing_writeback != 0)
    std::this_thread::yield();  // it is in the kernel, which has dropped the pages
  const Status done = object->sync();
  early.join();
  failing_writeback_ms = 0;
  REQUIRE(!done);
  CHECK(done.error().errno_value == ENOSPC);
}

}  // namespace cffs::test
