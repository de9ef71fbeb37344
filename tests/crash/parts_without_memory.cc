// Memory runs out in one part of the engine: in a thread that nobody catches exceptions for, in a list that others wait for, behind a reply.
// The process goes on, and nothing that was taken is forgotten.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <new>
#include <optional>
#include <thread>
#include <vector>

#include "core/base/job_thread.h"
#include "core/fs/access_record.h"
#include "core/fs/committer.h"
#include "core/fs/content_claims.h"
#include "core/fs/dirty_objects.h"
#include "core/fs/file_system.h"
#include "core/inspect/consistency.h"
#include "core/object/memory_store.h"
#include "core/rados/page_cache.h"
#include "core/reorganise/regroup_jobs.h"
#include "core/reorganise/reorganiser.h"
#include "tests/crash/each_allocation.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

template <typename Condition>
bool comes_true(Condition condition) {
  for (int i = 0; i < 1000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return condition();
}

// A policy of whose work memory runs out.
class Greedy final : public grouping::Policy {
 public:
  grouping::PolicyId id() const override { return grouping::PolicyId::directory; }
  std::string_view name() const override { return "directory"; }
  bool makes_composites() const override { return true; }
  std::shared_ptr<const grouping::PlanGroups> plan() const override {
    if (greedy) throw std::bad_alloc();
    return nullptr;
  }
  std::vector<grouping::Group> group(const std::vector<grouping::Candidate>& candidates, std::uint64_t bytes,
                                     const grouping::ReadContent&) const override {
    if (greedy) throw std::bad_alloc();
    return grouping::group_by_directory(candidates, std::vector<bool>(candidates.size()), bytes);
  }
  std::atomic<bool> greedy{false};
};

struct GreedyStore {
  GreedyStore() {
    REQUIRE(FileSystem::format(objects, repeatable(), SystemClock()));
    FileSystemOptions options = quiet();
    options.policy = policy;
    auto opened = FileSystem::open(objects, options);
    REQUIRE(opened);
    fs = std::move(*opened);
  }
  InodeId make(const std::string& name) {
    const auto made = fs->mknod(kRootInode, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    REQUIRE(fs->write(made->ino, 0, as_bytes(std::string(2000, 'm')), kRoot));
    return made->ino;
  }
  bool is_member(const std::string& name, InodeId ino) {
    const auto file = fs->rehousing().find({kRootInode, name}, ino);
    return file && *file && (*file)->inode.home == Home::composite;
  }

  MemoryStore objects;
  std::shared_ptr<Greedy> policy = std::make_shared<Greedy>();
  std::unique_ptr<FileSystem> fs;
};

}  // namespace

TEST_CASE("a job whose memory runs out has failed, and the next one may begin", "[parts]") {
  JobThread job("a test's job");
  const auto nothing = [] {};
  const auto greedy = []() -> JobThread::State { throw std::bad_alloc(); };
  const auto good = [] { return JobThread::State{"done", ""}; };
  REQUIRE(job.start(nothing, greedy));
  job.stop();
  CHECK(job.state().state == "failed");
  CHECK_FALSE(job.state().error.empty());
  REQUIRE(job.run_here(nothing, greedy));
  CHECK(job.state().state == "failed");
  REQUIRE(job.run_here(nothing, good));
  CHECK(job.state().state == "done");
}

TEST_CASE("a job that cannot begin for want of memory is not under way for ever", "[parts]") {
  const std::string what = "a job whose name is too long to be kept in place";
  std::optional<JobThread> job;
  with_each_allocation_failing(
      [&] {
        job.emplace(what);
        // What it takes along has no room in the function itself.
        const std::array<std::uint64_t, 8> much{};
        (void)job->start([] {}, [much] { return JobThread::State{much[0] == 0 ? "done" : "failed", ""}; });
      },
      [&] {
        if (!job) return;
        job->stop();
        CHECK(job->state().state != "running");
        job.reset();
      });
}

TEST_CASE("a commit whose memory runs out is not the last one", "[parts]") {
  std::atomic<int> commits{0}, settled{0};
  auto committer = Committer::begin(
      20,
      [&] {
        ++commits;
        throw std::bad_alloc();
      },
      [&] {
        ++settled;
        throw std::bad_alloc();
      },
      [] {});
  REQUIRE(committer);
  REQUIRE(comes_true([&] { return commits > 2; }));
  (*committer)->settle_soon();
  REQUIRE(comes_true([&] { return commits > 4; }));
}

TEST_CASE("a content that could not be claimed for want of memory is nobody's", "[parts]") {
  ContentClaims claims;
  const Key content{1, 2};
  with_each_allocation_failing(
      [&] {
        ContentClaims::Held held(claims);
        (void)held.claim(content);
      },
      [&] {
        ContentClaims::Held another(claims);
        CHECK(another.claim(content) == ContentClaims::Held::Answer::taken);
        another.give_up(content);
        claims.wait_for({content});
      });
}

TEST_CASE("pages of a pool that could not be kept for want of memory are asked for anew", "[parts]") {
  class Letters final : public rados::PageCache::Source {
   public:
    rados::PageCache::ObjectNumber number() const override { return 7; }
    void fetch(std::uint64_t, std::uint64_t length,
               std::function<void(Result<std::string>)> done) const override {
      done(std::string(length, 'l'));
    }
  };
  const auto cache = std::make_shared<rados::PageCache>(std::uint64_t{1} << 20);
  const Letters source;
  std::string out(5 * rados::kPageBytes, '?');
  REQUIRE(cache->read(source, 2 * rados::kPageBytes, as_writable_bytes(out).first(1)));
  with_each_allocation_failing([&] { (void)cache->read(source, 0, as_writable_bytes(out)); },
                               [&] {
                                 cache->drain();
                                 out.assign(out.size(), '?');
                                 REQUIRE(cache->read(source, 0, as_writable_bytes(out)));
                                 CHECK(out.find_first_not_of('l') == std::string::npos);
                                 cache->drop(7,
                                             3 * rados::kPageBytes);  // so that there is a run on each side
                                 cache->drop(7, 0, 2 * rados::kPageBytes);
                               });
}

TEST_CASE("an object that could not be noted for want of memory disturbs no sync", "[parts]") {
  MemoryStore store;
  std::optional<DirtyObjects> objects;
  std::shared_ptr<Object> object = *store.create("blobs/0/1", ObjectStore::Create::keep);
  objects.emplace(10);
  with_each_allocation_failing([&] { objects->note(InodeId{1}, object); },
                               [&] {
                                 CHECK(objects->sync_all());
                                 CHECK_FALSE(objects->holds(InodeId{1}));
                                 objects->note(InodeId{1}, object);
                                 CHECK(objects->holds(InodeId{1}));
                                 CHECK(objects->sync_all());
                                 CHECK_FALSE(objects->holds(InodeId{1}));
                                 objects.emplace(10);
                               });
}

// It is noted behind the answer, which frees the request.
TEST_CASE("an access that could not be noted for want of memory throws nothing", "[parts]") {
  MemoryStore store;
  AccessRecord record(store, 1u << 20);
  fail_allocation(1, true);
  bool threw = false;
  try {
    record.note({1, InodeId{2}, 3});
  } catch (const std::bad_alloc&) {
    threw = true;
  }
  fail_allocation(0);
  CHECK_FALSE(threw);
  record.note({1, InodeId{2}, 3});
  REQUIRE(record.flush());
}

TEST_CASE("references come back without memory, too", "[parts]") {
  MemoryStore objects;
  REQUIRE(FileSystem::format(objects, repeatable(), SystemClock()));
  auto fs = FileSystem::open(objects, quiet());
  REQUIRE(fs);
  const auto made = (*fs)->mknod(kRootInode, "f", S_IFREG | 0644, 0, kRoot);
  REQUIRE(made);
  REQUIRE((*fs)->write(made->ino, 0, as_bytes(std::string(5'000'000, 'b')), kRoot));
  REQUIRE((*fs)->unlink(kRootInode, "f"));
  bool threw = false;
  fail_allocation(1, true);
  try {
    (*fs)->forget(made->ino, 1);
  } catch (const std::bad_alloc&) {
    threw = true;
  }
  fail_allocation(0);
  CHECK_FALSE(threw);
  REQUIRE((*fs)->sync());
  REQUIRE((*fs)->close());
}

TEST_CASE("a regrouping whose memory runs out has failed, and the next one may begin", "[parts]") {
  GreedyStore s;
  (void)s.make("one");
  (void)s.make("two");
  Reorganiser reorganiser(*s.fs);
  RegroupJobs jobs(reorganiser, {});
  REQUIRE(jobs.begin());
  const auto is = [&](const char* state) {
    return jobs.status_json().find("\"state\": \"" + std::string(state) + "\"") != std::string::npos;
  };
  s.policy->greedy = true;
  RegroupJobs::Job job;
  job.policy = s.policy;
  job.dry_run = true;
  REQUIRE(jobs.start(job));
  REQUIRE(comes_true([&] { return !is("running"); }));
  CHECK(is("failed"));
  s.policy->greedy = false;
  REQUIRE(jobs.start(job));
  REQUIRE(comes_true([&] { return !is("running"); }));
  CHECK(is("done"));
}

TEST_CASE("a pass whose memory runs out forgets no directory", "[parts]") {
  GreedyStore s;
  const InodeId one = s.make("one");
  s.policy->greedy = true;
  SECTION("that somebody asked for") {
    Reorganiser reorganiser(*s.fs);
    const Status done = reorganiser.consolidate_now();
    CHECK_FALSE(done);
    CHECK_FALSE(s.is_member("one", one));
    s.policy->greedy = false;
    REQUIRE(reorganiser.consolidate_now());
    CHECK(s.is_member("one", one));
  }
  SECTION("of the thread") {
    Reorganiser reorganiser(*s.fs, 0);
    REQUIRE(reorganiser.start());
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // several passes
    s.policy->greedy = false;
    CHECK(comes_true([&] { return s.is_member("one", one); }));
    reorganiser.stop();
  }
  REQUIRE(*find_inconsistencies(*s.fs) == std::vector<std::string>{});
}

// In a process of its own, which may end in order.
TEST_CASE("rows that a commit could not write for want of memory are written by the next one", "[parts]") {
  int survived = 0;
  for (std::int64_t n = 1; n < kEnough; ++n) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::set_terminate([] { ::_exit(3); });
      ::alarm(30);
      MemoryStore objects;
      if (!FileSystem::format(objects, repeatable(), SystemClock())) ::_exit(2);
      FileSystemOptions options = quiet();
      options.access_times = AccessTimes::strict;
      auto fs = std::move(*FileSystem::open(objects, options));
      std::array<InodeId, 3> files;
      AttributeChange change;
      change.atime_ns = 12'345'000'000'000;
      for (std::size_t i = 0; i < files.size(); ++i)
        files[i] = fs->mknod(kRootInode, std::to_string(i), S_IFREG | 0600, 0, kRoot)->ino;
      for (const InodeId ino : files) {
        if (!fs->setattr(ino, change, kRoot)) ::_exit(2);
      }
      if (!fs->sync()) ::_exit(2);
      for (const InodeId ino : files) fs->accessed(ino);
      std::array<std::int64_t, 3> wanted{};
      for (std::size_t i = 0; i < files.size(); ++i) wanted[i] = fs->getattr(files[i])->atime_ns;
      fail_allocation(n);
      try {
        (void)fs->sync();
      } catch (const std::bad_alloc&) {
      }
      const bool failed = allocation_failed();
      fail_allocation(0);
      if (!fs->close()) ::_exit(2);
      fs = std::move(*FileSystem::open(objects, quiet()));
      for (std::size_t i = 0; i < files.size(); ++i) {
        const auto found = fs->lookup(kRootInode, std::to_string(i));
        if (!found || found->atime_ns != wanted[i]) ::_exit(4);
      }
      ::_exit(failed ? 0 : 7);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    INFO("allocation " << n);
    REQUIRE(WIFEXITED(status));
    const int code = WEXITSTATUS(status);
    if (code == 7) {
      REQUIRE(n > 3);
      return;
    }
    CHECK((code == 0 || code == 3));
    survived += code == 0;
  }
  FAIL("it never came to its end; " << survived << " times the process went on");
}

}  // namespace cffs::test
