// The medium becomes full, or descriptors run out, at any moment of a workload, for a while. Each call answers with that errno or succeeds, what
// was acknowledged is there, and when the shortage is over the store goes on: nobody has to open it again.
//   CFFS_SHORTAGE=n   from this operation on alone
#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <set>

#include "core/inspect/consistency.h"
#include "core/reorganise/reorganiser.h"
#include "tests/crash/calls.h"
#include "tests/crash/session.h"
#include "tests/crash/survival.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

constexpr std::uint64_t kMedium = 8u << 20;  // bytes; an eighth is kept for the table

// Writes enough rows that LevelDB turns to another log several times; every call on library and reference.
class ScarceRun {
 public:
  ScarceRun(Session& session, int allowed) : session_(session), allowed_(allowed) {}

  void run(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      const std::string name = "file" + std::to_string(i);
      const std::size_t length = i % 5 == 4 ? 20'000 : 3'500;
      if (call([&](Surface& s) { return s.create(name, 0600); }) != 0) continue;
      if (call([&](Surface& s) { return s.write(name, 0, pattern(length, i)); }) != 0) torn_.insert(name);
      if (i % 6 == 2)
        (void)call([&](Surface& s) { return s.rename(name, "renamed" + std::to_string(i), 0); });
      if (i % 7 == 3) (void)call([&](Surface& s) { return s.unlink("file" + std::to_string(i - 1)); });
      if (i % 10 == 9) answered(session_.fs().sync());
      if (i % 20 == 15) answered(Reorganiser(session_.fs()).consolidate_now());
    }
  }

  // After the shortage: everything works, and is as the reference says.
  void goes_on() {
    allowed_ = 0;
    run_on_ = true;
    REQUIRE(call([](Surface& s) { return s.create("after", 0600); }) == 0);
    REQUIRE(call([](Surface& s) { return s.write("after", 0, pattern(30'000, 1)); }) == 0);
    REQUIRE(session_.fs().sync());
    session_.surface().reorganise();
    compare();
    session_.close();
    REQUIRE(session_.open());
    compare();
    const auto problems = find_inconsistencies(session_.fs());
    REQUIRE(problems);
    REQUIRE(*problems == std::vector<std::string>{});
  }

  void remove_everything() {
    for (const auto& [path, v] : reference_.tree()) {
      if (S_ISREG(v.mode)) REQUIRE(call([&](Surface& s) { return s.unlink(path); }) == 0);
    }
  }

 private:
  int call(const std::function<int(Surface&)>& what) {
    const int got = what(session_.surface());
    if (got == 0 || run_on_) {
      REQUIRE(what(reference_) == got);
      return got;
    }
    if (got != allowed_) REQUIRE(what(reference_) == got);  // ENOENT of what was not made
    return got;
  }
  void answered(const Status& done) {
    INFO((done ? "" : done.error().message()));
    if (!done) REQUIRE(done.error().errno_value == allowed_);
  }

  void compare() {
    const auto found = observe(session_.fs());
    REQUIRE(found);
    const Tree tree = reference_.tree();
    REQUIRE(found->size() == tree.size());
    for (const auto& [path, v] : tree) {
      INFO(path);
      const auto there = found->find(path);
      REQUIRE(there != found->end());
      REQUIRE(there->second.what.mode == v.mode);
      if (!torn_.contains(path)) REQUIRE((there->second.what.content == v.content));
    }
  }

  Session& session_;
  Reference reference_;
  int allowed_;
  bool run_on_ = false;
  std::set<std::string> torn_;  // large files of which a part may be there
};

CrashMedium empty_store() {
  CrashStore store;
  REQUIRE(FileSystem::format(store, small_format(), SystemClock()));
  return store.medium();
}

// Zeros are written by as many commits as it takes.
void hold_reserve(Session& session) {
  std::uint64_t before = 0;
  do {
    before = session.store().used();
    REQUIRE(session.fs().sync());
  } while (session.store().used() != before);
}

// Those to try: one, or every so many.
template <typename Try>
void each_moment(std::uint64_t last, std::uint64_t step, Try attempt) {
  const char* one = std::getenv("CFFS_SHORTAGE");
  if (one != nullptr) return attempt(std::strtoull(one, nullptr, 10));
  for (std::uint64_t n = 1; n < last; n += step) attempt(n);
}

// Files that end in composites, on a medium of which nine tenths are taken.
class NearlyFull {
 public:
  explicit NearlyFull(unsigned seed) : random_(seed) {
    StoreFormat format;
    format.composite_file_max = 256u << 10;
    format.composite_max = 2u << 20;
    store_.set_capacity(kBytes);
    begin(&format);
    REQUIRE(surface_->fs().sync());  // the reserve is there
    while (used() < kBytes * 85 / 100) {
      REQUIRE(add() == 0);
      if (next_ % 50 == 0) consolidate();
    }
    consolidate();
  }
  int add() {
    const std::string name = "file" + std::to_string(next_);
    int result = surface_->create(name, 0600);
    if (result == 0) result = surface_->write(name, 0, pattern(kLength, next_));
    if (result == 0) {
      there_.push_back(next_++);
    } else {
      (void)surface_->unlink(name);
    }
    return result;
  }
  void remove_one() {
    const std::size_t i = random_() % there_.size();
    REQUIRE(surface_->unlink("file" + std::to_string(there_[i])) == 0);
    there_[i] = there_.back();
    there_.pop_back();
  }
  void consolidate() {
    const Status consolidated = reorganiser_->consolidate_now();
    INFO((consolidated ? "" : consolidated.error().message()));
    REQUIRE(consolidated);
    REQUIRE(surface_->fs().sync());  // what was staged goes
  }
  void reopen() {
    reorganiser_.reset();
    surface_.reset();
    begin(nullptr);
  }
  std::uint64_t used() { return store_.used(); }
  void expect_whole() {
    for (const int i : there_) {
      std::string content;
      REQUIRE(surface_->read("file" + std::to_string(i), 0, kLength, content) == 0);
      REQUIRE((content == pattern(kLength, i)));
    }
    const auto problems = find_inconsistencies(surface_->fs());
    REQUIRE(problems);
    REQUIRE(*problems == std::vector<std::string>{});
  }

 private:
  static constexpr std::size_t kLength = 200'000;
  static constexpr std::uint64_t kBytes = 16 * kMedium;

  void begin(const StoreFormat* format) {
    FileSystemOptions options = quiet();
    options.boot_id = "boot";
    surface_.emplace(store_, options, format);
    reorganiser_.emplace(surface_->fs());
  }

  CrashStore store_;
  std::optional<LibrarySurface> surface_;
  std::optional<Reorganiser> reorganiser_;  // gone before it
  int next_ = 0;
  std::vector<int> there_;
  std::minstd_rand random_;
};

}  // namespace

TEST_CASE("descriptors run out at any moment, for a while, and the store goes on", "[shortage]") {
  const CrashMedium medium = empty_store();
  for (const std::uint64_t lasts : {1u, 3u, 40u}) {
    each_moment(90, 1, [&](std::uint64_t n) {
      INFO("CFFS_SHORTAGE=" << n << ", for " << lasts << " handles");
      Session session(medium, n % 3);
      REQUIRE(session.open());
      ScarceRun workload(session, EMFILE);
      session.store().refuse_handles(n, lasts);
      workload.run(60);
      session.store().refuse_handles(0, 0);
      workload.goes_on();
    });
  }
}

TEST_CASE("another takes all room at any moment, for a while, and the store goes on", "[shortage]") {
  const CrashMedium medium = empty_store();
  const bool allocates = GENERATE(true, false);
  each_moment(400, 5, [&](std::uint64_t n) {
    INFO("CFFS_SHORTAGE=" << n << (allocates ? "" : ", without fallocate"));
    Session session(medium, n % 3);
    if (!allocates) session.store().refuse_to_allocate();
    session.store().set_capacity(kMedium);
    REQUIRE(session.open());
    hold_reserve(session);
    std::uint64_t changes = 0;
    session.told([&](const std::string&) {
      if (++changes == n) session.store().set_capacity(session.store().used());
    });
    ScarceRun workload(session, ENOSPC);
    workload.run(60);
    session.told(nullptr);
    if (n % 2 == 0) workload.remove_everything();  // which works while there is no room
    session.store().set_capacity(kMedium);
    workload.goes_on();
  });
}

// What waits for consolidation is in the table: LevelDB has most of the medium in hand when the room ends.
TEST_CASE("a medium full of small files, the last of it taken by another, gives back what is removed",
          "[shortage]") {
  const CrashMedium medium = empty_store();
  struct Disk {
    std::uint64_t megabytes, delay;
  };
  const bool allocates = GENERATE(true, false);
  for (const auto& [megabytes, delay] : {Disk{32, 0}, Disk{32, 100}, Disk{128, 1}}) {
    INFO(megabytes << " MiB, LevelDB's work " << delay << " appends late"
                   << (allocates ? "" : ", without fallocate"));
    Session session(medium, delay);
    if (!allocates) session.store().refuse_to_allocate();
    session.write_buffer(0);
    session.store().set_capacity(megabytes << 20);
    REQUIRE(session.open());
    hold_reserve(session);
    LibrarySurface& s = session.surface();
    int files = 0;
    for (int made = 0; made == 0; ++files) {
      const std::string name = "file" + std::to_string(files);
      made = s.create(name, 0600);
      if (made == 0)
        made = s.write(name, 0, pattern(500 + static_cast<std::size_t>(files) * 37 % 3'500, files));
      if (files % 1000 == 999) REQUIRE(session.fs().sync());
      if (made != 0) REQUIRE(made == ENOSPC);
    }
    session.store().set_capacity(session.store().used());
    std::mt19937 random(static_cast<std::uint32_t>(delay));
    for (int i = 0; i < files - 1; ++i) {
      if (random() % 3 == 0) continue;
      INFO("file " << i << " of " << files);
      REQUIRE(s.unlink("file" + std::to_string(i)) == 0);
      if (i % 1000 == 999) REQUIRE(session.fs().sync());
    }
    REQUIRE(session.fs().sync());
    session.compact_table();
    REQUIRE(session.fs().sync());
    REQUIRE(s.create("after", 0600) == 0);
    REQUIRE(s.write("after", 0, pattern(3'000'000, 1)) == 0);
  }
}

// What goes from a composite leaves its room there: whoever is short of room has it given back.
TEST_CASE("on a nearly full medium files come and go for as long as anybody likes", "[shortage]") {
  // With these a consolidation failed on the way once, and left a composite behind that nothing named.
  const unsigned seed = GENERATE(1u, 9u);
  NearlyFull medium(seed);
  for (int round = 0; round < 1500; ++round) {
    INFO("seed " << seed << ", round " << round << ", used " << medium.used());
    medium.remove_one();
    REQUIRE(medium.add() == 0);
    if (round % 100 == 99) medium.consolidate();
  }
  medium.expect_whole();
}

TEST_CASE("room that an earlier user of the store freed is given back to who is short of it", "[shortage]") {
  NearlyFull medium(1);
  for (int i = 0; i < 100; ++i) medium.remove_one();
  medium.reopen();
  for (int i = 0; i < 100; ++i) {
    INFO("again " << i << ", used " << medium.used());
    REQUIRE(medium.add() == 0);
  }
  medium.expect_whole();
}

}  // namespace cffs::test
