// A mount that follows a store, from one state to the next: nobody is left with what a file was before.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/follow/changed_keys.h"
#include "core/follow/checkpoint_view.h"
#include "core/follow/followed_file_system.h"
#include "core/follow/known_nodes.h"
#include "core/fs/new_file.h"
#include "core/object/log_filler.h"
#include "core/object/memory_store.h"
#include "core/table/checkpoint.h"
#include "tests/bad_sectors.h"
#include "tests/manual_clock.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

// Two files in the root, closed.
struct MovingStore {
  MovingStore() {
    REQUIRE(FileSystem::format(objects, repeatable(), *clock));
    const auto maker = std::move(*FileSystem::open(objects, options()));
    std::vector<NewFile> files;
    for (const char* const name : {"a", "b"}) {
      NewFile file;
      file.parent = kRootInode;
      file.name = name;
      file.inode.mode = S_IFREG | 0644;
      file.content = "as it was";
      files.push_back(std::move(file));
    }
    std::vector<std::vector<NewFile>> groups;
    groups.push_back(std::move(files));
    REQUIRE(maker->load(std::move(groups)));
    REQUIRE(maker->close());
  }
  FileSystemOptions options() const {
    FileSystemOptions o;
    o.background = false;
    o.clock = clock;
    o.keep_ms = 60'000;
    return o;
  }
  // First who follows, then who writes.
  void begin() {
    followed = *FollowedFileSystem::open(objects, options(), {});
    writer = std::move(*FileSystem::open(objects, options()));
  }
  void write(const std::string& name, const std::string& content) {
    const auto file = writer->lookup(kRootInode, name);
    REQUIRE(file);
    REQUIRE(writer->write(file->ino, 0, as_bytes(content), kRoot));
    writer->forget(file->ino, 1);
    clock->pass_ms(1'000);
    REQUIRE(writer->sync());
  }
  void change(const std::string& name, const std::string& content) {
    write(name, content);
    const auto moved = followed->move_on();
    REQUIRE(moved);
    REQUIRE(*moved);
  }
  Attributes look(const std::string& name) {
    const auto found = followed->lookup(kRootInode, name);
    REQUIRE(found);
    return *found;
  }
  std::string only_log() {
    std::string log;
    const auto names = objects.list("table");
    REQUIRE(names);
    for (const std::string& name : *names) {
      if (name.ends_with(".log")) log = name;
    }
    REQUIRE_FALSE(log.empty());
    return log;
  }

  MemoryStore objects;
  const std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  std::unique_ptr<FollowedFileSystem> followed;
  std::unique_ptr<FileSystem> writer;
};

}  // namespace

TEST_CASE("a listing in which the state moves gives nothing of before under a number of now", "[follow]") {
  MovingStore s;
  s.begin();
  const std::string content = "longer than it was before";
  std::string other;
  std::uint64_t behind_first = 0;
  std::vector<std::string> names;
  const auto visit = [&](const DirectoryEntry& entry) {
    if (entry.name.front() == '.') return true;
    names.emplace_back(entry.name);
    if (other.empty()) {
      behind_first = entry.cookie;
      other = entry.name == "a" ? "b" : "a";
      s.change(other, content);
    } else if (entry.name == other) {
      CHECK(entry.attributes.size == content.size());
    }
    return true;
  };
  REQUIRE(s.followed->readdir(kRootInode, 0, true, visit));
  if (names.size() < 2) REQUIRE(s.followed->readdir(kRootInode, behind_first, true, visit));
  REQUIRE(names.size() == 2);
  CHECK(names.back() == other);
}

TEST_CASE("a state that somebody had a file open in goes when it is closed", "[follow]") {
  MovingStore s;
  s.begin();
  s.change("b", "of the second state");
  const InodeId node = s.look("a").ino;
  REQUIRE(s.followed->opened(node));
  const std::weak_ptr<const void> state = s.followed->hold(node);
  s.change("a", "of the third");
  CHECK(s.followed->hold(node) == state.lock());  // he goes on with what he opened
  s.followed->closed(node);
  s.followed->forget(node, 1);
  s.clock->pass_ms(11'000);
  s.change("b", "of the fourth");
  CHECK(state.expired());
}

TEST_CASE("who follows a store at rest sees what is written into the room of its log", "[follow]") {
  MovingStore s;
  const auto log = *s.objects.open(s.only_log());
  const std::uint64_t end = log->info()->size;
  REQUIRE(log->append(as_bytes(log_filler(end, 256u << 10))));  // its user ended before it was cut
  s.begin();
  const InodeId before = s.look("a").ino;
  s.change("a", "written into the room");
  CHECK(s.look("a").ino != before);
}

TEST_CASE("what changed is not known from a log that is damaged", "[follow]") {
  MovingStore s;
  const std::string log = s.only_log();
  const auto to = table_state_at_rest(s.objects);
  REQUIRE(to);
  TableState from = *to;
  for (auto& [name, bytes] : from.logs) bytes = 0;
  REQUIRE(changed_keys(s.objects, from, *to)->has_value());
  REQUIRE((*s.objects.open(log))->write_at(10, as_bytes(std::string("???"))));
  const auto keys = changed_keys(s.objects, from, *to);
  REQUIRE(keys);
  CHECK_FALSE(keys->has_value());
}

TEST_CASE("a checkpoint on a sector that stays unreadable is none", "[follow]") {
  MemoryStore objects;
  Checkpoint checkpoint;
  checkpoint.sequence = 3;
  checkpoint.table.manifest = "table/MANIFEST-000004";
  REQUIRE(write_checkpoint(objects, checkpoint));
  BadSectors bad(objects);
  REQUIRE(read_checkpoint(bad)->sequence == 3);
  bad.refuse(kCheckpointObject, 5);
  const auto unreadable = read_checkpoint(bad);
  REQUIRE(unreadable);
  CHECK(unreadable->sequence == 0);
  bad.mend(kCheckpointObject);
  bad.refuse(kCheckpointObject, 5, EMFILE);  // that says nothing about it
  CHECK_FALSE(read_checkpoint(bad));
}

TEST_CASE("where everything may have changed the root may have, too", "[follow]") {
  KnownNodes known;
  for (int i = 0; i < 2; ++i) {
    const Moved moved = known.move_on(nullptr, nullptr);
    CHECK(moved.listings == std::vector<InodeId>{kRootInode});
    CHECK(moved.attributes == std::vector<InodeId>{kRootInode});
    known.refer(kRootInode, {}, true);  // by its own name: once is enough
  }
}

TEST_CASE("a blob of a state is read by who may wait", "[follow]") {
  MemoryStore objects;
  REQUIRE(
      (*objects.create("blobs/0/5", ObjectStore::Create::keep))->write_at(0, as_bytes(std::string("data"))));
  PastBytes past(objects);
  Checkpoint checkpoint;
  checkpoint.sequence = 1;  // found at rest
  CheckpointView view(objects, past, checkpoint);
  const auto blob = view.open("blobs/0/5");
  REQUIRE(blob);
  std::string out(4, '\0');
  const auto now = (*blob)->try_read_at(0, as_writable_bytes(out));
  REQUIRE(now);
  CHECK_FALSE(now->has_value());
  REQUIRE((*blob)->read_at(0, as_writable_bytes(out)));
  CHECK(out == "data");
}

}  // namespace cffs::test
