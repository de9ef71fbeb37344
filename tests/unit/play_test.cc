// Schedules and players: whatever the threads do, outcomes are the trace's.
#include <fcntl.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <random>

#include "core/fs/file_system.h"
#include "core/object/memory_store.h"
#include "replay/model/content.h"
#include "replay/play/make_tree.h"
#include "replay/play/renaming.h"
#include "replay/play/replay.h"
#include "tests/test_options.h"
#include "tests/test_seeds.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::replay::test {
namespace {

using cffs::test::TemporaryDirectory;

// A random trace of several clients on few names, with outcomes as the model has them: as a recording would be.
Trace random_trace(std::uint64_t seed, int operations) {
  std::mt19937_64 random(seed);
  Trace trace;
  trace.about["root"] = "/";
  const auto name = [&] {
    const std::string directory = random() % 3 == 0 ? "" : "d" + std::to_string(random() % 3) + "/";
    return trace.intern(directory + "n" + std::to_string(random() % 6));
  };
  for (const char* directory : {"d0", "d1"})
    trace.initial.push_back({trace.intern(directory), 'd', 0755, 0, {}});
  trace.initial.push_back({trace.intern("d0/n1"), 'f', 0644, 3000, {}});
  ModelTree model(ModelTree::Mode::replays, "/");
  for (const InitialEntry& e : trace.initial) model.add(trace.path(e.path), e);
  std::vector<std::uint32_t> open;
  std::uint32_t handles = 0;
  while (static_cast<int>(trace.operations.size()) < operations) {
    Operation o;
    o.client = trace.client("c" + std::to_string(random() % 6));
    o.time_ns = static_cast<std::int64_t>(trace.operations.size()) * 1000;
    o.path = name();
    switch (random() % 14) {
      case 0:
        o.call = Call::mkdir;
        o.mode = 0755;
        o.path = trace.intern("d" + std::to_string(random() % 3));
        break;
      case 1:
        o.call = Call::unlink;
        break;
      case 2:
        o.call = Call::rename;
        o.path2 = name();
        break;
      case 3:
        o.call = Call::link;
        o.path2 = name();
        break;
      case 4:
        o.call = Call::stat;
        break;
      case 5:
        o.call = Call::readdir;
        o.path = trace.intern(random() % 2 == 0 ? "" : "d" + std::to_string(random() % 3));
        break;
      case 6:
        o.call = Call::fetch;
        break;
      case 7:
        o.call = Call::rmdir;
        o.path = trace.intern("d" + std::to_string(random() % 3));
        break;
      case 8:
        o.call = Call::truncate;
        o.length = random() % 5000;
        break;
      case 9:
      case 10:
        o.call = Call::open;
        o.flags = O_RDWR | (random() % 2 == 0 ? O_CREAT : 0) | (random() % 4 == 0 ? O_TRUNC : 0);
        o.mode = 0644;
        o.handle = ++handles;
        break;
      default:
        if (open.empty()) continue;
        o.path = kNoPath;
        o.handle = open[random() % open.size()];
        o.call = random() % 4 == 0 ? Call::close : random() % 2 == 0 ? Call::read : Call::write;
        o.offset = random() % 3000;
        o.length = 1 + random() % 3000;
        break;
    }
    if (o.call == Call::write) o.result = static_cast<std::int64_t>(o.length);
    const Outcome outcome = model.apply(o, trace, trace.operations.size() + 1, nullptr);
    o.result = outcome.error != 0     ? -outcome.error
               : o.call == Call::read ? static_cast<std::int64_t>(outcome.length)
                                      : o.result;
    if (o.call == Call::open && outcome.error == 0) open.push_back(o.handle);
    if (o.call == Call::open && outcome.error != 0) o.handle = kNoHandle;
    if (o.call == Call::close) std::erase(open, o.handle);
    trace.operations.push_back(o);
  }
  return trace;
}

void play_everywhere(const Trace& trace, Target& target, unsigned threads) {
  ScheduleOptions options;
  options.threads = threads;
  const Schedule schedule = make_schedule(trace, options);
  REQUIRE(schedule.left_out == 0);
  REQUIRE(schedule.unexplained == 0);
  REQUIRE(schedule.operations == trace.operations.size());
  REQUIRE(make_tree(trace, target));
  Player player(trace, schedule, &target);
  const PlayReport report = player.play({});
  INFO(threads << " threads: " << report.first_problem);
  REQUIRE(report.problems() == 0);
  REQUIRE(report.operations == trace.operations.size());
  REQUIRE(report.all().count() == report.operations);
}

}  // namespace

TEST_CASE("random traces come out the same with any number of threads, on a directory and on the library") {
  for (const std::uint64_t seed : cffs::test::seeds(30)) {
    INFO("CFFS_TEST_SEED=" << seed);
    const Trace trace = random_trace(seed, 600);
    for (const unsigned threads : {1u, 2u, 5u}) {
      const TemporaryDirectory directory;
      const auto target = make_directory_target(directory.path);
      REQUIRE(target);
      play_everywhere(trace, **target, threads);
      MemoryStore store;
      REQUIRE(FileSystem::format(store, cffs::test::repeatable(), SystemClock()));
      FileSystemOptions options;
      options.background = false;
      const auto fs = FileSystem::open(store, options);
      REQUIRE(fs);
      {
        const auto library = threads == 2 ? make_predict_target(**fs, "") : make_library_target(**fs, "");
        REQUIRE(library);
        play_everywhere(trace, **library, threads);
      }
      REQUIRE((*fs)->close());
    }
  }
}

TEST_CASE("pipes are replayed as files, handles as they were opened, attributes of links on the links") {
  Trace trace;
  trace.about["root"] = "/";
  const auto does = [&](Call call, const char* path, std::uint32_t handle, std::uint32_t flags,
                        std::int64_t result) {
    Operation o;
    o.call = call;
    o.client = trace.client("c");
    if (path != nullptr) o.path = trace.intern(path);
    o.handle = handle;
    o.flags = flags;
    o.result = result;
    o.length = call == Call::read || call == Call::write || call == Call::truncate ? 5 : 0;
    if (call == Call::mknod) o.mode = S_IFIFO | 0600;
    if (call == Call::symlink) o.path2 = trace.intern("nowhere");
    trace.operations.push_back(o);
  };
  does(Call::mknod, "pipe", kNoHandle, 0, 0);
  does(Call::open, "pipe", 1, O_RDONLY, 0);
  does(Call::open, "pipe", 2, O_WRONLY, 0);
  does(Call::write, nullptr, 2, 0, 5);
  does(Call::read, nullptr, 1, 0, 5);
  does(Call::stat, "pipe", kNoHandle, 0, 0);
  does(Call::write, nullptr, 1, 0, -EBADF);
  does(Call::read, nullptr, 2, 0, -EBADF);
  does(Call::truncate, nullptr, 1, 0, -EINVAL);
  does(Call::open, "pipe", 3, O_PATH, 0);
  does(Call::read, nullptr, 3, 0, -EBADF);
  does(Call::symlink, "link", kNoHandle, 0, 0);
  does(Call::chown, "link", kNoHandle, 0, 0);
  does(Call::utimens, "link", kNoHandle, 0, 0);
  does(Call::open, "link", kNoHandle, O_NOFOLLOW, -ELOOP);
  does(Call::open, "link", kNoHandle, O_NOFOLLOW | O_DIRECTORY, -ENOTDIR);
  const TemporaryDirectory directory;
  const auto on_directory = make_directory_target(directory.path);
  MemoryStore objects;
  REQUIRE(FileSystem::format(objects, cffs::test::repeatable(), SystemClock()));
  const auto fs = FileSystem::open(objects, {});
  REQUIRE(fs);
  const auto on_library = make_library_target(**fs, "");
  play_everywhere(trace, **on_directory, 1);
  play_everywhere(trace, **on_library, 1);
}

TEST_CASE("the same traces come out wrong without the waits") {
  for (const std::uint64_t seed : cffs::test::seeds(30)) {
    INFO("CFFS_TEST_SEED=" << seed);
    const Trace trace = random_trace(seed, 600);
    ScheduleOptions options;
    options.threads = 5;
    const Schedule whole = make_schedule(trace, options);
    const TemporaryDirectory directory;
    const auto target = make_directory_target(directory.path);
    REQUIRE(target);
    REQUIRE(make_tree(trace, **target));
    // As if the system ran one thread after the other: nothing but waits keeps it from doing so.
    std::uint64_t problems = 0;
    for (const std::vector<Step>& steps : whole.threads) {
      Schedule alone = whole;
      alone.threads = {steps};
      for (Step& step : alone.threads.front()) step.awaited = 0;
      Player player(trace, alone, &**target);
      problems += player.play({}).problems();
    }
    REQUIRE(problems > 0);
  }
}

TEST_CASE("without a target the player returns what must be, and two plays go on where the first ended") {
  const Trace trace = random_trace(1, 2000);
  const Schedule schedule = make_schedule(trace, {3, 1'000'000'000});
  Player player(trace, schedule, nullptr);
  const PlayReport first = player.play({}, 700), rest = player.play({});
  REQUIRE(first.operations == 700);
  REQUIRE(rest.operations == 1300);
  REQUIRE(first.problems() + rest.problems() == 0);
}

TEST_CASE("recorded time is kept, scaled, and idle stretches are cut") {
  Trace trace;
  trace.initial.push_back({trace.intern("f"), 'f', 0644, 10, {}});
  for (const double at : {0.0, 0.05, 100.0, 100.02}) {
    Operation o;
    o.client = trace.client("c");
    o.call = Call::fetch;
    o.path = 0;
    o.result = 10;
    o.time_ns = static_cast<std::int64_t>(at * 1e9);
    trace.operations.push_back(o);
  }
  const Schedule schedule = make_schedule(trace, {1, 50'000'000});
  const std::vector<Step>& steps = schedule.threads[0];
  REQUIRE(steps[1].start_ns == 50'000'000);
  REQUIRE(steps[2].start_ns == 100'000'000);
  REQUIRE(steps[3].start_ns == 120'000'000);
  PlayOptions options;
  options.think = 0.5;
  const PlayReport report = Player(trace, schedule, nullptr).play(options);
  REQUIRE(report.seconds >= 0.06);  // not before its time; how late is the machine's business
}

TEST_CASE("children wait for their parent, parents for the end of their children") {
  Trace trace;
  const std::uint32_t parent = trace.client("p"), child = trace.client("c");
  const auto add = [&](std::uint32_t client, Call call, const char* path, std::uint32_t handle = 0) {
    Operation o;
    o.client = client;
    o.call = call;
    if (path != nullptr) o.path = trace.intern(path);
    o.handle = handle;
    trace.operations.push_back(o);
  };
  add(parent, Call::mkdir, "a");
  add(parent, Call::spawn, nullptr, child);
  add(child, Call::mkdir, "b");
  add(child, Call::mkdir, "c");
  add(parent, Call::reap, nullptr, child);
  add(parent, Call::mkdir, "d");
  const Schedule schedule = make_schedule(trace, {2, 1});
  REQUIRE(schedule.operations == 4);
  for (const std::vector<Step>& steps : schedule.threads) {
    REQUIRE(steps.size() == 2);
    for (const Step& step : steps) {
      if (trace.path(trace.operations[step.operation].path) == "b") {
        REQUIRE(step.awaited == 1);
        REQUIRE(schedule.awaited[step.first_awaited].operations == 1);
      }
      if (trace.path(trace.operations[step.operation].path) == "d") {
        REQUIRE(step.awaited == 1);
        REQUIRE(schedule.awaited[step.first_awaited].operations == 2);
      }
    }
  }
}

TEST_CASE("contents are found out when they are stale, shifted or zero") {
  std::string bytes(1000, '\0');
  fill_content(7, 123, bytes);
  REQUIRE(is_content(7, 123, bytes));
  REQUIRE(is_content(7, 124, std::span<const char>(bytes).subspan(1)));
  REQUIRE(!is_content(8, 123, bytes));
  REQUIRE(!is_content(7, 122, bytes));
  REQUIRE(!is_content(7, 123, std::string(1000, '\0')));
  REQUIRE(is_content(0, 5, std::string(17, '\0')));
  bytes[999] ^= 1;
  REQUIRE(!is_content(7, 123, bytes));
}

TEST_CASE("symlinks of a trace never lead out of the target") {
  const auto made = [&](const char* text, const char* path, const char* root) {
    return symlink_target(text, path, root);
  };
  REQUIRE(made("a/b", "l", "/r") == "a/b");
  REQUIRE(made("../a", "d/l", "/r") == "../a");
  REQUIRE(made("../a", "l", "/r") == "outside-of-the-trace");
  REQUIRE(made("x/../../a", "l", "/r") == "outside-of-the-trace");
  REQUIRE(made("/r/a", "l", "/r") == "a");
  REQUIRE(made("/r//a", "d/e/l", "/r") == "../../a");
  REQUIRE(made("/r", "l", "/r") == ".");
  REQUIRE(made("/r/../a", "d/e/l", "/r") == "outside-of-the-trace");
  REQUIRE(made("/root/a", "l", "/r") == "outside-of-the-trace");
  REQUIRE(made("/etc/passwd", "l", "/") == "etc/passwd");
}

// By links that stay below by their names, and by a rename that makes one lead out.
TEST_CASE("no change of a replay leaves its target, whatever links lead where") {
  const TemporaryDirectory directory;
  std::filesystem::create_directories(directory.path + "/outside");
  std::filesystem::create_directories(directory.path + "/t/a/b");
  std::ofstream(directory.path + "/outside/file") << "another's";
  const auto made = make_directory_target(directory.path + "/t");
  REQUIRE(made);
  Target& target = **made;
  REQUIRE(target.symlink(".", "a/l") == 0);
  REQUIRE(target.symlink("a/l/l/l/../../outside", "x") == 0);
  REQUIRE(target.symlink("../outside", "a/b/moved") == 0);
  REQUIRE(target.rename("a/b/moved", "moved", 0) == 0);
  for (const std::string by : {"x", "moved"}) {
    INFO(by);
    const std::string file = by + "/file";
    CHECK(target.open(file, O_WRONLY | O_TRUNC, 0) < 0);
    CHECK(target.open(file, O_RDONLY, 0) < 0);  // by a handle its mode, owner and times could be changed
    CHECK(target.open(by + "/new", O_WRONLY | O_CREAT, 0644) < 0);
    CHECK(target.mkdir(by + "/new", 0755) < 0);
    CHECK(target.unlink(file) < 0);
    CHECK(target.truncate(file, 0) < 0);
    CHECK(target.chmod(file, 04755) < 0);
    CHECK(target.chown(file) < 0);
    CHECK(target.utimens(file) < 0);
    CHECK(target.rename(file, "mine", 0) < 0);
    CHECK(target.rename("a", by + "/a", 0) < 0);
    CHECK(target.link(file, "mine") < 0);
    CHECK(target.symlink("mine", by + "/link") < 0);
    CHECK(target.mknod(by + "/pipe", S_IFIFO | 0644) < 0);
    CHECK(target.setxattr(file, "user.x", "y") < 0);
    CHECK(target.removexattr(file, "user.x") < 0);
  }
  CHECK(std::filesystem::file_size(directory.path + "/outside/file") == 9);
  CHECK(std::distance(std::filesystem::directory_iterator(directory.path + "/outside"), {}) == 1);
  // Others are followed.
  REQUIRE(target.symlink("../a/b", "a/in") == 0);
  CHECK(target.mkdir("a/in/here", 0755) == 0);
  CHECK(std::filesystem::exists(directory.path + "/t/a/b/here"));
  // Nor are they where all are one's own.
  const auto own = make_directory_target(directory.path + "/t", Links::own);
  REQUIRE(own);
  CHECK((*own)->chmod("x/file", 0600) == 0);
  CHECK((*own)->truncate("x/file", 5) == 0);
  CHECK((*own)->mkdir("x/new", 0755) == 0);
  CHECK((*own)->rename("x/new", "a/newer", 0) == 0);
  CHECK(std::filesystem::file_size(directory.path + "/outside/file") == 5);
}

TEST_CASE("a pipe in the tree is opened without anybody at its other end") {
  const TemporaryDirectory directory;
  REQUIRE(::mkfifo((directory.path + "/pipe").c_str(), 0600) == 0);
  const auto target = make_directory_target(directory.path);
  REQUIRE(target);
  for (const int flags : {O_RDONLY, O_WRONLY, O_RDWR}) {
    const std::int64_t handle = (*target)->open("pipe", static_cast<std::uint32_t>(flags), 0);
    REQUIRE(handle >= 0);
    REQUIRE((*target)->close(handle) == 0);
  }
}

TEST_CASE("play: a file system without flags of rename gets what mv does there") {
  std::vector<std::uint32_t> asked;
  const auto renamed = [&](std::uint32_t flags, std::int64_t with_flags, std::int64_t looked) {
    asked.clear();
    return rename_as_programs_do(flags, {[&](std::uint32_t with) {
                                           asked.push_back(with);
                                           return with == 0 ? 0 : with_flags;
                                         },
                                         [=] { return looked; }});
  };
  REQUIRE(renamed(RENAME_NOREPLACE, 0, -ENOENT) == 0);
  REQUIRE(asked == std::vector<std::uint32_t>{RENAME_NOREPLACE});
  for (const std::int64_t refusal : {-EINVAL, -ENOSYS}) {
    REQUIRE(renamed(RENAME_NOREPLACE, refusal, -ENOENT) == 0);
    REQUIRE(asked == std::vector<std::uint32_t>{RENAME_NOREPLACE, 0});
    REQUIRE(renamed(RENAME_NOREPLACE, refusal, 0) == -EEXIST);
    REQUIRE(renamed(RENAME_NOREPLACE, refusal, -EACCES) == -EACCES);
    REQUIRE(asked.size() == 1);
    REQUIRE(renamed(RENAME_EXCHANGE, refusal, 0) == refusal);  // nothing else does that
  }
  REQUIRE(renamed(RENAME_NOREPLACE, -EEXIST, -ENOENT) == -EEXIST);
}

namespace {

// A target of which one thing is otherwise.
class ShortOfOne final : public Target {
 public:
  explicit ShortOfOne(Target& whole) : whole_(whole) {}
  std::int64_t open(const std::string& path, std::uint32_t flags, std::uint32_t mode) override {
    return whole_.open(path, flags, mode);
  }
  std::int64_t close(std::int64_t handle) override { return whole_.close(handle); }
  std::int64_t read(std::int64_t handle, std::uint64_t offset, std::span<char> out) override {
    return whole_.read(handle, offset, out);
  }
  std::int64_t write(std::int64_t handle, std::uint64_t offset, std::span<const char> data) override {
    return whole_.write(handle, offset, data.first(data.size() - 1));
  }
  std::int64_t truncate(const std::string&, std::uint64_t) override { return -ENOSYS; }
  std::int64_t truncate(std::int64_t, std::uint64_t) override { return -ENOSYS; }
  std::int64_t fsync(std::int64_t, bool) override { return -ENOSYS; }
  std::int64_t sync() override { return -ENOSYS; }
  std::int64_t stat(const std::string&, bool, FileFacts&) override { return -ENOSYS; }
  std::int64_t stat(std::int64_t, FileFacts&) override { return -ENOSYS; }
  std::int64_t access(const std::string&) override { return -ENOSYS; }
  std::int64_t readlink(const std::string&, std::string&) override { return -ENOSYS; }
  std::int64_t list(std::int64_t, std::vector<std::string>*) override { return -ENOSYS; }
  std::int64_t mkdir(const std::string&, std::uint32_t) override { return -ENOSYS; }
  std::int64_t rmdir(const std::string&) override { return -ENOSYS; }
  std::int64_t unlink(const std::string&) override { return -ENOSYS; }
  std::int64_t rename(const std::string&, const std::string&, std::uint32_t) override { return -ENOSYS; }
  std::int64_t link(const std::string&, const std::string&) override { return -ENOSYS; }
  std::int64_t symlink(const std::string&, const std::string&) override { return -ENOSYS; }
  std::int64_t mknod(const std::string&, std::uint32_t) override { return -ENOSYS; }
  std::int64_t chmod(const std::string&, std::uint32_t) override { return -ENOSYS; }
  std::int64_t chmod(std::int64_t, std::uint32_t) override { return -ENOSYS; }
  std::int64_t chown(const std::string&) override { return -ENOSYS; }
  std::int64_t chown(std::int64_t) override { return -ENOSYS; }
  std::int64_t utimens(const std::string&) override { return -ENOSYS; }
  std::int64_t utimens(std::int64_t) override { return -ENOSYS; }
  std::int64_t getxattr(const std::string&, const std::string&) override { return -ENOSYS; }
  std::int64_t setxattr(const std::string&, const std::string&, std::string_view) override { return -ENOSYS; }
  std::int64_t listxattr(const std::string&) override { return -ENOSYS; }
  std::int64_t removexattr(const std::string&, const std::string&) override { return -ENOSYS; }
  std::int64_t getxattr(std::int64_t, const std::string&) override { return -ENOSYS; }
  std::int64_t setxattr(std::int64_t, const std::string&, std::string_view) override { return -ENOSYS; }
  std::int64_t listxattr(std::int64_t) override { return -ENOSYS; }
  std::int64_t removexattr(std::int64_t, const std::string&) override { return -ENOSYS; }

 private:
  Target& whole_;
};

Operation operation_of(Trace& trace, Call call, const char* path, std::uint32_t handle = kNoHandle) {
  Operation o;
  o.call = call;
  o.client = trace.client("c");
  if (path != nullptr) o.path = trace.intern(path);
  o.handle = handle;
  return o;
}

}  // namespace

TEST_CASE("one call of more than 64 MiB moves all of it, and is no fault of the target's") {
  constexpr std::uint64_t kBytes = (65u << 20) + 17, kOffset = 3;
  Trace trace;
  Operation o = operation_of(trace, Call::open, "f", 1);
  o.flags = O_RDWR | O_CREAT;
  o.mode = 0644;
  trace.operations.push_back(o);
  for (const bool by_handle : {true, false}) {
    for (const Call call : {Call::write, Call::stat, Call::read}) {
      o = operation_of(trace, call, by_handle ? nullptr : "f", by_handle ? 1 : kNoHandle);
      o.length = call == Call::stat ? 0 : kBytes;
      o.offset = call == Call::stat ? 0 : kOffset;
      o.result = static_cast<std::int64_t>(o.length);
      trace.operations.push_back(o);
    }
  }
  const TemporaryDirectory directory;
  const auto target = make_directory_target(directory.path);
  REQUIRE(target);
  const Schedule schedule = make_schedule(trace, {});
  const PlayReport report = Player(trace, schedule, &**target).play({});
  INFO(report.first_problem);
  CHECK(report.problems() == 0);
  CHECK(report.written_bytes == 2 * kBytes);
  CHECK(report.read_bytes == 2 * kBytes);
  CHECK(std::filesystem::file_size(directory.path + "/f") == kBytes + kOffset);
}

TEST_CASE("a write that wrote less than it should is seen, though nobody reads it") {
  Trace trace;
  Operation o = operation_of(trace, Call::open, "f", 1);
  o.flags = O_RDWR | O_CREAT;
  trace.operations.push_back(o);
  o = operation_of(trace, Call::write, nullptr, 1);
  o.length = 100;
  o.result = 100;
  trace.operations.push_back(o);
  const TemporaryDirectory directory;
  const auto whole = make_directory_target(directory.path);
  REQUIRE(whole);
  ShortOfOne target(**whole);
  const Schedule schedule = make_schedule(trace, {});
  const PlayReport report = Player(trace, schedule, &target).play({});
  CHECK(report.wrong_size == 1);
  CHECK(report.first_problem.find("99 instead of 100") != std::string::npos);
}

TEST_CASE("attributes of an open file are set on it, and not on the target's root") {
  Trace trace;
  const auto does = [&](Call call, const char* name = nullptr) {
    Operation o = operation_of(trace, call, call == Call::open ? "f" : nullptr, 1);
    if (call == Call::open) o.flags = O_RDWR | O_CREAT;
    if (call == Call::setxattr) o.length = 5;
    if (name != nullptr) o.path2 = trace.intern(name);
    trace.operations.push_back(o);
  };
  does(Call::open);
  does(Call::setxattr, "user.kept");
  does(Call::setxattr, "user.gone");
  does(Call::getxattr, "user.gone");
  does(Call::listxattr);
  does(Call::removexattr, "user.gone");
  does(Call::removexattr, "user.of_root");
  const auto played_on = [&](Target& target) {
    if (target.setxattr("", "user.of_root", "mine") != 0) return;  // no attributes here
    const Schedule schedule = make_schedule(trace, {});
    Player player(trace, schedule, &target);
    CHECK(player.play({}).problems() == 0);
    player.close_all();
    CHECK(target.getxattr("", "user.kept") == -ENODATA);
    CHECK(target.getxattr("", "user.of_root") == 4);
    CHECK(target.getxattr("f", "user.kept") == 5);
    CHECK(target.getxattr("f", "user.gone") == -ENODATA);
    CHECK(target.getxattr("f", "user.of_root") == -ENODATA);
  };
  const TemporaryDirectory directory;
  const auto on_directory = make_directory_target(directory.path);
  REQUIRE(on_directory);
  played_on(**on_directory);
  MemoryStore objects;
  REQUIRE(FileSystem::format(objects, cffs::test::repeatable(), SystemClock()));
  const auto fs = FileSystem::open(objects, {});
  REQUIRE(fs);
  {
    const auto on_library = make_library_target(**fs, "");
    REQUIRE(on_library);
    played_on(**on_library);
  }
  REQUIRE((*fs)->close());
}

TEST_CASE("what reads must return is kept where it is checked, and up to a bound") {
  Trace trace;
  Operation o = operation_of(trace, Call::open, "f", 1);
  o.flags = O_RDWR | O_CREAT;
  trace.operations.push_back(o);
  for (std::uint64_t i = 0; i < 100; ++i) {
    o = operation_of(trace, Call::write, nullptr, 1);
    o.offset = i;
    o.length = 1;
    o.result = 1;
    trace.operations.push_back(o);
  }
  for (int i = 0; i < 50; ++i) {
    o = operation_of(trace, Call::fetch, "f");
    o.result = 100;
    trace.operations.push_back(o);
  }
  ScheduleOptions options;
  CHECK(make_schedule(trace, options).segments.size() == 5000);
  options.most_segments = 4999;
  const Schedule bounded = make_schedule(trace, options);
  CHECK(bounded.too_many_segments);
  CHECK(bounded.segments.empty());
  for (const Step& step : bounded.threads[0]) CHECK(step.expected.segments == 0);
  options.contents = false;
  const Schedule sizes = make_schedule(trace, options);
  CHECK(sizes.segments.empty());
  CHECK_FALSE(sizes.too_many_segments);

  const TemporaryDirectory directory;
  const auto target = make_directory_target(directory.path);
  REQUIRE(target);
  const ReplayHooks hooks{[&](const std::string&) -> Result<Target*> { return target->get(); }, {}, {}};
  ReplayOptions replayed;
  replayed.schedule.most_segments = 4999;
  const auto refused = replay(trace, replayed, hooks);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message().find("--check=size") != std::string::npos);
  replayed.play.check = Check::size;
  const auto played = replay(trace, replayed, hooks);
  REQUIRE(played);
  CHECK(played->reports[0].problems() == 0);
}

// Fetches of two files, each of them twice.
Trace trace_of_fetches() {
  Trace trace;
  trace.about["root"] = "/";
  for (const char* name : {"a", "b"}) trace.initial.push_back({trace.intern(name), 'f', 0644, 100, {}});
  for (const char* name : {"a", "a", "b", "b"}) {
    Operation o;
    o.call = Call::fetch;
    o.client = trace.client("c");
    o.path = trace.intern(name);
    o.result = 100;
    trace.operations.push_back(o);
  }
  return trace;
}

TEST_CASE("play: what goes wrong in the part that is not timed is a problem of the round") {
  const Trace trace = trace_of_fetches();
  const TemporaryDirectory directory;
  const auto target = make_directory_target(directory.path);
  REQUIRE(target);
  REQUIRE(make_tree(trace, **target));
  ReplayOptions options;
  options.warm_up = 0.5;
  ReplayHooks hooks;
  hooks.target = [&](const std::string&) -> Result<Target*> { return target->get(); };
  const auto whole = replay(trace, options, hooks);
  REQUIRE(whole);
  REQUIRE(whole->reports.at(0).problems() == 0);
  REQUIRE(whole->reports.at(0).operations == 2);
  std::filesystem::remove(directory.path + "/a");
  const auto lacking = replay(trace, options, hooks);
  REQUIRE(lacking);
  REQUIRE(lacking->reports.at(0).operations == 2);
  REQUIRE(lacking->reports.at(0).failed == 2);
  REQUIRE(lacking->reports.at(0).missing == 2);
  REQUIRE(lacking->reports.at(0).first_problem.starts_with("operation 1,"));
  REQUIRE(lacking->runs.at(0).metrics.at("problems") == 2);
}

TEST_CASE("play: a round that fails loses none before it, and leaves nothing on the target") {
  const Trace trace = trace_of_fetches();
  const TemporaryDirectory directory;
  std::unique_ptr<Target> target;
  ReplayOptions options;
  options.rounds = 3;
  options.fresh = true;
  ReplayHooks hooks;
  unsigned below_second = 0;
  hooks.target = [&](const std::string& below) -> Result<Target*> {
    if (below.starts_with("round-2") && ++below_second == 2) return fail(EIO, below);
    CFFS_TRY(target, make_directory_target(directory.path + "/" + below));
    return target.get();
  };
  std::vector<unsigned> played;
  hooks.played = [&](Run& run) -> Status {
    played.push_back(run.round);
    return {};
  };
  const auto result = replay(trace, options, hooks);
  REQUIRE(!result);
  REQUIRE(result.error().errno_value == EIO);
  REQUIRE(played == std::vector<unsigned>{1});
  REQUIRE(std::filesystem::is_empty(directory.path));
}

}  // namespace cffs::replay::test
