// Backups of a store that is written to meanwhile: each is one state of the history, between its beginning and its end.
#include "core/backup/backup.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <mutex>
#include <thread>

#include "core/inspect/consistency.h"
#include "core/reorganise/reorganiser.h"
#include "tests/model/library_surface.h"
#include "tests/model/memory_place.h"
#include "tests/model/random_operations.h"
#include "tests/model/reference.h"
#include "tests/test_options.h"
#include "tests/test_seeds.h"

namespace cffs::test {
namespace {

// Passes all on, and remembers what was asked, in order. One thread asks.
class Recorder final : public Surface {
 public:
  explicit Recorder(Surface& subject) : subject_(subject) {}

  using Call = std::function<int(Surface&)>;
  // How many have been answered; those behind may be under way.
  std::size_t answered() const { return answered_.load(); }
  std::vector<Call> calls() {
    const std::lock_guard guard(mutex_);
    return calls_;
  }

  int create(const std::string& p, mode_t m) override {
    return both([=](Surface& s) { return s.create(p, m); });
  }
  int mkdir(const std::string& p, mode_t m) override {
    return both([=](Surface& s) { return s.mkdir(p, m); });
  }
  int unlink(const std::string& p) override {
    return both([=](Surface& s) { return s.unlink(p); });
  }
  int rmdir(const std::string& p) override {
    return both([=](Surface& s) { return s.rmdir(p); });
  }
  int symlink(const std::string& t, const std::string& p) override {
    return both([=](Surface& s) { return s.symlink(t, p); });
  }
  int link(const std::string& f, const std::string& t) override {
    return both([=](Surface& s) { return s.link(f, t); });
  }
  int rename(const std::string& f, const std::string& t, unsigned flags) override {
    return both([=](Surface& s) { return s.rename(f, t, flags); });
  }
  int write(const std::string& p, std::uint64_t at, const std::string& data) override {
    return both([=](Surface& s) { return s.write(p, at, data); });
  }
  int truncate(const std::string& p, std::uint64_t size) override {
    return both([=](Surface& s) { return s.truncate(p, size); });
  }
  int allocate(const std::string& p, int flags, std::uint64_t at, std::uint64_t n) override {
    return both([=](Surface& s) { return s.allocate(p, flags, at, n); });
  }
  int copy(const std::string& f, std::uint64_t fo, const std::string& t, std::uint64_t to,
           std::uint64_t n) override {
    return both([=](Surface& s) { return s.copy(f, fo, t, to, n); });
  }
  int make_unnamed(const std::string& p, mode_t m, const std::string& data) override {
    return both([=](Surface& s) { return s.make_unnamed(p, m, data); });
  }
  int chmod(const std::string& p, mode_t m) override {
    return both([=](Surface& s) { return s.chmod(p, m); });
  }
  int set_mtime(const std::string& p, std::int64_t ns) override {
    return both([=](Surface& s) { return s.set_mtime(p, ns); });
  }
  int setxattr(const std::string& p, const std::string& n, const std::string& v) override {
    return both([=](Surface& s) { return s.setxattr(p, n, v); });
  }
  int removexattr(const std::string& p, const std::string& n) override {
    return both([=](Surface& s) { return s.removexattr(p, n); });
  }
  int read(const std::string& p, std::uint64_t at, std::size_t n, std::string& out) override {
    return subject_.read(p, at, n, out);
  }
  int hold(const std::string& p, int& handle) override {
    int theirs = 0;
    const int done = subject_.hold(p, theirs);
    if (done != 0) return done;
    handle = ++last_handle_;
    handles_[{&subject_, handle}] = theirs;
    remember([=, mine = handle, this](Surface& s) { return s.hold(p, handles_[{&s, mine}]); });
    return done;
  }
  int write_held(int h, std::uint64_t at, const std::string& data) override {
    return both([=, this](Surface& s) { return s.write_held(handles_[{&s, h}], at, data); });
  }
  int truncate_held(int h, std::uint64_t size) override {
    return both([=, this](Surface& s) { return s.truncate_held(handles_[{&s, h}], size); });
  }
  int read_held(int h, std::string& all) override {
    return subject_.read_held(handles_[{&subject_, h}], all);
  }
  void drop(int h) override {
    (void)both([=, this](Surface& s) {
      s.drop(handles_[{&s, h}]);
      return 0;
    });
  }
  Tree tree() override { return subject_.tree(); }
  void reopen() override {}
  void reorganise() override { subject_.reorganise(); }

 private:
  void announce(Call call) {
    const std::lock_guard guard(mutex_);
    calls_.push_back(std::move(call));
  }
  int answer(int result) {
    answered_.fetch_add(1);
    return result;
  }
  void remember(Call call) {
    announce(std::move(call));
    (void)answer(0);
  }
  int both(Call call) {
    announce(call);
    return answer(call(subject_));
  }

  Surface& subject_;
  std::mutex mutex_;
  std::vector<Call> calls_;
  int last_handle_ = 0;
  std::map<std::pair<Surface*, int>, int> handles_;  // each surface's own
  std::atomic<std::size_t> answered_{0};
};

bool same(const Tree& expected, const Tree& actual) {
  if (expected.size() != actual.size()) return false;
  for (const auto& [path, want] : expected) {
    const auto it = actual.find(path);
    if (it == actual.end()) return false;
    Visible got = it->second;
    if (want.mtime_ns == -1) got.mtime_ns = -1;
    got.uid = want.uid;
    got.gid = want.gid;
    if (!(got == want)) return false;
  }
  return true;
}

struct Taken {
  std::size_t before = 0, after = 0;  // calls answered when it began, begun when it ended
  std::unique_ptr<MemoryStore> store;
};

// What is seen in it; it must be clean, and nothing must remain to be done when it is opened.
Tree look(ObjectStore& store) {
  LibrarySurface copy(store, quiet(), nullptr);
  const auto problems = find_inconsistencies(copy.fs());
  REQUIRE(problems);
  CHECK(*problems == std::vector<std::string>{});
  CHECK(copy.fs().file_count().has_value());
  return copy.tree();
}

std::unique_ptr<MemoryStore> copy_of(ObjectStore& store) {
  auto copy = std::make_unique<MemoryStore>();
  const auto names = store.list("");
  for (const std::string& name : *names) {
    const auto bytes = read_whole(**store.open(name));
    REQUIRE((*copy->create(name, ObjectStore::Create::truncate))->write_at(0, as_bytes(*bytes)));
  }
  return copy;
}

// One writer at full speed; backups one after the other, each on top of the one before. False: the writer had ended before two
// were made, or none of them ran beside it.
bool backups_beside_a_writer(const StoreFormat& format, SequenceOptions sequence, bool reorganised) {
  INFO("seed " << sequence.seed);
  MemoryStore store;
  FileSystemOptions options;
  options.background = true;
  options.commit_interval_ms = 3;
  options.policy = grouping::make_policy("directory");
  LibrarySurface surface(store, options, &format);
  Recorder recorder(surface);
  sequence.compare_every = sequence.operations;
  std::string problem;
  std::atomic<bool> ended{false};
  std::thread writer([&] {
    problem = run_random_operations(recorder, sequence);
    ended.store(true);
  });
  std::thread mover([&] {
    Reorganiser reorganiser(surface.fs());
    while (reorganised && !ended.load()) (void)reorganiser.consolidate_now();
  });
  MemoryPlace place;
  std::vector<Taken> taken;
  std::string failed;
  while (!ended.load() && failed.empty()) {
    place.begin();
    Taken one;
    one.before = recorder.answered();
    const auto done = Backup(surface.fs(), place, {}).run();
    if (!done) failed = done.error().message();
    if (done && done->damaged > 0) failed = "damaged";
    one.after = recorder.calls().size();
    if (!done) break;
    one.store = copy_of(place.store());
    taken.push_back(std::move(one));
  }
  writer.join();
  mover.join();
  CHECK(failed == "");
  CHECK(problem == "");
  CHECK(store.list("held")->empty());
  const auto calls = recorder.calls();
  Reference reference;
  std::size_t done = 0;
  const auto advance = [&](std::size_t to) {
    for (; done < to; ++done) (void)calls[done](reference);
  };
  std::size_t moving = 0;
  for (const Taken& one : taken) {
    // Backups follow each other, but the state of one may be before the end of it.
    advance(std::max(done, one.before));
    const Tree tree = look(*one.store);
    bool found = same(reference.tree(), tree);
    while (!found && done < one.after) {
      advance(done + 1);
      found = same(reference.tree(), tree);
    }
    if (one.after > one.before) ++moving;
    INFO("calls " << one.before << " to " << one.after << " of " << calls.size());
    CHECK(found);
    if (!found) return true;
  }
  return taken.size() >= 2 && moving >= 1;
}

// Which of the threads runs is the machine's to say: where they did not meet, the writer has more to do.
void backups_that_meet_a_writer(const StoreFormat& format, SequenceOptions sequence, bool reorganised) {
  for (int tries = 1; !backups_beside_a_writer(format, sequence, reorganised); ++tries) {
    REQUIRE(tries < 6);
    sequence.operations *= 2;
  }
}

StoreFormat tiny_repeatable() {
  StoreFormat format;
  format.inline_max = 64;
  format.composite_file_max = 4096;
  format.composite_max = 16384;
  return repeatable(format);
}

}  // namespace

TEST_CASE("a backup beside a writer is one state of the history: small files") {
  for (const std::uint64_t seed : seeds(4)) {
    SequenceOptions sequence;
    sequence.seed = seed;
    sequence.operations = 4000;
    backups_that_meet_a_writer(tiny_repeatable(), sequence, seed % 2 == 0);
  }
}

TEST_CASE("a backup beside a writer is one state of the history: large files") {
  for (const std::uint64_t seed : seeds(4)) {
    SequenceOptions sequence;
    sequence.seed = seed;
    sequence.operations = 2500;
    sequence.largest_write = 150'000;
    sequence.largest_offset = 400'000;
    backups_that_meet_a_writer(tiny_repeatable(), sequence, seed % 2 == 0);
  }
}

}  // namespace cffs::test
