// Pages of a store in a pool that are kept on a local disk (core/rados/local_cache.h), by itself and below the pages in memory.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/rados/local_cache.h"
#include "core/rados/page_cache.h"
#ifdef CFFS_WITH_RADOS
#include "core/rados/rados_store.h"
#endif
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

using rados::kPageBytes;
using rados::LocalCache;
using rados::LocalFile;
using rados::PageCache;

constexpr std::uint64_t kRoomy = std::uint64_t{64} << 20;

std::string noise(std::size_t n, unsigned seed = 1) {
  std::string text(n, ' ');
  std::uint32_t state = seed;
  for (char& c : text) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return text;
}

std::unique_ptr<LocalCache> opened(const std::string& directory, std::uint64_t most = kRoomy,
                                   const std::string& store = "store") {
  auto cache = LocalCache::open({directory, most}, store);
  REQUIRE(cache);
  while (!(*cache)->state().is_ours) std::this_thread::yield();
  return std::move(*cache);
}

std::optional<std::string> asked(LocalCache& cache, std::uint64_t object, std::uint64_t first,
                                 std::uint64_t pages, std::uint64_t end) {
  std::optional<std::string> answer;
  std::atomic<bool> done = false;
  cache.read(object, first, pages, end, [&](std::optional<std::string> bytes) {
    answer = std::move(bytes);
    done = true;
  });
  while (!done) std::this_thread::yield();
  return answer;
}

// What was to be kept is there when the next one opens it.
void kept(const std::string& directory, std::uint64_t object, std::uint64_t first, std::uint64_t end,
          const std::string& bytes) {
  const auto cache = opened(directory);
  cache->keep(object, first, end, bytes);
}

std::vector<std::string> files_below(const std::string& directory) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file() && entry.path().filename() != "lock") files.push_back(entry.path().string());
  }
  return files;
}

// Lasts to its end.
class LastingSource final : public PageCache::Source, public std::enable_shared_from_this<LastingSource> {
 public:
  explicit LastingSource(std::string bytes) : bytes_(std::move(bytes)) {}
  PageCache::ObjectNumber number() const override { return 9; }
  void fetch(std::uint64_t offset, std::uint64_t length,
             std::function<void(Result<std::string>)> done) const override {
    ++requests;
    done(bytes_.substr(std::min<std::size_t>(offset, bytes_.size()), length));
  }
  std::optional<Lasting> lasting() const override { return Lasting{9, bytes_.size(), shared_from_this()}; }
  std::uint64_t size() const { return bytes_.size(); }
  void grow(const std::string& more) { bytes_ += more; }

  mutable std::atomic<int> requests = 0;

 private:
  std::string bytes_;
};

}  // namespace

TEST_CASE("local cache: what was kept is there for the next one, and for no other store, object or length") {
  const TemporaryDirectory directory;
  const std::string bytes = noise(3 * kPageBytes + 100);
  kept(directory.path, 5, 250, 250 * kPageBytes + bytes.size(), bytes);  // pages in two files
  const auto cache = opened(directory.path);
  const std::uint64_t end = 250 * kPageBytes + bytes.size();
  const auto found = asked(*cache, 5, 250, 4, end);
  REQUIRE(found);
  REQUIRE(found->substr(0, bytes.size()) == bytes);
  REQUIRE(found->substr(bytes.size()) == std::string(kPageBytes - 100, '\0'));
  REQUIRE(asked(*cache, 5, 251, 2, end) == bytes.substr(kPageBytes, 2 * kPageBytes));
  CHECK(!asked(*cache, 5, 249, 2, end));
  CHECK(!asked(*cache, 5, 253, 1, end + 1));  // it grew, and its last page with it
  CHECK(!asked(*cache, 6, 250, 1, end));
  CHECK(cache->state().damaged == 0);
  CHECK(cache->state().found == 6);
  const auto other = opened(directory.path, kRoomy, "other");
  CHECK(!asked(*other, 5, 250, 1, end));
  cache->forget(5);
  CHECK(!asked(*cache, 5, 250, 1, end));
  CHECK(files_below(directory.path).empty());
}

TEST_CASE("local cache: of what was read in part only whole pages are kept") {
  const TemporaryDirectory directory;
  const std::string bytes = noise(2 * kPageBytes - 1);
  kept(directory.path, 5, 0, 10 * kPageBytes, bytes);
  const auto cache = opened(directory.path);
  CHECK(asked(*cache, 5, 0, 1, 10 * kPageBytes) == bytes.substr(0, kPageBytes));
  CHECK(!asked(*cache, 5, 1, 1, 10 * kPageBytes));
}

TEST_CASE("local cache: it holds no more than it may, and the files used last stay") {
  const TemporaryDirectory directory;
  const std::string bytes = noise(64 * kPageBytes);  // a megabyte
  {
    const auto cache = opened(directory.path, 8 << 20);
    for (std::uint64_t object = 0; object < 30; ++object) {
      cache->keep(object, 0, bytes.size(), bytes);
      while (object > 0 && !asked(*cache, object, 0, 1, bytes.size())) std::this_thread::yield();
      if (object > 0) REQUIRE(asked(*cache, 1, 0, 1, bytes.size()));
    }
    CHECK(cache->state().bytes <= 8 << 20);
  }
  std::uint64_t held = 0;
  for (const std::string& file : files_below(directory.path)) {
    struct stat st;
    REQUIRE(::lstat(file.c_str(), &st) == 0);
    held += static_cast<std::uint64_t>(st.st_blocks) * 512;
  }
  CHECK(held <= 8 << 20);
  CHECK(held > 5 << 20);
  // Less is allowed from now on.
  const auto cache = opened(directory.path, 3 << 20);
  CHECK(cache->state().bytes <= 3 << 20);
  CHECK(asked(*cache, 29, 0, 64, bytes.size()));
}

TEST_CASE("local cache: every byte that is changed, and every cut, is found out or does no harm") {
  const TemporaryDirectory directory;
  const std::string bytes = noise(2 * kPageBytes + 10);
  kept(directory.path, 5, 0, bytes.size(), bytes);
  const auto files = files_below(directory.path);
  REQUIRE(files.size() == 1);
  std::ifstream in(files[0], std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  const auto with = [&](const std::string& content) {
    std::ofstream(files[0], std::ios::binary | std::ios::trunc) << content;
    const auto cache = opened(directory.path);
    const auto found = asked(*cache, 5, 0, 3, bytes.size());
    if (found) REQUIRE(found->substr(0, bytes.size()) == bytes);
    return found.has_value();
  };
  REQUIRE(with(whole));
  for (std::size_t at = 0; at < whole.size(); at += at < 64 || (at >= 4096 && at < 4160) ? 1 : 997) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x40);
    INFO("byte " << at);
    const bool matters = at < 32 || (at >= 4096 && at < 4144 && at % 16 / 4 != 1) ||
                         (at >= LocalFile::kHeadBytes && at < LocalFile::kHeadBytes + bytes.size());
    CHECK(with(changed) == !matters);
  }
  for (const std::size_t length : {0ul, 31ul, 4096ul, 4100ul, 8192ul, whole.size() - 1}) {
    INFO("cut at " << length);
    CHECK(!with(whole.substr(0, length)));
  }
}

TEST_CASE(
    "local cache: who finds it taken does without until it is free; a directory of somebody else's is "
    "refused") {
  const TemporaryDirectory directory;
  const std::string bytes = noise(kPageBytes);
  auto first = opened(directory.path);
  const auto second = LocalCache::open({directory.path, kRoomy}, "store");
  REQUIRE(second);
  (*second)->keep(5, 0, bytes.size(), bytes);
  CHECK(!asked(**second, 5, 0, 1, bytes.size()));
  CHECK(!(*second)->state().is_ours);
  first->keep(5, 0, bytes.size(), bytes);
  first.reset();
  while (!(*second)->state().is_ours) std::this_thread::yield();
  CHECK(asked(**second, 5, 0, 1, bytes.size()));
  const std::string open_to_all = directory.path + "/all";
  REQUIRE(::mkdir(open_to_all.c_str(), 0777) == 0);
  REQUIRE(::chmod(open_to_all.c_str(), 0777) == 0);
  CHECK(!LocalCache::open({open_to_all, kRoomy}, "store"));
  CHECK(!LocalCache::open({directory.path + "/missing/deep", kRoomy}, "store"));
}

TEST_CASE(
    "local cache: below the pages in memory it answers before the source, and takes what the source had to "
    "give") {
  const TemporaryDirectory directory;
  const std::string bytes = noise(5 * kPageBytes + 100);
  const auto source = std::make_shared<LastingSource>(bytes);
  const auto reads = [&](LocalCache& local) {
    const auto pages = std::make_shared<PageCache>(1 << 20, &local);
    pages->prefetch(*source, 0, source->size());
    std::string out(source->size(), '?');
    REQUIRE(pages->read(*source, 0, as_writable_bytes(out)));
    pages->drain();
    return out;
  };
  {
    const auto local = opened(directory.path);
    REQUIRE(reads(*local) == bytes);
    REQUIRE(source->requests == 1);
  }
  {
    const auto local = opened(directory.path);
    REQUIRE(reads(*local) == bytes);
    CHECK(source->requests == 1);  // nothing was asked for
    source->grow("more");
    REQUIRE(reads(*local) == bytes + "more");
    CHECK(source->requests == 2);
  }
  const auto local = opened(directory.path);
  REQUIRE(reads(*local) == bytes + "more");
  CHECK(source->requests == 2);
  // Memory alone forgets what it has to read anew; what is gone is gone everywhere.
  const auto pages = std::make_shared<PageCache>(1 << 20, local.get());
  pages->drop(9, 100);
  CHECK(files_below(directory.path).size() == 1);
  pages->forget(*source);
  CHECK(files_below(directory.path).empty());
}

#ifdef CFFS_WITH_RADOS
// On a cluster that tests/mount/rados.sh makes.
TEST_CASE(
    "object store contract: a file of the table that is begun anew is another object, for a local cache "
    "too") {
  if (std::getenv("CFFS_TEST_RADOS") == nullptr) return;
  const TemporaryDirectory directory;
  const auto address = *RadosAddress::parse("rados:cffs/anew-" + std::to_string(::getpid()));
  REQUIRE(RadosStore::format(address));
  const LocalCache::Place place{directory.path + "/near", kRoomy};
  const auto in_use = [](const RadosStore& store) {
    while (!store.near_copies()->is_ours) std::this_thread::yield();
  };
  const std::string name = "table/000007.ldb";
  const auto begun = [&](RadosStore& store, const std::string& bytes) {
    const auto object = store.create(name, ObjectStore::Create::truncate);
    REQUIRE(object);
    REQUIRE((*object)->write_at(0, as_bytes(bytes)));
    REQUIRE((*object)->sync());
  };
  const auto read = [&](RadosStore& store) {
    const auto object = store.open(name);
    REQUIRE(object);
    return *read_whole(**object);
  };
  const std::string first = noise(3 * kPageBytes, 1), second = noise(3 * kPageBytes, 2);
  {
    const auto store = *RadosStore::open(address, false, place);
    in_use(*store);
    begun(*store, first);
    REQUIRE(read(*store) == first);
  }
  {  // by somebody who has no cache
    const auto store = *RadosStore::open(address, false);
    begun(*store, second);
  }
  {
    const auto store = *RadosStore::open(address, true, place);
    in_use(*store);
    CHECK(read(*store) == second);
    CHECK(read(*store) == second);
  }
  // Written over in place, as a copy does.
  REQUIRE(RadosStore::renew_id(address));
  {
    const auto store = *RadosStore::open(address, false);
    REQUIRE((*store->open(name))->write_at(0, as_bytes(first)));
  }
  const auto store = *RadosStore::open(address, true, place);
  in_use(*store);
  CHECK(read(*store) == first);
}
#endif

}  // namespace cffs::test
