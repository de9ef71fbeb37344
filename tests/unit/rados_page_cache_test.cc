// What a store in a Ceph pool keeps of what it read (core/rados/page_cache.h), on a source that answers when it is told to.
#include <catch2/catch.hpp>
#include <deque>
#include <new>
#include <thread>

#include "core/rados/address.h"
#include "core/rados/page_cache.h"

namespace cffs::test {
namespace {

using rados::kPageBytes;
using rados::PageCache;

// Holds back its answers until they are let go, or gives them at once.
class SlowSource final : public PageCache::Source {
 public:
  explicit SlowSource(std::string bytes, bool at_once = true) : bytes_(std::move(bytes)), at_once_(at_once) {}
  PageCache::ObjectNumber number() const override { return 7; }
  void fetch(std::uint64_t offset, std::uint64_t length,
             std::function<void(Result<std::string>)> done) const override {
    const MutexLock guard(mutex_);
    ++requests_;
    const std::size_t begin = std::min<std::size_t>(offset, bytes_.size());
    waiting_.emplace_back(bytes_.substr(begin, length), std::move(done));
    if (at_once_) answer_first();
  }
  void answer() {
    const MutexLock guard(mutex_);
    while (!waiting_.empty()) answer_first();
  }
  void fail_first(int code) {
    const MutexLock guard(mutex_);
    const auto done = std::move(waiting_.front().second);
    waiting_.pop_front();
    done(fail(code, "the source"));
  }
  void become(std::string bytes) {
    const MutexLock guard(mutex_);
    bytes_ = std::move(bytes);
  }
  std::size_t waiting() const {
    const MutexLock guard(mutex_);
    return waiting_.size();
  }
  std::size_t requests() const {
    const MutexLock guard(mutex_);
    return requests_;
  }

 private:
  void answer_first() const CFFS_REQUIRES(mutex_) {
    auto [bytes, done] = std::move(waiting_.front());
    waiting_.pop_front();
    done(std::move(bytes));
  }
  mutable Mutex mutex_;
  std::string bytes_ CFFS_GUARDED_BY(mutex_);
  const bool at_once_;
  mutable std::deque<std::pair<std::string, std::function<void(Result<std::string>)>>> waiting_
      CFFS_GUARDED_BY(mutex_);
  mutable std::size_t requests_ CFFS_GUARDED_BY(mutex_) = 0;
};

std::string letters(std::size_t n) {
  std::string text(n, ' ');
  for (std::size_t i = 0; i < n; ++i) text[i] = static_cast<char>('a' + i / 100 % 26);
  return text;
}

void wait_for_requests(const SlowSource& source, std::size_t n) {
  while (source.waiting() < n) std::this_thread::yield();
}

}  // namespace

TEST_CASE("pages: what was read once is not asked for again, and a range is one request") {
  const auto cache = std::make_shared<PageCache>(1 << 20);
  const std::string all = letters(10 * kPageBytes + 100);
  const SlowSource source(all);
  std::string out(3 * kPageBytes, '?');
  REQUIRE(!cache->read_if_here(7, 5000, as_writable_bytes(out)));
  REQUIRE(cache->read(source, 5000, as_writable_bytes(out)));
  REQUIRE(out == all.substr(5000, out.size()));
  REQUIRE(source.requests() == 1);
  REQUIRE(cache->read_if_here(7, 5000, as_writable_bytes(out)));
  REQUIRE(cache->share(7, 0, 8 * kPageBytes) == 0.5);  // four of eight
  cache->prefetch(source, 0, 8 * kPageBytes);
  REQUIRE(source.requests() == 2);  // the other four, together
  REQUIRE(cache->share(7, 0, 8 * kPageBytes) == 1);
  // Behind the source's end are zeros.
  std::string end(200, '?');
  REQUIRE(cache->read(source, 10 * kPageBytes, as_writable_bytes(end)));
  REQUIRE(end == all.substr(10 * kPageBytes) + std::string(100, '\0'));
}

TEST_CASE("pages: it takes no more than it may, and what was used last stays") {
  const auto cache = std::make_shared<PageCache>(16 * kPageBytes);
  const SlowSource source(letters(100 * kPageBytes));
  std::string page(kPageBytes, '?');
  for (std::uint64_t i = 0; i < 100; ++i) {
    REQUIRE(cache->read(source, i * kPageBytes, as_writable_bytes(page)));
    REQUIRE(cache->read(source, 0, as_writable_bytes(page)));
  }
  REQUIRE(cache->share(7, 0, 100 * kPageBytes) == 0.16);
  REQUIRE(source.requests() == 100);  // the first page once
  // A range that is larger than all of it.
  std::string most(40 * kPageBytes, '?');
  REQUIRE(cache->read(source, 0, as_writable_bytes(most)));
  REQUIRE(most == letters(40 * kPageBytes));
}

TEST_CASE("pages: who reads while something arrives waits for it, and asks no more") {
  const auto cache = std::make_shared<PageCache>(1 << 20);
  SlowSource source(letters(4 * kPageBytes), false);
  cache->prefetch(source, 0, 4 * kPageBytes);
  std::string out(kPageBytes, '?');
  std::thread reader([&] {
    if (!cache->read(source, kPageBytes, as_writable_bytes(out))) std::abort();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  REQUIRE(source.requests() == 1);
  source.answer();
  reader.join();
  REQUIRE(out == letters(2 * kPageBytes).substr(kPageBytes));
  REQUIRE(source.requests() == 1);
}

TEST_CASE("pages: an answer that was on its way when the range was written is not shown") {
  const auto cache = std::make_shared<PageCache>(1 << 20);
  SlowSource source(std::string(kPageBytes, 'o'), false);
  cache->prefetch(source, 0, kPageBytes);
  std::string out(kPageBytes, '?');
  std::thread reader([&] {
    if (!cache->read(source, 0, as_writable_bytes(out))) std::abort();
  });
  source.become(std::string(kPageBytes, 'n'));
  cache->drop(7, 10, 5);  // written, and the old answer comes after that
  source.answer();
  wait_for_requests(source, 1);
  source.answer();
  reader.join();
  REQUIRE(out == std::string(kPageBytes, 'n'));
  REQUIRE(source.requests() == 2);
  // What is here goes at once, and only that.
  cache->drop(7, 0);
  REQUIRE(cache->share(7, 0, kPageBytes) == 0);
}

TEST_CASE("pages: an error is whoever's who waits for it, and not kept") {
  const auto cache = std::make_shared<PageCache>(1 << 20);
  SlowSource source(letters(kPageBytes), false);
  Status status;
  std::string out(100, '?');
  std::thread reader([&] { status = cache->read(source, 0, as_writable_bytes(out)); });
  wait_for_requests(source, 1);
  source.fail_first(EIO);
  reader.join();
  REQUIRE((!status && status.error().errno_value == EIO));
  // Nor one of what nobody waited for.
  cache->prefetch(source, 0, kPageBytes);
  source.fail_first(EIO);
  std::thread again([&] { status = cache->read(source, 0, as_writable_bytes(out)); });
  wait_for_requests(source, 1);
  source.answer();
  again.join();
  REQUIRE(status);
  REQUIRE(out == letters(100));
}

// What was asked for may have failed before who asked looks for it.
TEST_CASE("pages: a source that refuses at once is asked once") {
  class Refusing final : public PageCache::Source {
   public:
    PageCache::ObjectNumber number() const override { return 7; }
    void fetch(std::uint64_t, std::uint64_t, std::function<void(Result<std::string>)> done) const override {
      if (++requests > 3) std::abort();
      done(fail(ESHUTDOWN, "the source"));
    }
    mutable int requests = 0;
  };
  const auto cache = std::make_shared<PageCache>(1 << 20);
  const Refusing source;
  std::string out(100, '?');
  const Status refused = cache->read(source, 0, as_writable_bytes(out));
  REQUIRE_FALSE(refused);
  REQUIRE(refused.error().errno_value == ESHUTDOWN);
  REQUIRE(source.requests == 1);
}

TEST_CASE("pages: what could not be asked for in want of memory is asked for anew, and nobody waits for it") {
  class Greedy final : public PageCache::Source {
   public:
    PageCache::ObjectNumber number() const override { return 7; }
    void fetch(std::uint64_t offset, std::uint64_t length,
               std::function<void(Result<std::string>)> done) const override {
      if (++requests == greedy_at) throw std::bad_alloc();
      done(letters(10 * kPageBytes).substr(offset, length));
    }
    mutable int requests = 0;
    int greedy_at = 0;
  };
  const auto cache = std::make_shared<PageCache>(1 << 20);
  Greedy source;
  std::string out(kPageBytes, '?');
  // What is absent is in three runs, of which the second one fails.
  for (const std::uint64_t page : {1, 3})
    REQUIRE(cache->read(source, page * kPageBytes, as_writable_bytes(out)));
  source.greedy_at = source.requests + 2;
  out.assign(5 * kPageBytes, '?');
  REQUIRE_THROWS_AS(cache->read(source, 0, as_writable_bytes(out)), std::bad_alloc);
  cache->drain();
  REQUIRE(cache->read(source, 0, as_writable_bytes(out)));
  REQUIRE(out == letters(out.size()));
  cache->drop(7, 0);
  source.greedy_at = source.requests + 1;
  REQUIRE_THROWS_AS(cache->prefetch(source, 0, kPageBytes), std::bad_alloc);
  cache->clear();
  REQUIRE(cache->read(source, 0, as_writable_bytes(out)));
}

TEST_CASE("addresses of stores in a Ceph pool") {
  const auto address = RadosAddress::parse("rados:web/site");
  REQUIRE(address);
  REQUIRE((address->pool == "web" && address->name == "site" && address->pool_namespace.empty()));
  const auto full = RadosAddress::parse("rados:web/eu/site-1:conf=/etc/c.conf:id=me");
  REQUIRE(full);
  REQUIRE((full->pool_namespace == "eu" && full->name == "site-1" && full->id == "me" &&
           full->conf == "/etc/c.conf"));
  REQUIRE(full->text() == "rados:web/eu/site-1:id=me:conf=/etc/c.conf");
  REQUIRE(RadosAddress::parse(full->text())->text() == full->text());
  for (const char* wrong : {"rados:", "rados:web", "rados:/site", "rados:web/", "rados:web/a.b",
                            "rados:web//site", "rados:a/b/c/d", "rados:web/site:foo=1", "rados:web/site:id=",
                            "rados:web/site:id=a:id=b", "web/site", "rados:web/site:"}) {
    INFO(wrong);
    const auto parsed = RadosAddress::parse(wrong);
    REQUIRE(!parsed);
    REQUIRE(parsed.error().kind == ErrorKind::usage);
    REQUIRE(parsed.error().message().find("rados:POOL/NAME") != std::string::npos);
  }
}

}  // namespace cffs::test
