// Packing and power cuts: a composite that takes another's place is on the medium before it does.
#include <catch2/catch.hpp>

#include "core/reorganise/regrouping.h"
#include "core/reorganise/reorganiser.h"
#include "tests/crash/calls.h"
#include "tests/crash/crash_store.h"
#include "tests/crash/survival.h"
#include "tests/crash/ticking_clock.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

constexpr int kPackedFiles = 8;

std::string packed_name(int i) { return "file" + std::to_string(i); }
std::string packed_content(int i) {
  return std::string(900 + static_cast<std::size_t>(i) * 100, static_cast<char>('a' + i));
}

FileSystemOptions booted(const std::string& boot_id) {
  FileSystemOptions options = quiet();
  options.clock = std::make_shared<TickingClock>();
  options.boot_id = boot_id;
  return options;
}

void pack_as(FileSystem& fs, const Compression& how) {
  Reorganiser reorganiser(fs);
  RegroupOptions options;
  options.compression = how;
  REQUIRE(change_storage(reorganiser, options));
}

}  // namespace

TEST_CASE("whenever the power is cut, what is packed, or unpacked, is whole", "[packed]") {
  CrashStore store;
  REQUIRE(FileSystem::format(store, repeatable(small_format()), *booted("").clock));
  const auto fs = std::move(*FileSystem::open(store, booted("first")));
  for (int i = 0; i < kPackedFiles; ++i) {
    const auto made = fs->mknod(kRootInode, packed_name(i), S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    REQUIRE(fs->write(made->ino, 0, as_bytes(packed_content(i)), kRoot));
    fs->forget(made->ino, 1);
  }
  REQUIRE(Reorganiser(*fs).consolidate_now());
  REQUIRE(fs->sync());
  std::vector<CrashMedium> media;
  std::size_t replaced = 0;
  store.on_change([&](const std::string& change) {
    media.push_back(store.medium());
    if (change.find("rename") != std::string::npos && change.find("composites/") != std::string::npos)
      ++replaced;
  });
  pack_as(*fs, {Codec::zstd, 1});
  pack_as(*fs, {});
  store.on_change(nullptr);
  media.push_back(store.medium());
  CHECK(replaced >= 2);
  for (std::size_t n = 0; n < media.size(); ++n) {
    for (std::uint64_t way = 0; way < 12; ++way) {
      INFO("cut " << n << " of " << media.size() << ", way " << way);
      CrashStore after(media[n].cut(way));
      const auto opened = FileSystem::open(after, booted("second"));
      REQUIRE(opened);
      const auto found = observe(**opened);
      REQUIRE(found);
      for (int i = 0; i < kPackedFiles; ++i)
        REQUIRE((found->at(packed_name(i)).what.content == packed_content(i)));
    }
  }
}

}  // namespace cffs::test
