// Reads that wait for a device hold nothing meanwhile (fusefs/parked_requests.h): so what they read may be replaced, moved and
// removed under them, several wait at once, and the mount may end. Pages are taken away all the time, from the mount's files and from the
// store's, so that most reads find nothing in memory.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/mount/mounted_store.h"

namespace cffs::test {
namespace {

constexpr int kFiles = 300, kReplaced = 60;  // the first ones are replaced all the time

std::string name_of(int file) { return "d" + std::to_string(file % 7) + "/f" + std::to_string(file); }

std::string content_of(int file, unsigned version) {
  std::mt19937 random(static_cast<unsigned>(file) * 1000 + version);
  std::string content(1 + random() % 60'000, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(random());
  return content;
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary);
  out << content;
  REQUIRE(out.flush());
}

// The pages that nobody has changed go.
void forget_pages(const std::string& path) {
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) return;
  (void)::posix_fadvise(handle, 0, 0, POSIX_FADV_DONTNEED);
  (void)::close(handle);
}

// nullopt: no such file. What is read from one handle is one file, however often it was replaced.
std::optional<std::string> read_file(const std::string& path) {
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) return {};
  (void)::posix_fadvise(handle, 0, 0, POSIX_FADV_DONTNEED);
  std::string content(70'000, '\0');
  std::size_t done = 0;
  for (ssize_t n = 1; n > 0; done += static_cast<std::size_t>(std::max<ssize_t>(n, 0))) {
    n = ::pread(handle, content.data() + done, content.size() - done, static_cast<off_t>(done));
    if (n < 0) {
      (void)::close(handle);
      return {};
    }
  }
  (void)::close(handle);
  content.resize(done);
  return content;
}

// A store with those files in composites, mounted.
struct ColdStore {
  ColdStore() : store("", "--transport=device") {
    store.unmount();
    const std::string tree = store.store() + ".tree";
    for (int file = 0; file < kFiles; ++file) {
      std::filesystem::create_directories((std::filesystem::path(tree) / name_of(file)).parent_path());
      write_file(tree + "/" + name_of(file), content_of(file, 0));
    }
    REQUIRE(shell(std::string(std::getenv("CFFS_BINARY")) + " import " + tree + " " + store.store()) == 0);
    std::filesystem::remove_all(tree);
    store.mount();
  }
  void forget_all_pages() const {
    std::error_code gone;
    for (auto at = std::filesystem::recursive_directory_iterator(store.store() + "/composites", gone);
         at != std::filesystem::recursive_directory_iterator(); at.increment(gone)) {
      if (gone) return;
      forget_pages(at->path());
    }
  }
  MountedStore store;
};

}  // namespace

TEST_CASE("mount: reads that wait together bring what was written, whatever happens to their files") {
  ColdStore cold;
  const std::string at = cold.store.mount_point() + "/";
  std::atomic<bool> over = false;
  std::atomic<int> wrong = 0, reads = 0, failed = 0;
  std::array<std::atomic<unsigned>, kReplaced> begun{}, done{};

  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 6; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      while (!over) {
        const int file = static_cast<int>(random() % kFiles);
        const auto place = static_cast<std::size_t>(file);
        const unsigned oldest = file < kReplaced ? done[place].load() : 0;
        const auto content = read_file(at + name_of(file));
        const unsigned newest = file < kReplaced ? begun[place].load() : 0;
        ++reads;
        if (!content) {
          ++failed;
          continue;
        }
        bool known = false;
        for (unsigned version = oldest; version <= newest && !known; ++version)
          known = *content == content_of(file, version);
        if (!known) ++wrong;
      }
    });
  }
  threads.emplace_back([&] {
    while (!over) cold.forget_all_pages();
  });
  threads.emplace_back([&] {
    std::mt19937 random(77);
    while (!over) {
      const int file = static_cast<int>(random() % kReplaced);
      const auto place = static_cast<std::size_t>(file);
      const unsigned version = ++begun[place];
      const std::string path = at + name_of(file), next = path + ".next";
      write_file(next, content_of(file, version));
      if (::rename(next.c_str(), path.c_str()) != 0) ++failed;
      done[place] = version;
    }
  });
  std::this_thread::sleep_for(std::chrono::seconds(6));
  over = true;
  for (std::thread& thread : threads) thread.join();

  CHECK(wrong == 0);
  CHECK(failed == 0);
  CHECK(reads > kFiles);
  for (int file = 0; file < kFiles; ++file) {
    const unsigned version = file < kReplaced ? done[static_cast<std::size_t>(file)].load() : 0;
    CHECK(read_file(at + name_of(file)) == content_of(file, version));
  }
  cold.store.unmount();
  CHECK(cold.store.fsck().empty());
}

TEST_CASE("mount: the daemon may end while reads wait") {
  for (int round = 0; round < 5; ++round) {
    ColdStore cold;
    std::atomic<bool> over = false;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> readers;
    for (unsigned seed = 0; seed < 6; ++seed) {
      readers.emplace_back([&, seed] {
        std::mt19937 random(seed);
        while (!over) {
          const int file = static_cast<int>(random() % kFiles);
          const auto content = read_file(cold.store.mount_point() + "/" + name_of(file));
          if (content && !content->empty() && *content != content_of(file, 0)) ++wrong;
          if (random() % 10 == 0) cold.forget_all_pages();
        }
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300 + 50 * round));
    if (round % 2 == 0) {
      cold.store.kill_daemon();
    } else {
      (void)shell(std::string(std::getenv("CFFS_BINARY")) + " umount --force " + cold.store.mount_point());
    }
    over = true;
    for (std::thread& reader : readers) reader.join();
    CHECK(wrong == 0);
    if (round % 2 != 0) {  // nothing holds the store any more
      cold.store.mount();
      cold.store.unmount();
    }
    CHECK(cold.store.fsck().empty());
  }
}

}  // namespace cffs::test
