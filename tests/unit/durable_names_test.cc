// A folder is synced once for all names that came into it before, and never too seldom.
#include "core/object/durable_names.h"

#include <catch2/catch.hpp>
#include <set>
#include <thread>
#include <vector>

namespace cffs::test {
namespace {

// A directory whose names outlast a power cut once their folder was synced.
struct Medium {
  std::vector<std::string> synced;
  std::string failing;
  DurableNames names{[this](const std::string& folder) -> Status {
    if (folder == failing) return fail(EIO, folder);
    synced.push_back(folder);
    return {};
  }};
  std::vector<std::string> take() { return std::exchange(synced, {}); }
};

using Folders = std::vector<std::string>;

}  // namespace

TEST_CASE("durable names: one sync covers all that came before it") {
  Medium medium;
  const auto first = medium.names.came("blobs/0/1"), second = medium.names.came("blobs/0/2");
  REQUIRE(medium.names.make_durable("blobs/0/1", first));
  CHECK(medium.take() == Folders{"blobs/0", "blobs", "."});
  REQUIRE(medium.names.make_durable("blobs/0/2", second));
  CHECK(medium.take().empty());
  const auto third = medium.names.came("blobs/0/3");
  REQUIRE(medium.names.make_durable("blobs/0/3", third));
  CHECK(medium.take() == Folders{"blobs/0"});  // those above are durable
  REQUIRE(medium.names.make_durable("blobs/0/1", first));
  CHECK(medium.take().empty());
}

TEST_CASE("durable names: each folder by itself") {
  Medium medium;
  const auto here = medium.names.came("blobs/0/1"), there = medium.names.came("blobs/1/10001");
  const auto top = medium.names.came("catalogue");
  REQUIRE(medium.names.make_durable("blobs/0/1", here));
  REQUIRE(!medium.take().empty());
  REQUIRE(medium.names.make_durable("blobs/1/10001", there));
  CHECK(medium.take() == Folders{"blobs/1", "blobs", "."});
  REQUIRE(medium.names.make_durable("catalogue", top));
  CHECK(medium.take() == Folders{"."});
}

TEST_CASE("durable names: a sync asked for otherwise covers, too, but says nothing of the folders above") {
  Medium medium;
  REQUIRE(medium.names.make_durable("blobs/0/1", medium.names.came("blobs/0/1")));
  const auto later = medium.names.came("blobs/1/10001");
  REQUIRE(medium.names.sync("blobs/0"));
  REQUIRE(medium.names.sync("blobs/1"));
  (void)medium.take();
  REQUIRE(medium.names.make_durable("blobs/0/2", later));
  CHECK(medium.take().empty());
  REQUIRE(medium.names.make_durable("blobs/1/10001", later));
  CHECK(medium.take() == Folders{"blobs/1", "blobs", "."});
}

TEST_CASE("durable names: what failed is tried again") {
  Medium medium;
  const auto number = medium.names.came("blobs/0/1");
  medium.failing = "blobs";
  CHECK(!medium.names.make_durable("blobs/0/1", number));
  CHECK(!medium.names.sync("blobs"));
  medium.failing.clear();
  (void)medium.take();
  REQUIRE(medium.names.make_durable("blobs/0/1", number));
  CHECK(medium.take() == Folders{"blobs/0", "blobs", "."});
  medium.failing = "blobs/0";
  const auto next = medium.names.came("blobs/0/2");
  CHECK(!medium.names.make_durable("blobs/0/2", next));
  REQUIRE(medium.names.make_durable("blobs/0/1", number));  // that one is durable, whatever became of others
}

TEST_CASE("durable names: who finds a name asks for the last that came beside it") {
  Medium medium;
  CHECK(medium.names.newest_beside("blobs/0/1") == 0);
  const auto first = medium.names.came("blobs/0/1"), second = medium.names.came("blobs/0/2");
  (void)medium.names.came("blobs/1/10001");
  CHECK(first < second);
  CHECK(medium.names.newest_beside("blobs/0/1") == second);
  CHECK(medium.names.newest_beside("catalogue") == 0);
}

// Names come while folders are synced: a name that came during a sync is not covered by it.
TEST_CASE("durable names: many at once") {
  Mutex mutex;
  std::set<int> there, durable;
  DurableNames names([&](const std::string&) -> Status {
    std::set<int> seen;
    {
      const MutexLock guard(mutex);
      seen = there;
    }
    std::this_thread::yield();
    const MutexLock guard(mutex);
    durable = std::move(seen);
    return {};
  });
  std::vector<std::thread> threads;
  std::atomic<int> lost{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const int name = t * 500 + i;
        {
          const MutexLock guard(mutex);
          there.insert(name);
        }
        const auto number = names.came("folder/" + std::to_string(name));
        if (!names.make_durable("folder/" + std::to_string(name), number)) ++lost;
        const MutexLock guard(mutex);
        if (!durable.contains(name)) ++lost;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(lost == 0);
}

}  // namespace cffs::test
