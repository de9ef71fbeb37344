// Memory runs out: one allocation after the other fails, once and from then on, in a process of its own. What was acknowledged is there afterwards,
// whatever became of the process: each call answers, or fails, or the process stops in order (std::terminate); it never hangs or crashes.
//   CFFS_ALLOCATION_STRIDE=1   every allocation; usual is one of 29
//   CFFS_ALLOCATION=n          this one alone (a debugger stops it with "catch throw")
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "core/inspect/consistency.h"
#include "core/object/posix_store.h"
#include "core/reorganise/reorganiser.h"
#include "tests/crash/calls.h"
#include "tests/crash/failing_allocations.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

constexpr int kFiles = 9;

struct Directory {
  std::string path = "/tmp/cffs-allocations.XXXXXX";
  Directory() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  ~Directory() { std::filesystem::remove_all(path); }
};

// A file's life, in steps: nothing, empty, full, renamed.
enum Step : int { nothing, made, written, renamed };
struct Progress {
  Step step = nothing;
  bool may_be_next = false;  // a call failed half-way
};
using AllProgress = std::array<Progress, kFiles>;

std::string content(int file) {
  return pattern(std::array{300u, 3'000u, 20'000u}[static_cast<std::size_t>(file) % 3], file);
}
std::string name(int file, Step step) {
  return (step == renamed ? "renamed" : "file") + std::to_string(file);
}

int child_pipe = -1;

void tell(int file, Step step, bool done) {
  const std::array<char, 3> message{static_cast<char>(file), static_cast<char>(step), done ? '+' : '?'};
  if (::write(child_pipe, message.data(), message.size()) != 3) ::_exit(2);
}

// One call as a mount guards it: false where it failed, by whatever.
template <typename Call>
bool attempt(Call call) {
  try {
    return call();
  } catch (const std::exception&) {
    return false;
  }
}

void live(FileSystem& fs) {
  for (int file = 0; file < kFiles; ++file) {
    const auto step = [&](Step reached, auto call) {
      const bool done = attempt(call);
      tell(file, reached, done);
      return done;
    };
    std::optional<InodeId> ino;
    if (!step(made, [&] {
          const auto a = fs.mknod(kRootInode, name(file, made), S_IFREG | 0600, 0, kRoot);
          if (a) ino = a->ino;
          return a.has_value();
        })) {
      continue;
    }
    if (!step(written, [&] { return fs.write(*ino, 0, as_bytes(content(file)), kRoot).has_value(); }))
      continue;
    if (file % 4 == 1) (void)attempt([&] { return fs.fsync(*ino).has_value(); });
    if (file == 5) (void)attempt([&] { return Reorganiser(fs).consolidate_now().has_value(); });
    if (file == 6) (void)attempt([&] { return fs.sync().has_value(); });
    if (file % 2 == 0) continue;
    (void)step(renamed, [&] {
      return fs
          .rename(kRootInode, name(file, made), kRootInode, name(file, renamed), RenameMode::replace, kRoot)
          .has_value();
    });
  }
}

[[noreturn]] void run_child(const std::string& directory, std::int64_t nth, bool persistent) {
  std::set_terminate([] { ::_exit(3); });  // in order: as kill -9, and without a core file
  ::alarm(30);
  auto store = std::move(*PosixStore::open_directory(directory, PosixStore::Access::read_write));
  auto fs = std::move(*FileSystem::open(*store, quiet()));
  fail_allocation(nth, persistent);
  live(*fs);
  const bool hit = allocation_failed() || persistent;
  fail_allocation(0);
  // What it says now must be what it will say to the next user.
  for (int file = 0; file < kFiles; ++file) {
    for (const Step step : {made, renamed}) {
      const auto found = fs->lookup(kRootInode, name(file, step));
      if (!found) continue;
      std::string bytes(found->size, '\0');
      const auto n = fs->read(found->ino, 0, as_writable_bytes(bytes));
      if (n && (bytes.empty() || bytes == content(file))) continue;
      std::fprintf(stderr, "%s shows %zu bytes that it never had%s\n", name(file, step).c_str(), bytes.size(),
                   n ? "" : (": " + n.error().message()).c_str());
      ::_exit(4);
    }
  }
  if (nth % 2 == 0 && !attempt([&] { return fs->close().has_value(); })) ::_exit(hit ? 0 : 5);
  ::_exit(0);
}

// What the child was told before it ended, and how it ended.
int watch(const std::string& directory, std::int64_t nth, bool persistent, AllProgress& all) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    child_pipe = ends[1];
    run_child(directory, nth, persistent);
  }
  ::close(ends[1]);
  std::array<char, 3> message{};
  while (::read(ends[0], message.data(), message.size()) == 3) {
    Progress& progress = all[static_cast<std::size_t>(message[0])];
    if (message[2] == '+') progress = {static_cast<Step>(message[1]), false};
    if (message[2] == '?') progress.may_be_next = true;
  }
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

void check_file(FileSystem& fs, int file, const Progress& progress, bool stopped) {
  INFO("file " << file << " at step " << progress.step);
  const auto shows = [&](Step step) {
    const auto before = fs.lookup(kRootInode, name(file, made));
    const auto after = fs.lookup(kRootInode, name(file, renamed));
    if (before.has_value() != (step == made || step == written) || after.has_value() != (step == renamed))
      return false;
    if (step == nothing) return true;
    const Attributes& there = before ? *before : *after;
    std::string bytes(there.size, '\0');
    const auto n = fs.read(there.ino, 0, as_writable_bytes(bytes));
    return n && (step == made ? bytes.empty() : bytes == content(file));
  };
  const bool next = progress.may_be_next || stopped;  // it may have ended within the call
  REQUIRE((shows(progress.step) ||
           (next && progress.step != renamed && shows(static_cast<Step>(progress.step + 1)))));
}

}  // namespace

TEST_CASE("an allocation that fails costs nothing that was acknowledged") {
  const Directory directory;
  const auto environment = [](const char* name, std::int64_t usual) {
    const char* wanted = std::getenv(name);
    return wanted == nullptr ? usual : std::strtoll(wanted, nullptr, 10);
  };
  const std::int64_t stride = environment("CFFS_ALLOCATION_STRIDE", 29);
  const std::int64_t one = environment("CFFS_ALLOCATION", 0);
  std::int64_t tried = 0, stopped = 0;
  for (const bool persistent : {false, true}) {
    bool reached_end = false;
    for (std::int64_t n = one > 0 ? one : 1; !reached_end && tried < 20'000; n += stride) {
      INFO("allocation " << n << (persistent ? " and all behind it" : "") << " fails");
      const std::string path = directory.path + "/store";
      {
        REQUIRE(std::filesystem::create_directory(path));
        const auto store = PosixStore::open_directory(path, PosixStore::Access::read_write);
        REQUIRE(store);
        REQUIRE(FileSystem::format(**store, small_format(), SystemClock()));
      }
      AllProgress all;
      const int status = watch(path, n, persistent, all);
      INFO((WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                : "exit " + std::to_string(WEXITSTATUS(status))));
      REQUIRE(WIFEXITED(status));
      const int code = WEXITSTATUS(status);
      REQUIRE((code == 0 || code == 3));
      ++tried;
      stopped += code == 3;
      reached_end = code == 0 && all[kFiles - 1].step == written && !all[kFiles - 1].may_be_next && n > 2'000;
      auto store = std::move(*PosixStore::open_directory(path, PosixStore::Access::read_write));
      auto fs = FileSystem::open(*store, quiet());
      INFO((fs ? "" : fs.error().message()));
      REQUIRE(fs);
      for (int file = 0; file < kFiles; ++file) {
        const Progress& progress = all[static_cast<std::size_t>(file)];
        check_file(**fs, file, progress, code == 3);
      }
      const auto problems = find_inconsistencies(**fs);
      REQUIRE(problems);
      REQUIRE(*problems == std::vector<std::string>{});
      REQUIRE((*fs)->close());
      fs->reset();
      store.reset();
      std::filesystem::remove_all(path);
      if (one > 0) break;
    }
  }
  INFO(tried << " allocations failed, " << stopped << " ended the process in order");
  if (one == 0) REQUIRE((stopped > 0 && stopped < tried));
  REQUIRE(tried > (one > 0 ? 1 : 40));
}

}  // namespace cffs::test
