// Every operation from many threads at once, while consolidation runs; what each thread did in its own directory must
// be exactly there at the end, and the shared directory must be consistent.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdio>
#include <map>
#include <random>
#include <thread>

#include "core/inspect/consistency.h"
#include "core/object/memory_store.h"
#include "core/reorganise/regrouping.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/test_seeds.h"
#include "tests/wrapping_store.h"

namespace cffs::test {
namespace {

void check(bool condition, const char* what) {
  if (!condition) {
    std::fprintf(stderr, "concurrency test: %s\n", what);
    std::abort();
  }
}

class Worker {
 public:
  Worker(FileSystem& fs, InodeId own, InodeId shared, std::uint64_t seed)
      : fs_(fs), own_(own), shared_(shared), random_(seed) {}

  void run(int operations) {
    for (int i = 0; i < operations; ++i) {
      own_step();
      shared_step();
    }
  }

  std::map<std::string, std::string> expected;

 private:
  std::string name(std::uint64_t n) { return "f" + std::to_string(random_() % n); }
  std::string data() { return std::string(random_() % 3000, static_cast<char>('a' + random_() % 26)); }

  void own_step() {
    const std::string file = name(20);
    const auto found = fs_.lookup(own_, file);
    check(found.has_value() == expected.contains(file), "lookup disagrees");
    if (!found) {
      const bool unnamed = random_() % 3 == 0;
      const auto made =
          unnamed ? fs_.make_unnamed(own_, 0600, kRoot) : fs_.mknod(own_, file, S_IFREG | 0600, 0, kRoot);
      check(made.has_value(), "mknod failed");
      const std::string bytes = data();
      check(fs_.write(made->ino, 0, as_bytes(bytes), kRoot).has_value(), "write failed");
      if (unnamed) {
        check(fs_.link(made->ino, own_, file).has_value(), "naming failed");
        fs_.forget(made->ino, 1);
      }
      fs_.forget(made->ino, 1);
      expected[file] = bytes;
      return;
    }
    std::string& bytes = expected[file];
    switch (random_() % 8) {
      case 5: {
        const std::uint64_t at = random_() % 3000, n = random_() % 3000 + 1;
        check(fs_.allocate(found->ino, at, n, AllocateMode::zero_range, false, kRoot).has_value(),
              "allocate failed");
        if (bytes.size() < at + n) bytes.resize(at + n);
        bytes.replace(at, n, n, '\0');
        break;
      }
      case 6: {
        const std::string other = name(20);
        const auto from = other == file ? found : fs_.lookup(own_, other);
        if (other == file || !from) break;
        const std::uint64_t n = random_() % 3000;
        check(*fs_.copy_range(from->ino, 0, found->ino, 0, n, kRoot) == std::min(n, from->size),
              "copy is short");
        bytes.replace(0, std::min(n, from->size), expected[other].substr(0, n));
        fs_.forget(from->ino, 1);
        break;
      }
      case 7: {  // by its number, forgotten or not
        fs_.forget(found->ino, 1);
        const auto again = fs_.lookup(found->ino, ".");
        check(again && again->size == bytes.size(), "a handle finds another file");
        fs_.accessed(found->ino);
        break;
      }
      case 0: {
        check(fs_.unlink(own_, file).has_value(), "unlink failed");
        expected.erase(file);
        break;
      }
      case 1: {
        const std::string more = data();
        check(fs_.write(found->ino, bytes.size(), as_bytes(more), kRoot).has_value(), "append failed");
        bytes += more;
        break;
      }
      case 2: {
        AttributeChange change;
        change.size = random_() % 4000;
        check(fs_.setattr(found->ino, change, kRoot).has_value(), "truncate failed");
        bytes.resize(*change.size);
        break;
      }
      case 3: {
        const std::string to = name(20);
        check(fs_.rename(own_, file, own_, to, RenameMode::replace, kRoot).has_value(), "rename failed");
        if (to != file) {
          expected[to] = bytes;
          expected.erase(file);
        }
        break;
      }
      default: {
        std::string read(bytes.size() + 1, '\0');
        const auto n = fs_.read(found->ino, 0, as_writable_bytes(read));
        check(n.has_value() && read.substr(0, *n) == bytes, "read differs");
      }
    }
    fs_.forget(found->ino, 1);
  }

  // Any outcome that POSIX allows; no deadlock, no corruption.
  void shared_step() {
    const std::string a = name(6);
    const std::string b = name(6);
    switch (random_() % 9) {
      case 0:
        if (const auto made = fs_.mkdir(shared_, a, 0755, kRoot)) fs_.forget(made->ino, 1);
        break;
      case 1:
        (void)fs_.rmdir(shared_, a);
        break;
      case 2:
        (void)fs_.unlink(shared_, a);
        break;
      case 3:
        (void)fs_.rename(shared_, a, shared_, b, RenameMode::exchange, kRoot);
        break;
      case 4:
        (void)fs_.rename(shared_, a, shared_, b, RenameMode::replace, kRoot);
        break;
      case 5: {
        const auto directory = fs_.lookup(shared_, a);
        if (!directory) break;
        if (const auto made = fs_.mknod(directory->ino, b, S_IFREG | 0600, 0, kRoot)) {
          (void)fs_.write(made->ino, 0, as_bytes(data()), kRoot);
          fs_.forget(made->ino, 1);
        }
        (void)fs_.rename(directory->ino, b, shared_, b, RenameMode::replace, kRoot);
        fs_.forget(directory->ino, 1);
        break;
      }
      case 6: {
        const auto file = fs_.lookup(shared_, a);
        if (!file) break;
        if (const auto made = fs_.link(file->ino, shared_, b)) fs_.forget(made->ino, 1);
        (void)fs_.write(file->ino, random_() % 2000, as_bytes(data()), kRoot);
        fs_.forget(file->ino, 1);
        break;
      }
      case 7: {
        const auto source = fs_.lookup(shared_, a);
        const auto target = fs_.lookup(shared_, b);
        if (source && target) (void)fs_.rename(shared_, a, target->ino, a, RenameMode::no_replace, kRoot);
        if (source) fs_.forget(source->ino, 1);
        if (target) fs_.forget(target->ino, 1);
        break;
      }
      default: {
        std::vector<InodeId> referred;
        (void)fs_.readdir(shared_, 2, true, [&](const DirectoryEntry& e) {
          referred.push_back(e.attributes.ino);
          return true;
        });
        for (const InodeId ino : referred) fs_.forget(ino, 1);
      }
    }
  }

  FileSystem& fs_;
  const InodeId own_, shared_;
  std::mt19937_64 random_;
};

}  // namespace

namespace {

// With `regrouping`, the whole store is regrouped by one policy after the other meanwhile.
void busy(std::uint64_t seed, bool regrouping) {
  {
    INFO("seed " << seed);
    MemoryStore store;
    StoreFormat format;
    format.inline_max = 64;
    format.composite_file_max = 2048;
    format.composite_max = 16384;
    REQUIRE(FileSystem::format(store, repeatable(format), SystemClock()));
    FileSystemOptions options;
    options.commit_interval_ms = 5;
    options.nameless_bytes = 5000;
    if (seed % 2 == 1) options.awake_nodes = kSleepy;
    options.access_record_bytes = 1 << 20;
    options.access_times = AccessTimes::strict;
    auto fs = std::move(*FileSystem::open(store, options));
    auto reorganiser = std::make_unique<Reorganiser>(*fs, 1);
    REQUIRE(reorganiser->start());
    const auto shared = *fs->mkdir(kRootInode, "shared", 0755, kRoot);
    std::vector<Attributes> own;
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
      own.push_back(*fs->mkdir(kRootInode, "own" + std::to_string(t), 0755, kRoot));
      workers.push_back(std::make_unique<Worker>(*fs, own.back().ino, shared.ino, seed * 100 + t));
    }
    std::atomic<bool> done{false};
    std::thread regrouper([&] {
      for (int i = 0; regrouping && !done.load(); ++i) {
        fs->set_policy(grouping::make_policy(
            std::array{"reference", "none", "directory", "frequency"}[static_cast<std::size_t>(i % 4)]));
        RegroupOptions regroup_options;
        regroup_options.stop = &done;
        if (const auto report = regroup(*reorganiser, *fs->policy(), regroup_options); !report)
          FAIL(report.error().message());
        fs->note_access(shared.ino, 1);
      }
    });
    for (auto& worker : workers) threads.emplace_back([&worker] { worker->run(1500); });
    for (std::thread& thread : threads) thread.join();
    done.store(true);
    regrouper.join();
    for (std::size_t t = 0; t < workers.size(); ++t) {
      std::map<std::string, std::string> found;
      REQUIRE(fs->readdir(own[t].ino, 2, false, [&](const DirectoryEntry& e) {
        const auto again = fs->lookup(own[t].ino, e.name);
        std::string bytes(again->size, '\0');
        (void)fs->read(again->ino, 0, as_writable_bytes(bytes));
        fs->forget(again->ino, 1);
        found[std::string(e.name)] = bytes;
        return true;
      }));
      REQUIRE(found == workers[t]->expected);
    }
    reorganiser.reset();
    REQUIRE(fs->close());
    fs.reset();
    options.background = false;
    fs = std::move(*FileSystem::open(store, options));
    REQUIRE(*find_inconsistencies(*fs) == std::vector<std::string>{});
  }
}

}  // namespace

TEST_CASE("many threads, busy background") {
  for (const std::uint64_t seed : seeds(3)) busy(seed, false);
}

namespace {

// Takes its time to be read.
struct SlowReads final : PassingObject {
  using PassingObject::PassingObject;
  Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override {
    thread_local std::minstd_rand random(std::random_device{}());
    std::this_thread::sleep_for(std::chrono::milliseconds(2 + random() % 4));
    return below_->read_at(offset, out);
  }
};

}  // namespace

TEST_CASE("readers of a file who never pause keep out neither its writers nor the commit") {
  constexpr int kMost = 2'000;  // reads of each, where nobody else gets a turn
  MemoryStore objects;
  WrappingStore store(objects, "blobs/", [](std::shared_ptr<Object> object) {
    return std::make_shared<SlowReads>(std::move(object));
  });
  REQUIRE(FileSystem::format(store, {}, SystemClock()));
  auto fs = std::move(*FileSystem::open(store, quiet()));
  const InodeId file = fs->mknod(kRootInode, "large", S_IFREG | 0644, 0, kRoot)->ino;
  const std::string bytes(1u << 20, 'x');
  REQUIRE(fs->write(file, 0, as_bytes(bytes), kRoot));
  REQUIRE(fs->sync());
  std::atomic<bool> done{false};
  std::atomic<int> reads{0}, gave_up{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i) {
    readers.emplace_back([&] {
      std::string some(4096, '\0');
      int n = 0;
      for (; n < kMost && !done; ++n, ++reads) {
        check(fs->read(file, 0, as_writable_bytes(some)).has_value(), "read failed");
      }
      if (!done) ++gave_up;
    });
  }
  while (reads < 16) std::this_thread::yield();
  for (int round = 0; round < 3; ++round) {
    CHECK(fs->write(file, 0, as_bytes(bytes).first(100), kRoot));
    CHECK(fs->sync());
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  CHECK(gave_up == 0);
  fs->forget(file, 1);
}

TEST_CASE("writers who never pause keep out no reader") {
  SharedMutex mutex;
  std::atomic<bool> done{false};
  std::atomic<int> writes{0};
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&] {
      while (!done) {
        const WriteLock lock(mutex);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        ++writes;
      }
    });
  }
  while (writes < 10) std::this_thread::yield();
  constexpr int kReads = 300;
  const int before = writes;
  for (int i = 0; i < kReads; ++i) const ReadLock lock(mutex);
  const int between = writes - before;
  done = true;
  for (std::thread& writer : writers) writer.join();
  CHECK(between < 5 * kReads);  // one or two each; without turns ten to a hundred
}

TEST_CASE("many threads while the store is regrouped by every policy") {
  for (const std::uint64_t seed : seeds(3)) busy(seed, true);
}

}  // namespace cffs::test
