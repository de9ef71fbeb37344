// A scrub reads all, names what is damaged and nothing else, stops and goes on, and disturbs nobody.
#include "core/inspect/scrub.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <random>
#include <thread>

#include "core/composite/composite_store.h"
#include "core/inspect/consistency.h"
#include "core/inspect/scrub_job.h"
#include "core/inspect/statistics.h"
#include "core/object/memory_store.h"
#include "core/reorganise/reorganiser.h"
#include "tests/passing_store.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/rot.h"

namespace cffs::test {
namespace {

std::string content_of(const std::string& name, std::size_t bytes) {
  std::mt19937_64 random(std::hash<std::string>()(name));
  std::string content(bytes, '\0');
  for (char& c : content) c = static_cast<char>(random());
  return content;
}

// Of which one object cannot be opened.
struct PartlyRefusedStore final : PassingStore {
  using PassingStore::PassingStore;
  std::string refused;
  Result<std::shared_ptr<Object>> open(std::string_view name) override {
    if (name == refused) return fail(EIO, refused);
    return PassingStore::open(name);
  }
};

// Members, inline files, blobs with and without checksums, a hard link, in a few directories.
struct Scrubbed {
  MemoryStore store;
  PartlyRefusedStore medium{store};
  std::unique_ptr<FileSystem> fs;
  std::map<std::string, InodeId> files;

  Scrubbed() {
    StoreFormat format;
    format.inline_max = 512;
    format.composite_file_max = 16384;
    format.composite_max = 65536;
    REQUIRE(FileSystem::format(medium, repeatable(format), SystemClock()));
    fs = std::move(*FileSystem::open(medium, quiet()));
    const InodeId directory = fs->mkdir(kRootInode, "directory", 0755, kRoot)->ino;
    for (int i = 0; i < 40; ++i) make(directory, "member" + std::to_string(i), 5000);
    make(kRootInode, "sealed", 2'500'000);
    make(kRootInode, "linked", 300'000);
    REQUIRE(fs->link(files["linked"], directory, "again"));
    REQUIRE(Reorganiser(*fs).consolidate_now());
    make(kRootInode, "inline", 2000);
    make(directory, "unsealed", 1'500'000);
    REQUIRE(fs->sync());
  }
  void make(InodeId in, const std::string& name, std::size_t bytes) {
    files[name] = fs->mknod(in, name, S_IFREG | 0644, 0, kRoot)->ino;
    REQUIRE(fs->write(files[name], 0, as_bytes(content_of(name, bytes)), kRoot));
  }
  std::string blob(const std::string& name) { return BlobStore::object_name(files[name]); }
  FileToMove file(InodeId in, const std::string& name) {
    return **fs->rehousing().find({in, name}, files[name]);
  }

  std::vector<std::string> said;
  ScrubProgress scrub(ScrubOptions options = {}) {
    said.clear();
    options.on_damage = [this](const std::string& sentence) { said.push_back(sentence); };
    const auto done = Scrub(*fs, std::move(options)).run();
    REQUIRE(done);
    REQUIRE(done->damaged >= said.size());
    return *done;
  }
  // How often it was said that a file of this path is damaged.
  std::ptrdiff_t names(const std::string& path) const {
    return std::count_if(said.begin(), said.end(), [&](const std::string& sentence) {
      return sentence.starts_with(path + " (inode ");
    });
  }
  // That, and each member of the composite, once; and no other one.
  void expect_all_named(CompositeId composite, InodeId in, const std::string& why) {
    scrub();
    REQUIRE_FALSE(said.empty());
    CHECK(said[0] == why);
    for (int i = 0; i < 40; ++i) {
      const std::string name = "member" + std::to_string(i);
      INFO(name);
      const bool of_it = file(in, name).inode.extent.composite == composite;
      const auto told = names("directory/" + name) + (name == "member39" ? names("also") : 0);
      CHECK(told == (of_it ? 1 : 0));
    }
  }
};

ScrubOptions sealing_at_once() {
  ScrubOptions options;
  options.quiet_ms = -1000;
  return options;
}

}  // namespace

TEST_CASE("a scrub of a whole store reads everything, says nothing, and gives quiet files checksums") {
  Scrubbed s;
  CHECK(collect_statistics(*s.fs)->sealed_blobs == 2);
  const ScrubProgress first = s.scrub();
  CHECK(first.finished);
  CHECK(s.said.empty());
  CHECK(first.files == 44);
  CHECK(first.bytes >= 40 * 5000 + 2'500'000 + 300'000 + 2000 + 1'500'000);
  CHECK(first.sealed == 0);  // nothing is quiet yet
  const ScrubProgress second = s.scrub(sealing_at_once());
  CHECK(second.sealed == 1);
  CHECK(collect_statistics(*s.fs)->sealed_blobs == 3);
  CHECK(s.scrub().damaged == 0);
  CHECK(find_inconsistencies(*s.fs)->empty());
  CHECK((*Scrub::last(*s.fs))->finished);
}

TEST_CASE("a scrub names each damaged file by its path, once") {
  Scrubbed s;
  const InodeId directory = s.fs->lookup(kRootInode, "directory")->ino;
  SECTION("a member") {
    const Extent extent = s.file(directory, "member7").inode.extent;
    flip_bit(s.store, CompositeStore::object_name(extent.composite), extent.offset + 4000);
    s.scrub();
    REQUIRE(s.said.size() == 1);
    CHECK(s.said[0].find("directory/member7 (inode ") == 0);
  }
  SECTION("the header of a record: what lies behind it is still read") {
    const Extent broken = s.file(directory, "member7").inode.extent;
    const Extent behind = s.file(directory, "member8").inode.extent;
    REQUIRE(broken.composite == behind.composite);
    const std::string object = CompositeStore::object_name(broken.composite);
    flip_bit(s.store, object, broken.group_offset + 1);
    flip_bit(s.store, object, behind.offset);
    s.scrub();
    REQUIRE(s.said.size() == 2);
    CHECK(s.said[0].find(object) == 0);
    CHECK(s.said[1].find("directory/member8 (inode ") == 0);
  }
  SECTION("a composite that is cut") {
    const Extent extent = s.file(directory, "member39").inode.extent;
    REQUIRE((*s.store.open(CompositeStore::object_name(extent.composite)))->truncate(extent.offset + 10));
    s.scrub();
    REQUIRE(s.said.size() >= 2);
    CHECK(std::any_of(s.said.begin(), s.said.end(),
                      [](const std::string& line) { return line.find("directory/member39 ") == 0; }));
  }
  SECTION("a member, and the header of a record behind it") {
    const Extent one = s.file(directory, "member7").inode.extent;
    const Extent other = s.file(directory, "member8").inode.extent;
    REQUIRE(one.composite == other.composite);
    const std::string object = CompositeStore::object_name(one.composite);
    flip_bit(s.store, object, std::min(one.offset, other.offset));
    flip_bit(s.store, object, std::max(one.offset, other.offset) - kRecordHeaderBytes);
    s.scrub();
    CHECK(s.said.size() == 2);
    CHECK(s.said[0].find(object) == 0);
    CHECK(s.names(one.offset < other.offset ? "directory/member7" : "directory/member8") == 1);
  }
  SECTION("a composite that is gone, and a member of it that has two names") {
    REQUIRE(s.fs->link(s.files["member39"], kRootInode, "also"));
    const Extent extent = s.file(directory, "member38").inode.extent;
    const std::string object = CompositeStore::object_name(extent.composite);
    REQUIRE(s.store.remove(object));
    s.expect_all_named(extent.composite, directory, "object " + object + " is missing");
  }
  SECTION("a composite that cannot be opened: others are read all the same") {
    REQUIRE(s.fs->link(s.files["member39"], kRootInode, "also"));
    const Extent extent = s.file(directory, "member38").inode.extent;
    s.medium.refused = CompositeStore::object_name(extent.composite);
    flip_bit(s.store, s.blob("sealed"), 2'000'000);
    s.scrub();
    CHECK(s.names("sealed") == 1);
    flip_bit(s.store, s.blob("sealed"), 2'000'000);
    s.expect_all_named(extent.composite, directory, s.medium.refused + ": " + Error::os(EIO).message());
  }
  SECTION("a sealed blob") {
    flip_bit(s.store, s.blob("sealed"), 2'000'000);
    s.scrub();
    REQUIRE(s.said.size() == 1);
    CHECK(s.said[0].find("sealed (inode ") == 0);
    CHECK(s.said[0].find("in bytes 1998848 to 2002943") != std::string::npos);
  }
  SECTION("a sealed blob with two names") {
    flip_bit(s.store, s.blob("linked"), 0);
    s.scrub();
    REQUIRE(s.said.size() == 1);
  }
  SECTION("a blob without checksums that is short") {
    REQUIRE((*s.store.open(s.blob("unsealed")))->truncate(1000));
    s.scrub();
    REQUIRE(s.said.size() == 1);
    CHECK(s.said[0].find("directory/unsealed (inode ") == 0);
  }
  SECTION("a blob that is gone") {
    REQUIRE(s.store.remove(s.blob("unsealed")));
    s.scrub();
    REQUIRE(s.said.size() == 1);
  }
  SECTION("inline data") {
    Batch batch;
    batch.erase(Key::data(s.files["inline"], 0));
    REQUIRE(s.fs->table().write(batch));
    s.scrub();
    REQUIRE(s.said.size() == 1);
    CHECK(s.said[0].find("inline (inode ") == 0);
  }
}

TEST_CASE("a scrub that is stopped goes on from there, and --anew does not") {
  Scrubbed s;
  flip_bit(s.store, s.blob("sealed"), 5);
  std::uint64_t rounds = 0;
  ScrubProgress progress;
  for (; !progress.finished; ++rounds) {
    REQUIRE(rounds < 100);
    int pieces = 0;
    ScrubOptions options;
    bool enough = false;
    options.on_progress = [&](const ScrubProgress&) { enough = ++pieces > 6; };
    options.go_on = [&] { return !enough; };
    progress = s.scrub(options);
    const auto last = *Scrub::last(*s.fs);
    REQUIRE(last);
    CHECK(last->next == progress.next);
  }
  CHECK(rounds > 1);
  CHECK(progress.damaged >= 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the clock is a coarse one
  CHECK(s.scrub().began_ns > progress.began_ns);
}

TEST_CASE("what changes while it is scrubbed is not taken for damage") {
  Scrubbed s;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    std::mt19937_64 random(1);
    const InodeId directory = s.fs->lookup(kRootInode, "directory")->ino;
    std::vector<std::string> names;
    for (const auto& [name, ino] : s.files) names.push_back(name);
    while (!stop.load()) {
      const InodeId ino = s.files[names[random() % names.size()]];
      const std::string bytes = content_of(std::to_string(random()), random() % 8000 + 1);
      (void)s.fs->write(ino, random() % 4000, as_bytes(bytes), kRoot);
      if (random() % 4 == 0) {
        AttributeChange change;
        change.size = random() % 20'000;
        (void)s.fs->setattr(ino, change, kRoot);
      }
      if (random() % 8 == 0)
        (void)s.fs->rename(directory, "member1", directory, "member2", RenameMode::exchange, kRoot);
    }
  });
  Reorganiser reorganiser(*s.fs);
  std::thread mover([&] {
    while (!stop.load()) (void)reorganiser.compact_now();
  });
  for (int i = 0; i < 30; ++i) {
    ScrubOptions options = sealing_at_once();
    options.anew = true;
    s.scrub(options);
    for (const std::string& line : s.said) UNSCOPED_INFO(line);
    CHECK(s.said.empty());
  }
  stop.store(true);
  writer.join();
  mover.join();
  CHECK(find_inconsistencies(*s.fs)->empty());
}

TEST_CASE("a scrub as a job: asked for, watched, stopped, and gone with its file system") {
  Scrubbed s;
  flip_bit(s.store, s.blob("sealed"), 5);
  ScrubJob job(*s.fs);
  CHECK(job.status_json().find("\"idle\"") != std::string::npos);
  for (const char* nonsense :
       {"", "scrub", "[]", R"({"rate": -1})", R"({"rate": "x"})", R"({"anew": 1})", R"({"stop": 7})"}) {
    CHECK(job.request(nonsense).error().kind == ErrorKind::usage);
  }
  const auto wait_for = [&](const std::string& state) {
    for (int i = 0; i < 3000 && job.status_json().find('"' + state + '"') == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return job.status_json();
  };
  REQUIRE(job.request("{}"));
  const std::string done = wait_for("done");
  CHECK(done.find("sealed (inode ") != std::string::npos);
  CHECK(done.find("\"damaged\": 1") != std::string::npos);
  REQUIRE(job.request(R"({"rate": 1000})"));  // would take an hour
  CHECK(job.request("{}").error().errno_value == EBUSY);
  REQUIRE(job.request(R"({"stop": true})"));
  CHECK(job.status_json().find("\"stopped\"") != std::string::npos);
  REQUIRE(job.request("{}"));
  wait_for("done");
}

}  // namespace cffs::test
