// Files that share what is the same of them: each is as if it had its own, whatever happens to the others.
#include <catch2/catch.hpp>
#include <random>
#include <thread>

#include "core/composite/composite_accounts.h"
#include "core/reorganise/punching.h"
#include "core/reorganise/regrouping.h"
#include "core/table/table.h"
#include "grouping/policy.h"
#include "tests/test_seeds.h"
#include "tests/unit/sharing_store.h"
#include "tests/wrapping_store.h"

namespace cffs::test {

TEST_CASE("files that became quiet share what is the same of them", "[sharing]") {
  SharingStore s(true, GENERATE(Compression{}, Compression{Codec::zstd, 3}));
  s.fill(5, 4);
  Statistics now = s.statistics();
  REQUIRE(now.live_bytes == 5 * kLength);
  REQUIRE(now.member_bytes == 20 * kLength);
  REQUIRE(now.sharing_files == 20);
  s.expect_whole();
  s.make("another", 3);  // of a content that is there already
  s.consolidate();
  REQUIRE(s.live() == 5 * kLength);
  s.open();
  s.expect_whole();
  REQUIRE(s.share("another", SharingStore::name(3, 0)));
}

TEST_CASE("without being asked, nobody shares", "[sharing]") {
  SharingStore s(false);
  s.fill(2, 4);
  REQUIRE(s.live() == 8 * kLength);
  std::size_t rows = 0;
  REQUIRE(s.fs->table().scan_tag(KeyTag::content, [&](Key, std::string_view) { return ++rows > 0; }));
  REQUIRE(rows == 0);
}

TEST_CASE("the content goes with the last of its files, whoever is the last", "[sharing]") {
  SharingStore s;
  s.fill(1, 4);
  std::vector<int> order{0, 1, 2, 3};
  if (GENERATE(true, false)) std::reverse(order.begin(), order.end());
  for (const int i : order) {
    REQUIRE(s.live() == kLength);
    s.expect_whole();
    s.unlink(SharingStore::name(0, i));
  }
  REQUIRE(s.fs->sync());
  REQUIRE(s.objects.list("composites")->empty());
  s.expect_whole();
  std::size_t rows = 0;
  REQUIRE(s.fs->table().scan_tag(KeyTag::content, [&](Key, std::string_view) { return ++rows > 0; }));
  REQUIRE(rows == 0);
  s.fill(1, 2);  // and comes again
  s.expect_whole();
}

TEST_CASE("who writes to a file that shares gets a content of its own", "[sharing]") {
  SharingStore s;
  s.fill(1, 3);
  for (const int i : {0, 2}) {
    const auto file = s.fs->lookup(kRootInode, SharingStore::name(0, i));
    REQUIRE(s.fs->write(file->ino, 0, as_bytes(content(7 + i)), kRoot));
    s.fs->forget(file->ino, 1);
    s.here[SharingStore::name(0, i)] = 7 + i;
    s.expect_whole();
  }
  s.consolidate();
  s.expect_whole();
  REQUIRE(s.live() == 3 * kLength);
}

TEST_CASE("files that share are found after they were renamed, exchanged, linked and replaced", "[sharing]") {
  SharingStore s;
  s.fill(2, 4);
  s.make("small", 9);
  s.consolidate();
  s.rename("k0.0", "owner elsewhere");
  s.rename("k0.1", "guest elsewhere");
  s.rename("k1.0", "k1.1", RenameMode::exchange);  // both have one record
  s.rename("k0.2", "k1.2");                        // the target leaves its record
  s.rename("k0.3", "k1.3", RenameMode::exchange);
  {
    const auto file = s.fs->lookup(kRootInode, "guest elsewhere");
    const auto linked = s.fs->link(file->ino, kRootInode, "a second name");
    REQUIRE(linked);
    s.fs->forget(file->ino, 2);
    s.here["a second name"] = 0;
  }
  s.expect_whole();
  SECTION("as they are") {}
  SECTION("compacted") {
    // Enough goes that the composite is worth one.
    s.unlink("small");
    for (int i = 0; i < 4; ++i) {
      for (const std::string& name : {SharingStore::name(1, i)}) {
        if (s.here.contains(name) && s.here[name] == 1) s.unlink(name);
      }
    }
    s.consolidate();
    s.expect_whole();
    REQUIRE(s.live() <= 2 * kLength);
  }
  SECTION("the owner goes") {
    s.unlink("owner elsewhere");
    s.expect_whole();
  }
  SECTION("the linked one loses a name, then the other") {
    s.unlink("guest elsewhere");
    s.expect_whole();
    s.unlink("a second name");
  }
  s.open();
  s.expect_whole();
}

TEST_CASE("compaction takes those that share along as one", "[sharing]") {
  SharingStore s;
  s.fill(4, 3);
  if (GENERATE(true, false)) {
    REQUIRE(s.fs->dedupe(false));  // what shares goes on sharing
  }
  const CompositeId before = s.inode_of("k0.0").extent.composite;
  for (int k = 1; k < 4; ++k) {
    for (int i = 0; i < 3; ++i) s.unlink(SharingStore::name(k, i));
  }
  s.consolidate();
  REQUIRE(s.inode_of("k0.0").extent.composite != before);
  REQUIRE(s.live() == kLength);
  s.expect_whole();
  s.open();
  s.expect_whole();
}

namespace {

// Counts the bytes that are read of it.
struct CountedReads final : PassingObject {
  CountedReads(std::uint64_t& count, std::shared_ptr<Object> below)
      : PassingObject(std::move(below)), bytes(count) {}
  Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override {
    bytes += out.size();
    return below_->read_at(offset, out);
  }
  std::uint64_t& bytes;
};

}  // namespace

TEST_CASE("compaction reads a content once, however many share it", "[sharing]") {
  SharingStore s;
  constexpr int kKinds = 3, kEach = 18;  // all of one composite
  s.fill(kKinds, kEach);
  REQUIRE(s.fs->close());
  s.fs.reset();
  std::uint64_t read = 0;
  WrappingStore counted(s.objects, "composites/", [&](std::shared_ptr<Object> object) {
    return std::make_shared<CountedReads>(read, std::move(object));
  });
  s.fs = std::move(*FileSystem::open(counted, quiet()));
  const CompositeId before = s.inode_of("k0.0").extent.composite;
  for (int k = 1; k < kKinds; ++k) {
    for (int i = 0; i < kEach; ++i) s.unlink(SharingStore::name(k, i));
  }
  read = 0;
  s.consolidate();
  REQUIRE(read < 10 * kLength);
  REQUIRE(s.inode_of("k0.0").extent.composite != before);
  REQUIRE(s.live() == kLength);
  s.expect_whole();
  s.open();
  s.expect_whole();
}

TEST_CASE("loads at the same time write a content once", "[sharing]") {
  SharingStore s;
  constexpr int kLoads = 4, kRounds = 20, kKinds = 12;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> ready = 0;
    std::array<bool, kLoads> done{};
    std::vector<std::thread> threads;
    for (int t = 0; t < kLoads; ++t) {
      threads.emplace_back([&, t] {
        std::vector<std::vector<NewFile>> groups(1);
        for (int k = 0; k < kKinds; ++k) {
          // Half of them come to the contents in the other order.
          const int kind = round * kKinds + (t % 2 == 0 ? k : kKinds - 1 - k);
          groups.front().push_back(new_file(std::to_string(t) + "-" + std::to_string(kind), kind));
        }
        for (++ready; ready < kLoads;) std::this_thread::yield();
        const auto loaded = s.fs->load(std::move(groups));
        done[static_cast<std::size_t>(t)] = loaded && loaded->empty();
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (int t = 0; t < kLoads; ++t) {
      REQUIRE(done[static_cast<std::size_t>(t)]);
      for (int kind = round * kKinds; kind < (round + 1) * kKinds; ++kind)
        s.here[std::to_string(t) + "-" + std::to_string(kind)] = kind;
    }
  }
  REQUIRE(s.live() == kRounds * kKinds * kLength);
  s.expect_whole();
}

TEST_CASE("an import shares within itself and with what is there", "[sharing]") {
  SharingStore s;
  const auto load = [&](std::vector<std::pair<std::string, int>> wanted) {
    std::vector<std::vector<NewFile>> groups(1);
    for (const auto& [name, kind] : wanted) {
      groups.front().push_back(new_file(name, kind));
      s.here.try_emplace(name, kind);
    }
    const auto loaded = s.fs->load(std::move(groups));
    REQUIRE(loaded);
    return *loaded;
  };
  REQUIRE(load({{"a", 1}, {"b", 1}, {"c", 2}}).empty());
  REQUIRE(s.live() == 2 * kLength);
  s.expect_whole();
  SECTION("only what is there: no composite is made") {
    const std::size_t composites = s.objects.list("composites")->size();
    REQUIRE(load({{"d", 1}, {"e", 2}}).empty());
    REQUIRE(s.objects.list("composites")->size() == composites);
    REQUIRE(s.live() == 2 * kLength);
  }
  SECTION("the one that came first has a name that is taken") {
    REQUIRE(load({{"a", 5}, {"f", 5}, {"g", 5}}) == std::vector<std::string>{"a"});
    REQUIRE(s.live() <= 4 * kLength);
  }
  SECTION("hundreds of names that are taken come before what is new") {
    std::vector<std::pair<std::string, int>> many;
    for (int i = 0; i < 600; ++i) many.emplace_back("n" + std::to_string(i), 100 + i);
    REQUIRE(load(many).empty());
    for (int i = 0; i < 20; ++i) many.emplace_back("new" + std::to_string(i), 900 + i);
    REQUIRE(load(many).size() == 600);
    REQUIRE(s.fs->sync());
  }
  SECTION("more than may share one record") {
    std::vector<std::pair<std::string, int>> many;
    for (int i = 0; i < 700; ++i) many.emplace_back("m" + std::to_string(i), 3);
    REQUIRE(load(many).empty());
    REQUIRE(s.live() <= 12 * kLength);
    s.expect_whole();
    for (int i = 0; i < 690; ++i) s.unlink("m" + std::to_string(i));
    s.consolidate();
  }
  s.expect_whole();
  s.open();
  s.expect_whole();
}

TEST_CASE("a file in use keeps its content when its name is gone, and its owner's", "[sharing]") {
  SharingStore s(true, GENERATE(Compression{}, Compression{Codec::zstd, 1}));
  s.fill(8, 2);
  const auto open = s.fs->lookup(kRootInode, "k0.1");
  REQUIRE(open);
  std::string bytes(kLength, '\0');
  REQUIRE(*s.fs->read(open->ino, 0, as_writable_bytes(bytes)) == kLength);
  s.unlink("k0.1");
  s.unlink("k0.0");
  REQUIRE(s.fs->sync());
  SECTION("punched") {
    Punching punching(*s.fs);
    const auto freed = punching.find([] { return true; });
    REQUIRE(freed);
    REQUIRE(punching.run(Punching::ids_of(*freed)));
  }
  SECTION("compacted") {
    for (int k = 1; k < 7; ++k) {
      s.unlink(SharingStore::name(k, 0));
      s.unlink(SharingStore::name(k, 1));
    }
    s.consolidate();
  }
  REQUIRE(*s.fs->read(open->ino, 0, as_writable_bytes(bytes)) == kLength);
  REQUIRE((bytes == content(0)));
  s.fs->forget(open->ino, 1);
  s.expect_whole();
}

TEST_CASE("what was there before is made to share, and no more comes to it", "[sharing]") {
  SharingStore s(false, GENERATE(Compression{}, Compression{Codec::zstd, 3}));
  s.fill(4, 6);
  const auto change = [&](bool on) {
    Reorganiser reorganiser(*s.fs);
    RegroupOptions options;
    options.dedupe = on;
    const auto report = change_storage(reorganiser, options);
    REQUIRE(report);
    return *report;
  };
  REQUIRE(s.live() == 24 * kLength);
  REQUIRE(change(true).files_shared == 20);
  REQUIRE(s.live() == 4 * kLength);
  s.expect_whole();
  REQUIRE(change(true).files_shared == 0);
  REQUIRE(change(false).files_shared == 0);
  s.make("later", 2);
  s.consolidate();
  REQUIRE(s.live() == 5 * kLength);
  s.open();
  s.expect_whole();
  REQUIRE(s.fs->table().sharing() == Sharing::once);
}

TEST_CASE("a regrouping leaves those that share where they are, twice", "[sharing]") {
  SharingStore s;
  const auto below = s.fs->mkdir(kRootInode, "below", 0755, kRoot);
  s.fill(4, 1);
  for (int k = 0; k < 4; ++k) {
    const auto made = s.fs->mknod(below->ino, SharingStore::name(k, 1), S_IFREG | 0644, 0, kRoot);
    REQUIRE(s.fs->write(made->ino, 0, as_bytes(content(k)), kRoot));
    s.fs->forget(made->ino, 1);
  }
  s.consolidate();
  REQUIRE(s.live() == 4 * kLength);
  const auto regroup_once = [&] {
    Reorganiser reorganiser(*s.fs);
    return *regroup(reorganiser, *grouping::make_policy("directory"), {});
  };
  (void)regroup_once();
  REQUIRE(regroup_once().files_moved == 0);
  REQUIRE(s.live() == 4 * kLength);
  s.expect_whole();
  // A policy that keeps nothing in composites takes them all apart.
  Reorganiser reorganiser(*s.fs);
  REQUIRE(regroup(reorganiser, *grouping::make_policy("none"), {}));
  REQUIRE(s.statistics().member_files == 0);
  s.expect_whole();
}

// A document that becomes quiet brings what it embeds to its group: alone, not away from those who share it.
TEST_CASE("what a document embeds stays shared", "[sharing]") {
  SharingStore s;
  FileSystemOptions options = quiet();
  options.policy = grouping::make_policy("reference");
  s.open(options);
  s.make("picture.png", 1);
  s.make("another.png", 1);
  s.consolidate();
  REQUIRE(s.share("picture.png", "another.png"));
  const auto page = s.fs->mknod(kRootInode, "page.html", S_IFREG | 0644, 0, kRoot);
  REQUIRE(page);
  const std::string html = "<html><img src=\"picture.png\">" + std::string(1000, 'p') + "</html>";
  REQUIRE(s.fs->write(page->ino, 0, as_bytes(html), kRoot));
  s.consolidate();
  CHECK(s.share("picture.png", "another.png"));
  REQUIRE(s.fs->unlink(kRootInode, "page.html"));
  s.expect_whole();
}

TEST_CASE("with sharing switched off nobody comes to share, and all is moved", "[sharing]") {
  SharingStore s;
  s.fill(1, 3);
  REQUIRE(s.fs->dedupe(false));
  for (const char* directory : {"d0", "d1", "d2"}) {
    const auto in = s.fs->mkdir(kRootInode, directory, 0755, kRoot);
    for (int i = 0; i < 270; ++i) {
      const auto made = s.fs->mknod(in->ino, "f" + std::to_string(i), S_IFREG | 0644, 0, kRoot);
      REQUIRE(s.fs->write(made->ino, 0, as_bytes(content(i)), kRoot));
      s.fs->forget(made->ino, 1);
    }
  }
  s.consolidate();
  const Statistics now = s.statistics();
  REQUIRE(now.inline_files == 0);
  REQUIRE(now.sharing_files == 3);
  s.expect_whole();
}

TEST_CASE("more than may share one record are made to share several", "[sharing]") {
  SharingStore s(false);
  for (int i = 0; i < 600; ++i) s.make("m" + std::to_string(i), i % 2);
  s.consolidate();
  Reorganiser reorganiser(*s.fs);
  RegroupOptions options;
  options.dedupe = true;
  REQUIRE(change_storage(reorganiser, options));
  REQUIRE(s.live() <= 6 * kLength);
  s.expect_whole();
}

TEST_CASE("whatever is done with files that share, each is as if it had its own", "[sharing]") {
  const bool shares = GENERATE(true, false);
  const Compression how = GENERATE(Compression{}, Compression{Codec::zstd, 1});
  const std::uint64_t seed = GENERATE(from_range(seeds(2)));
  INFO("seed " << seed);
  SharingStore s(shares, how);
  std::mt19937_64 random(seed);
  const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  const auto some = [&] {
    auto it = s.here.begin();
    std::advance(it, below(static_cast<int>(s.here.size())));
    return it->first;
  };
  int made = 0;
  std::vector<std::pair<InodeId, int>> in_use;
  for (int step = 0; step < 400; ++step) {
    const int what = s.here.size() < 4 ? 0 : below(100);
    if (what < 40) {
      s.make("f" + std::to_string(made++), below(6));
    } else if (what < 55) {
      s.unlink(some());
    } else if (what < 63) {
      s.rename(some(), "r" + std::to_string(made++));
    } else if (what < 67) {
      const std::string a = some(), b = some();
      if (a != b) s.rename(a, b, RenameMode::exchange);
    } else if (what < 70) {
      const std::string a = some(), b = some();
      const auto x = s.fs->lookup(kRootInode, a), y = s.fs->lookup(kRootInode, b);
      s.fs->forget(x->ino, 1);
      s.fs->forget(y->ino, 1);
      if (x->ino != y->ino) s.rename(a, b);
    } else if (what < 74) {
      const std::string a = some();
      const auto file = s.fs->lookup(kRootInode, a);
      const std::string name = "l" + std::to_string(made++);
      REQUIRE(s.fs->link(file->ino, kRootInode, name));
      s.fs->forget(file->ino, 2);
      s.here[name] = s.here[a];
    } else if (what < 78) {
      const std::string a = some();
      const auto file = s.fs->lookup(kRootInode, a);
      if (file->nlink == 1) {
        const int kind = below(6);
        REQUIRE(s.fs->write(file->ino, 0, as_bytes(content(kind)), kRoot));
        s.here[a] = kind;
      }
      s.fs->forget(file->ino, 1);
    } else if (what < 81) {
      const std::string a = some();
      const auto file = s.fs->lookup(kRootInode, a);
      if (file->nlink == 1 && in_use.size() < 3) {
        in_use.emplace_back(file->ino, s.here[a]);
        s.unlink(a);
      } else {
        s.fs->forget(file->ino, 1);
      }
    } else if (what < 88) {
      s.consolidate();
    } else if (what < 90) {
      Punching punching(*s.fs);
      const auto freed = punching.find([] { return true; });
      REQUIRE(punching.run(Punching::ids_of(*freed)));
    } else if (what < 92) {
      Reorganiser reorganiser(*s.fs);
      REQUIRE(regroup(reorganiser, *grouping::make_policy(below(4) == 0 ? "none" : "directory"), {}));
    } else if (what < 94) {
      Reorganiser reorganiser(*s.fs);
      RegroupOptions options;
      options.dedupe = below(3) > 0;
      REQUIRE(change_storage(reorganiser, options));
    } else if (what < 97) {
      std::vector<std::vector<NewFile>> groups(2);
      for (int i = 0; i < 6; ++i) {
        const int kind = below(6);
        const std::string name = "i" + std::to_string(made++);
        groups[static_cast<std::size_t>(i % 2)].push_back(new_file(name, kind));
        s.here[name] = kind;
      }
      REQUIRE(s.fs->load(std::move(groups)));
    } else if (in_use.empty()) {
      s.open();
    }
    if (below(3) == 0 && !in_use.empty()) {
      std::string bytes(kLength, '\0');
      REQUIRE(*s.fs->read(in_use.back().first, 0, as_writable_bytes(bytes)) == kLength);
      REQUIRE((bytes == content(in_use.back().second)));
      if (below(2) == 0) {
        s.fs->forget(in_use.back().first, 1);
        in_use.pop_back();
      }
    }
    if (step % 20 == 19) s.expect_whole();
  }
  for (const auto& [ino, kind] : in_use) s.fs->forget(ino, 1);
  s.open();
  s.expect_whole();
}

TEST_CASE("nobody comes to share a record from which its content has moved meanwhile", "[sharing]") {
  SharingStore s;
  s.fill(3, 1);
  const Extent seen = s.inode_of("k0.0").extent;
  Inode late;
  late.ino = InodeId{700'000'000};
  late.mode = S_IFREG | 0644;
  const EntryName at{kRootInode, "late"};
  REQUIRE(*CompositeAccounts(s.fs->table()).share(seen, late, at));  // and nothing is written of it
  s.unlink("k1.0");
  s.unlink("k2.0");
  s.consolidate();
  REQUIRE(s.inode_of("k0.0").extent != seen);
  REQUIRE_FALSE(*CompositeAccounts(s.fs->table()).share(seen, late, at));
  REQUIRE(*CompositeAccounts(s.fs->table()).share(s.inode_of("k0.0").extent, late, at));
}

}  // namespace cffs::test
