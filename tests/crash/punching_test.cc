// Punching and power cuts: a removal that is lost with the power brings its file back whole.
#include "core/reorganise/punching.h"

#include <catch2/catch.hpp>

#include "core/reorganise/reorganiser.h"
#include "tests/crash/calls.h"
#include "tests/crash/crash_store.h"
#include "tests/crash/survival.h"
#include "tests/crash/ticking_clock.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

constexpr int kFiles = 12, kGone = 5;

std::string name(int i) { return "file" + std::to_string(i); }
std::string content(int i) { return pattern(400 + static_cast<std::size_t>(i) * 300, i); }

FileSystemOptions after_boot(const std::string& boot_id) {
  FileSystemOptions options = quiet();
  options.clock = std::make_shared<TickingClock>();
  options.boot_id = boot_id;
  return options;
}

}  // namespace

TEST_CASE("whenever the power is cut, nothing that comes back was punched") {
  CrashStore store;
  REQUIRE(FileSystem::format(store, repeatable(small_format()), *after_boot("").clock));
  const auto fs = std::move(*FileSystem::open(store, after_boot("first")));
  for (int i = 0; i < kFiles; ++i) {
    const auto made = fs->mknod(kRootInode, name(i), S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    REQUIRE(fs->write(made->ino, 0, as_bytes(content(i)), kRoot));
    fs->forget(made->ino, 1);
  }
  REQUIRE(Reorganiser(*fs).consolidate_now());
  REQUIRE(fs->sync());
  std::vector<CrashMedium> media;
  store.on_change([&](const std::string&) { media.push_back(store.medium()); });
  for (int i = 0; i < kGone; ++i) REQUIRE(fs->unlink(kRootInode, name(i)));
  Punching punching(*fs, 16);
  const auto freed = punching.find([] { return true; });
  REQUIRE(freed);
  REQUIRE(punching.run(Punching::ids_of(*freed))->punched > 1000);
  store.on_change(nullptr);
  media.push_back(store.medium());
  std::size_t back = 0;
  for (std::size_t n = 0; n < media.size(); ++n) {
    for (std::uint64_t way = 0; way < 12; ++way) {
      INFO("cut " << n << " of " << media.size() << ", way " << way);
      CrashStore after(media[n].cut(way));
      const auto opened = FileSystem::open(after, after_boot("second"));
      REQUIRE(opened);
      const auto found = observe(**opened);
      REQUIRE(found);
      for (int i = 0; i < kFiles; ++i) {
        const auto there = found->find(name(i));
        if (there == found->end()) {
          REQUIRE(i < kGone);
          continue;
        }
        REQUIRE((there->second.what.content == content(i)));
        if (i < kGone) ++back;
      }
    }
  }
  REQUIRE(back > 0);
}

}  // namespace cffs::test
