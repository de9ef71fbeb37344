// Objects of several pieces in a pool whose writer may end at any operation: what was synced is there; of what was not, each byte is one that the
// object had there since, and its end between those that it had since. Pieces of 64 KiB, so that little writing is many of them.
//   CFFS_POOL_SEEDS=n  so many sequences
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "core/rados/rados_store.h"
#include "tests/pool/memory_pool.h"

namespace cffs::test {
namespace {

constexpr std::uint64_t kPiece = 64 * 1024;
constexpr std::uint64_t kGrain = 4096;  // what is written and compared, bytes of one value

RadosAddress objects_address() { return *RadosAddress::parse("rados:cffs/objects"); }

std::shared_ptr<MemoryPool> pool_of_small_pieces() {
  auto pool = MemoryPool::make();
  pool->use();
  REQUIRE(RadosStore::format(objects_address()));
  const PoolMedium::Operation small{
      {PoolMedium::Step::Kind::set_attribute, 0, 0, "format", "cffs-rados 1 65536"}};
  REQUIRE(pool->change(pool->new_client(), "objects.head", small) == 0);
  return pool;
}

// What one object may hold after an end now.
struct Allowed {
  std::string now;
  std::vector<std::string> since;  // states since the last sync, that one first

  void changed() { since.push_back(now); }
  void synced() { since = {now}; }
  std::string problem(const std::string& found) const {
    std::size_t least = ~std::size_t{0}, most = 0;
    for (const std::string& state : since) {
      least = std::min(least, state.size());
      most = std::max(most, state.size());
    }
    if (found.size() < least || found.size() > most)
      return std::to_string(found.size()) + " bytes, not " + std::to_string(least) + " to " +
             std::to_string(most);
    for (std::size_t at = 0; at < found.size(); ++at) {
      const bool was = std::any_of(since.begin(), since.end(), [&](const std::string& state) {
        return at < state.size() ? state[at] == found[at] : found[at] == '\0';
      });
      if (!was) return "byte " + std::to_string(at) + " is one that it never had there";
    }
    return {};
  }
};

struct Point {
  PoolMedium medium;
  std::map<std::string, Allowed> objects;  // durable names
  std::set<std::string> may_be_gone, gone;
  std::string before;
};

class Sequence {
 public:
  explicit Sequence(std::uint64_t seed) : random_(seed), pool_(pool_of_small_pieces()) {
    store_ = std::move(*RadosStore::open(objects_address(), false));
    lock_ = std::move(*store_->lock("a test"));
  }
  ~Sequence() { pool_->on_change(nullptr); }

  std::vector<Point> run(int calls) {
    const auto engine = std::this_thread::get_id();
    pool_->on_change([this, engine](const std::string& what) {
      if (std::this_thread::get_id() == engine) keep(what);
    });
    for (int i = 0; i < calls; ++i) one_call();
    keep("the end");
    pool_->on_change(nullptr);
    return std::move(points_);
  }

 private:
  static constexpr const char* kNames[] = {"blobs/a", "blobs/b"};

  void keep(const std::string& before) {
    points_.push_back({pool_->medium(), objects_, may_be_gone_, gone_, before});
  }

  void one_call() {
    const std::string name = kNames[random_() % 2];
    if (!handles_.contains(name)) {
      gone_.erase(name);
      handles_[name] = *store_->create(name, ObjectStore::Create::keep);
      REQUIRE(handles_[name]->sync());
      objects_[name].synced();
      may_be_gone_.erase(name);
      return;
    }
    Object& object = *handles_[name];
    Allowed& allowed = objects_[name];
    const std::uint64_t at = random_() % (5 * kPiece / kGrain) * kGrain;
    const std::uint64_t length = (1 + random_() % (random_() % 4 == 0 ? 3 * kPiece / kGrain : 3)) * kGrain;
    switch (random_() % 12) {
      case 0:
      case 1:
      case 2:
      case 3: {
        const std::string bytes(length, static_cast<char>(1 + random_() % 255));
        if (allowed.now.size() < at + length) allowed.now.resize(at + length);
        allowed.now.replace(at, length, bytes);
        allowed.changed();
        REQUIRE(object.write_at(at, as_bytes(bytes)));
        break;
      }
      case 4:
      case 5:
        allowed.now.resize(at);
        allowed.changed();
        REQUIRE(object.truncate(at));
        break;
      case 6: {
        if (at < allowed.now.size()) {
          const std::uint64_t n = std::min<std::uint64_t>(length, allowed.now.size() - at);
          allowed.now.replace(at, n, std::string(n, '\0'));
        }
        allowed.changed();
        REQUIRE(object.punch_hole(at, length));
        break;
      }
      case 7:
        may_be_gone_.insert(name);
        REQUIRE(store_->remove(name));
        handles_.erase(name);
        REQUIRE(store_->sync_names());
        objects_.erase(name);
        may_be_gone_.erase(name);
        gone_.insert(name);
        keep("anything more");
        break;
      case 8:
        (void)*store_->open(name);
        break;
      default:
        REQUIRE(object.sync());
        allowed.synced();
    }
    if (const auto there = handles_.find(name); there != handles_.end())
      REQUIRE(*read_whole(*there->second) == objects_[name].now);
  }

  std::mt19937_64 random_;
  std::shared_ptr<MemoryPool> pool_;
  std::unique_ptr<RadosStore> store_;
  std::unique_ptr<StoreLock> lock_;
  std::map<std::string, std::shared_ptr<Object>> handles_;
  std::map<std::string, Allowed> objects_;
  std::set<std::string> may_be_gone_, gone_;
  std::vector<Point> points_;
};

// Whoever has the store next finds what may be there; and again, when it has used it.
void check(const Point& point, std::uint64_t seed) {
  const auto pool = MemoryPool::make(point.medium.cut(seed));
  pool->use();
  std::map<std::string, std::string> left;
  for (const bool again : {false, true}) {
    auto store = *RadosStore::open(objects_address(), false);
    const auto lock = store->lock("the next one");
    REQUIRE(lock);
    for (const std::string& name : point.gone) CHECK(!*store->exists(name));
    for (const auto& [name, allowed] : point.objects) {
      auto object = store->open(name);
      INFO(name << (again ? ", again" : ""));
      if (!object) {
        CHECK(point.may_be_gone.contains(name));
        continue;
      }
      const std::string found = *read_whole(**object);
      if (again) {
        CHECK(found == left[name]);
        continue;
      }
      CHECK(allowed.problem(found) == "");
      REQUIRE((*object)->truncate(found.size() + kPiece));
      REQUIRE((*object)->append(as_bytes("behind")));
      REQUIRE((*object)->sync());
      left[name] = found + std::string(kPiece, '\0') + "behind";
    }
  }
}

}  // namespace

TEST_CASE("objects of many pieces, and an end at any operation", "[pool]") {
  const char* const wanted = std::getenv("CFFS_POOL_SEEDS");
  const std::uint64_t seeds = wanted == nullptr ? 12 : std::strtoull(wanted, nullptr, 10);
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const auto points = Sequence(seed).run(60);
    for (std::size_t i = 0; i < points.size(); ++i) {
      for (const std::uint64_t how : {0u, 1u, 2u}) {
        INFO("seed " << seed << ", point " << i << " before " << points[i].before << ", cut " << how);
        check(points[i], i * 3 + how);
      }
    }
  }
}

TEST_CASE("where a change of an object in a pool fails half way, memory shows what the pool has", "[pool]") {
  constexpr std::uint64_t kCut = kPiece + 100, kPage = rados::kPageBytes;
  std::uint64_t failures = 0, cuts = 0;
  for (const bool cuts_off : {true, false}) {
    for (const bool anew : {true, false}) {  // the next program goes on, or the same one
      for (std::uint64_t nth = 1;; ++nth) {
        INFO((cuts_off ? "cut" : "punch") << ", change " << nth << (anew ? ", opened anew" : ""));
        const auto pool = pool_of_small_pieces();
        auto store = *RadosStore::open(objects_address(), false);
        auto lock = *store->lock("a test");
        auto object = *store->create("blobs/a", ObjectStore::Create::exclusive);
        REQUIRE(object->write_at(0, as_bytes(std::string(4 * kPiece, 'x'))));
        REQUIRE(object->sync());
        REQUIRE(read_whole(*object)->size() == 4 * kPiece);  // it is in memory
        pool->refuse_change(nth);
        const Status done = cuts_off ? object->truncate(kCut) : object->punch_hole(100, 3 * kPiece);
        if (done) break;
        ++failures;
        if (anew) {
          const auto left = MemoryPool::make(pool->medium().cut(1));
          object.reset();
          lock.reset();
          store.reset();
          left->use();
          store = *RadosStore::open(objects_address(), false);
          lock = *store->lock("the next one");
          object = *store->open("blobs/a");
        }
        const std::uint64_t size = object->info()->size;
        std::string memory = *read_whole(*object), pool_has(size, '?');
        REQUIRE(*object->read_medium(0, as_writable_bytes(pool_has)) == size);
        REQUIRE((memory == pool_has));
        if (!cuts_off) continue;
        cuts += size == kCut ? 1 : 0;
        // Behind the page that has the end.
        const std::uint64_t further = size / kPage * kPage + 2 * kPage;
        REQUIRE(object->write_at(further, as_bytes("y")));
        const std::string wanted = memory + std::string(further - size, '\0') + "y";
        REQUIRE((*read_whole(*object) == wanted));
      }
    }
  }
  CHECK(failures > 8);
  CHECK(cuts > 4);
}

namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30, kTiB = kGiB << 10;

// A store of small pieces, and how many of its operations changed something since it was last asked.
struct CountedPool {
  std::shared_ptr<MemoryPool> pool = pool_of_small_pieces();
  std::shared_ptr<std::atomic<std::uint64_t>> changes = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::unique_ptr<RadosStore> store;
  std::unique_ptr<StoreLock> lock;

  CountedPool() {
    pool->on_change([changes = changes](const std::string&) { ++*changes; });
    open();
  }
  ~CountedPool() { pool->on_change(nullptr); }
  void open() {
    lock.reset();
    store.reset();
    store = std::move(*RadosStore::open(objects_address(), false));
    lock = std::move(*store->lock("a test"));
  }
  std::uint64_t since() { return changes->exchange(0); }
  bool has(std::uint64_t piece) const {
    return pool->medium().find("objects.0000000000000001." + rados::hexadecimal(piece, 8)) != nullptr;
  }
};

std::string bytes_at(const Object& object, std::uint64_t offset, std::size_t bytes) {
  std::string out(bytes, '?');
  const auto n = object.read_at(offset, as_writable_bytes(out));
  REQUIRE(n);
  out.resize(*n);
  return out;
}

}  // namespace

TEST_CASE("what is done with a sparse object takes as long as what lies in it", "[pool]") {
  CountedPool counted;
  constexpr std::uint64_t kEnough = 100;  // operations
  auto object = *counted.store->create("blobs/a", ObjectStore::Create::exclusive);
  REQUIRE(object->write_at(0, as_bytes("begin")));
  (void)counted.since();
  REQUIRE(object->truncate(kTiB));
  CHECK(counted.since() < kEnough);
  REQUIRE(object->punch_hole(2, kTiB - 10));
  CHECK(counted.since() < kEnough);
  CHECK(bytes_at(*object, 0, 5) == std::string("be\0\0\0", 5));
  REQUIRE(object->truncate(0));
  CHECK(counted.since() < kEnough);
  CHECK(object->info()->size == 0);
  // Bytes far behind the others.
  REQUIRE(object->truncate(kTiB));
  REQUIRE(object->write_at(kTiB / 2 + kPiece - 3, as_bytes("middle")));  // over two pieces
  REQUIRE(object->write_at(kGiB, as_bytes("early")));
  REQUIRE(object->sync());
  (void)counted.since();
  object.reset();
  counted.open();
  object = *counted.store->open("blobs/a");
  CHECK(object->info()->size == kTiB);
  CHECK(bytes_at(*object, kTiB / 2 + kPiece - 4, 8) == std::string("\0middle\0", 8));
  CHECK(bytes_at(*object, kGiB, 5) == "early");
  (void)counted.since();
  REQUIRE(object->truncate(kTiB / 2 + kPiece - 2));
  CHECK(counted.since() < kEnough);
  REQUIRE(object->truncate(kTiB));
  CHECK(bytes_at(*object, kTiB / 2 + kPiece - 4, 8) == std::string("\0m\0\0\0\0\0\0", 8));
  CHECK(bytes_at(*object, kGiB, 5) == "early");
  REQUIRE(object->sync());
  (void)counted.since();
  REQUIRE(counted.store->remove("blobs/a"));
  object.reset();
  counted.open();
  CHECK(counted.since() < kEnough);
  for (const std::uint64_t at : {std::uint64_t{0}, kGiB, kTiB / 2, kTiB / 2 + kPiece, kTiB - 1})
    CHECK_FALSE(counted.has(at / kPiece));
}

TEST_CASE("where a change of a sparse object fails half way, nothing that was cut off comes back", "[pool]") {
  constexpr std::uint64_t kCut = kPiece + 100, kFirst = 100 * kPiece, kSecond = 300 * kPiece;
  std::uint64_t failures = 0;
  for (const bool anew : {true, false}) {
    for (std::uint64_t nth = 1;; ++nth) {
      INFO("change " << nth << (anew ? ", opened anew" : ""));
      CountedPool counted;
      auto object = *counted.store->create("blobs/a", ObjectStore::Create::exclusive);
      for (const std::uint64_t at : {std::uint64_t{0}, kFirst, kSecond})
        REQUIRE(object->write_at(at, as_bytes("bytes")));
      REQUIRE(object->sync());
      counted.pool->refuse_change(nth);
      const bool done = object->truncate(kCut).has_value();
      counted.pool->refuse_change(0);
      failures += done ? 0 : 1;
      if (anew) {
        object.reset();
        counted.open();
        object = *counted.store->open("blobs/a");
      }
      const bool is_cut = object->info()->size == kCut;
      REQUIRE((is_cut || (!done && object->info()->size == kSecond + 5)));
      REQUIRE(object->truncate(2 * kSecond));
      for (const std::uint64_t at : {kFirst, kSecond})
        CHECK(bytes_at(*object, at, 5) == (is_cut ? std::string(5, '\0') : "bytes"));
      CHECK(bytes_at(*object, 0, 5) == "bytes");
      if (done) break;
    }
  }
  CHECK(failures > 8);
}

TEST_CASE("an object in a pool ends somewhere, and what is as long as that opens again", "[pool]") {
  CountedPool counted;
  auto object = *counted.store->create("blobs/a", ObjectStore::Create::exclusive);
  REQUIRE(object->write_at(0, as_bytes("begin")));
  for (const std::uint64_t end : {16 * kTiB + 1, std::uint64_t{5} << 60}) {
    CHECK(object->truncate(end).error().errno_value == EFBIG);
    CHECK(object->write_at(end - 1, as_bytes("x")).error().errno_value == EFBIG);
  }
  CHECK(object->info()->size == 5);
  for (const std::uint64_t end : {12 * kTiB, 13 * kTiB, 16 * kTiB}) {
    REQUIRE(object->truncate(end));
    REQUIRE(object->sync());
    object.reset();
    counted.open();
    object = *counted.store->open("blobs/a");
    CHECK(object->info()->size == end);
    CHECK(bytes_at(*object, 0, 5) == "begin");
  }
}

// Programs before this one let it grow to 8 EiB, and said of all pieces to its end, or to twice that, that they might be there.
TEST_CASE("an object that an earlier program let grow beyond all bounds opens", "[pool]") {
  using Kind = PoolMedium::Step::Kind;
  CountedPool counted;
  auto object = *counted.store->create("blobs/a", ObjectStore::Create::exclusive);
  REQUIRE(object->write_at(0, as_bytes("begin")));
  REQUIRE(object->sync());
  object.reset();
  counted.lock.reset();
  counted.store.reset();
  const std::uint64_t last = (std::uint64_t{1} << 63) / kPiece - 1;
  const std::string name = "objects.0000000000000001.";
  const auto client = counted.pool->new_client();
  REQUIRE(counted.pool->change(client, name + rados::hexadecimal(last, 8),
                               {{Kind::write, 0, 3, "", "end"}}) == 0);
  for (const std::uint64_t bound : {last + 1, last + 1000}) {
    REQUIRE(counted.pool->change(client, name + "00000000",
                                 {{Kind::set_attribute, 0, 0, "bound", std::to_string(bound)}}) == 0);
    counted.open();
    object = *counted.store->open("blobs/a");
    CHECK(object->info()->size == last * kPiece + 3);
    CHECK(bytes_at(*object, 0, 5) == "begin");
    object.reset();
  }
  // Its pieces are looked for longer than anybody waits for a store to be closed: whoever opens it next goes on.
  REQUIRE(counted.store->remove("blobs/a"));
  counted.lock.reset();
  counted.store.reset();
  CHECK_FALSE(counted.has(last));
  REQUIRE(counted.has(0));
  const std::string left = counted.pool->medium().find(name + "00000000")->attributes.at("bound");
  CHECK(std::stoull(left) < last);
  CHECK(std::stoull(left) > 1);
}

TEST_CASE("an operation that was never started keeps nobody waiting", "[pool]") {
  rados::Together all;
  { const auto told = all.one(); }
  CHECK(all.wait() == ENOMEM);
  rados::Together others;
  { const auto told = others.one(0); }
  const auto told = others.one();
  told(0);
  CHECK(others.wait() == 0);
}

}  // namespace cffs::test
