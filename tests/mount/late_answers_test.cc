// What the kernel remembers of a file is what the store says, also where answers and changes cross (fusefs/attribute_receipts.h):
// changes of which the kernel keeps no count, beside threads that look. Others keep the processors busy, so that a thread often
// stands still between being answered and remembering.
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "tests/mount/mounted_store.h"

namespace cffs::test {
namespace {

constexpr std::size_t kBytes = 65536;

struct OpenFile {
  explicit OpenFile(const std::string& path) : handle(::open(path.c_str(), O_RDWR | O_CREAT, 0644)) {
    REQUIRE(handle >= 0);
    REQUIRE(::ftruncate(handle, kBytes) == 0);
    void* const at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
    REQUIRE(at != MAP_FAILED);
    mapped = static_cast<unsigned char*>(at);
  }
  ~OpenFile() {
    ::munmap(mapped, kBytes);
    ::close(handle);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // As the kernel remembers it, or as it is told now.
  struct statx look(int how) const {
    struct statx seen {};
    REQUIRE(::statx(handle, "", AT_EMPTY_PATH | how, STATX_BASIC_STATS, &seen) == 0);
    return seen;
  }

  const int handle;
  unsigned char* mapped = nullptr;
};

bool same_time(const statx_timestamp& a, const statx_timestamp& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

// Threads that do something until the end.
class Crowd {
 public:
  Crowd(int size, std::function<void()> work) {
    for (int i = 0; i < size; ++i) {
      threads_.emplace_back([this, work] {
        while (!stop_) work();
      });
    }
  }
  ~Crowd() {
    stop_ = true;
    for (std::thread& t : threads_) t.join();
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

 private:
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

// How often what the kernel remembers was not what the store said, after a few changes beside three who look; on a machine that is
// busy with other things there are fewer rounds.
int stale_after(const OpenFile& file, const std::function<void(std::mt19937&)>& change) {
  constexpr int kRounds = 1000;
  const auto enough = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  std::mt19937 random(7);
  int stale = 0;
  for (int round = 0; round < kRounds && std::chrono::steady_clock::now() < enough; ++round) {
    {
      const Crowd lookers(3, [&] {
        struct statx unused {};
        (void)::statx(file.handle, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &unused);
      });
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 400));
      for (auto n = 1 + random() % 3; n > 0; --n) change(random);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
    }
    const struct statx remembered = file.look(0), asked = file.look(AT_STATX_FORCE_SYNC);
    if (!same_time(remembered.stx_mtime, asked.stx_mtime) ||
        !same_time(remembered.stx_ctime, asked.stx_ctime))
      ++stale;
  }
  return stale;
}

}  // namespace

TEST_CASE("mount: an answer from before a change is not remembered after it") {
  MountedStore store("", "");
  const std::string path = store.mount_point() + "/file", other = store.mount_point() + "/other";
  const OpenFile file(path);
  const Crowd busy(3, [] {});

  int outcome = 0;
  bool there = true;
  CHECK(stale_after(file, [&](auto&) {
          outcome |= ::fallocate(file.handle, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 0, 4096);
        }) == 0);
  CHECK(stale_after(file, [&](auto& random) {
          ++file.mapped[random() % kBytes];
          outcome |= ::msync(file.mapped, kBytes, MS_SYNC);
        }) == 0);
  CHECK(stale_after(file, [&](auto& random) {
          const auto value = random();
          outcome |= ::fsetxattr(file.handle, "user.a", &value, sizeof value, 0);
        }) == 0);
  CHECK(stale_after(file, [&](auto&) {
          outcome |= there ? ::rename(path.c_str(), other.c_str()) : ::rename(other.c_str(), path.c_str());
          there = !there;
        }) == 0);
  CHECK(outcome == 0);
}

}  // namespace cffs::test
