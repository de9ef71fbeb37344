// What happens where the system gives no thread: an error in one sentence, or work done without it; nothing waits for ever.
#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <new>
#include <thread>

#include "core/base/parallel.h"
#include "core/base/thread.h"
#include "core/fs/file_system.h"
#include "core/object/blocking_section.h"
#include "core/object/memory_store.h"
#include "core/object/posix_store.h"
#include "core/reorganise/regroup_jobs.h"
#include "core/table/table.h"
#include "core/transfer/import_target.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

struct ThreadsAllowed {
  explicit ThreadsAllowed(int n) { allow_threads(n); }
  ~ThreadsAllowed() { allow_threads(-1); }
};

bool names_a_thread(const Error& error) {
  return error.errno_value == EAGAIN && error.message().find("thread") != std::string::npos;
}

// Announces what a refused thread once was to whoever waits for the device: an exception.
class Throws final : public BlockingObserver {
 public:
  Throws() { set_for_this_thread(this); }
  ~Throws() override { set_for_this_thread(nullptr); }
  void about_to_block() override { throw std::system_error(EAGAIN, std::generic_category()); }
};

}  // namespace

TEST_CASE("a thread that is refused is a value") {
  {
    const ThreadsAllowed one(1);
    auto made = make_thread("thread of the first", [] {});
    REQUIRE(made);
    made->join();
    const auto refused = make_thread("thread of the second", [] {});
    REQUIRE(!refused);
    REQUIRE(names_a_thread(refused.error()));
  }
  auto made = make_thread("thread of the third", [] {});
  REQUIRE(made);
  made->join();
}

TEST_CASE("what one of several threads throws is the caller's, when all have ended") {
  std::atomic<int> running{0}, done{0};
  const auto work = [&](std::size_t i) {
    ++running;
    if (i == 3) {
      --running;
      throw std::bad_alloc();
    }
    std::this_thread::yield();
    ++done;
    --running;
  };
  CHECK_THROWS_AS(in_parallel(1'000'000, 4, work), std::bad_alloc);
  CHECK(running == 0);
  CHECK(done < 999'999);
  in_parallel(3, 4, work);
}

TEST_CASE("a store opens without threads, or says that it cannot") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  FileSystemOptions options;
  bool opened_with_few = false;
  for (int n = 0; n < 6; ++n) {
    {
      const ThreadsAllowed few(n);
      auto fs = FileSystem::open(store, options);
      if (fs) {
        opened_with_few = true;
        REQUIRE((*fs)->mknod(kRootInode, "few" + std::to_string(n), S_IFREG | 0644, 0, kRoot));
        REQUIRE((*fs)->sync());
        (*fs)->table().compact();  // LevelDB's work
        Reorganiser reorganiser(**fs);
        if (const Status started = reorganiser.start(); !started) REQUIRE(names_a_thread(started.error()));
        RegroupJobs jobs(reorganiser, {});
        if (const Status begun = jobs.begin(); !begun) {
          REQUIRE(names_a_thread(begun.error()));
          REQUIRE(!jobs.start({(*fs)->policy(), std::nullopt, false}));  // nobody would do it
        }
        REQUIRE((*fs)->close());
      } else {
        REQUIRE(names_a_thread(fs.error()));
      }
    }
    auto fs = FileSystem::open(store, options);
    REQUIRE(fs);
    REQUIRE((*fs)->close());
  }
  REQUIRE(opened_with_few);
}

TEST_CASE("an import has as many threads as there are, and does without") {
  for (int n = 0; n < 3; ++n) {
    MemoryStore store;
    REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
    FileSystemOptions options;
    options.background = false;
    auto fs = FileSystem::open(store, options);
    REQUIRE(fs);
    const ThreadsAllowed few(n);
    ImportTarget target(**fs, 4, nullptr);
    Inode attributes;
    attributes.mode = S_IFREG | 0644;
    attributes.size = 4;
    target.small_file(kRootInode, "small", attributes,
                      [](Inode&) -> Result<std::string> { return std::string("text"); });
    target.large_file(kRootInode, "large", attributes,
                      [](const ImportTarget::WriteAt& write) { return write(0, "text"); });
    const auto report = target.finish();
    REQUIRE(report);
    REQUIRE(report->files == 2);
    REQUIRE(report->failed == 0);
  }
}

TEST_CASE("a sync that an exception ends is over: the next one runs") {
  const TemporaryDirectory directory;
  const auto store = PosixStore::open_directory(directory.path, PosixStore::Access::read_write);
  REQUIRE(store);
  TableOptions options;
  options.create = true;
  const auto table = Table::open(**store, options);
  REQUIRE(table);
  Batch batch;
  batch.put(Key::entry(InodeId{5}, 1), "row");
  REQUIRE((*table)->write(batch));
  {
    const Throws throws;
    REQUIRE(!(*table)->sync());
  }
  auto next = std::async(std::launch::async, [&] { return (*table)->sync(); });
  REQUIRE(next.get());
  REQUIRE(!(*table)->failed());  // nothing is known to be lost
}

}  // namespace cffs::test
