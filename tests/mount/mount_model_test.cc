// Random operation sequences through a real mount, against the in-memory reference; the same on a native directory
// shows that the reference is right.
#include <sys/stat.h>
#include <sys/xattr.h>

#include <catch2/catch.hpp>

#include "tests/model/random_operations.h"
#include "tests/mount/directory_surface.h"
#include "tests/mount/mounted_store.h"
#include "tests/test_seeds.h"

namespace cffs::test {
namespace {

const char* const kTiny = "--inline-max=64 --composite-file-max=4K --composite-max=16K";

void run(const std::string& format, const std::string& mount, std::uint64_t seed, bool kills) {
  ::umask(0);
  MountedStore store(format, mount);
  DirectorySurface surface(
      store.mount_point(),
      [&] {
        if (kills) {
          store.kill_daemon();
        } else {
          store.unmount();
        }
        store.mount();
      },
      [&] { (void)::setxattr(store.mount_point().c_str(), "user.cffs.compact", "1", 1, 0); });
  SequenceOptions options;
  options.seed = seed;
  options.operations = 3000;
  options.reopen_every = 600;
  REQUIRE(run_random_operations(surface, options) == "");
  store.unmount();
  REQUIRE(store.fsck() == "");
}

}  // namespace

TEST_CASE("the reference agrees with a native file system") {
  ::umask(0);
  for (const std::uint64_t seed : seeds(4)) {
    std::string base = temporary_directory() + "/cffs-native.XXXXXX";
    REQUIRE(::mkdtemp(base.data()) != nullptr);
    REQUIRE(::chmod(base.c_str(), 0755) == 0);
    DirectorySurface surface(base, nullptr, nullptr);
    SequenceOptions options;
    options.seed = seed;
    const std::string problem = run_random_operations(surface, options);
    shell("rm -rf " + base);
    REQUIRE(problem == "");
  }
}

TEST_CASE("mount: random operations, directory policy, tiny homes, busy background") {
  for (const std::uint64_t seed : seeds(4)) {
    run(kTiny, "--policy=directory --quiet=0.05 --commit-interval=0.1", seed, false);
  }
}

TEST_CASE("mount: random operations, no policy, tiny homes") {
  for (const std::uint64_t seed : seeds(2)) run(kTiny, "--policy=none --quiet=0.05", seed, false);
}

TEST_CASE("mount: random operations, default homes") {
  for (const std::uint64_t seed : seeds(2)) run("", "", seed, false);
}

TEST_CASE("mount: nothing acknowledged is lost when the daemon is killed") {
  for (const std::uint64_t seed : seeds(4)) {
    run(kTiny, "--policy=directory --quiet=0.05 --commit-interval=0.1", seed, true);
  }
  for (const std::uint64_t seed : seeds(2)) run("", "", seed, true);
}

TEST_CASE("mount: the same on an image, without a file system below") {
  const std::string image = "--backend=region --size=1G ";
  for (const std::uint64_t seed : seeds(2))
    run(image + kTiny, "--policy=directory --quiet=0.05 --commit-interval=0.1", seed, true);
  run(image, "--policy=none", 3, false);
}

}  // namespace cffs::test
