// Stores with packed composites: what users see does not change, whatever is packed, unpacked, damaged, freed or copied.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "core/backup/backup.h"
#include "core/composite/composite_store.h"
#include "core/fs/new_file.h"
#include "core/fs/rehousing.h"
#include "core/inspect/consistency.h"
#include "core/inspect/statistics.h"
#include "core/object/memory_store.h"
#include "core/reorganise/punching.h"
#include "core/reorganise/regrouping.h"
#include "core/reorganise/reorganiser.h"
#include "core/repair/repair.h"
#include "core/repair/salvage.h"
#include "core/table/system_rows.h"
#include "core/table/table.h"
#include "tests/model/memory_place.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/rot.h"
#include "tests/unit/row_inode.h"
#include "tests/unit/scrubbed.h"

namespace cffs::test {
namespace {

const Compression kPacked{Codec::zstd, 3};

struct PackedStore {
  explicit PackedStore(const Compression& how = kPacked, std::uint64_t largest_member = 256u << 10,
                       std::uint64_t largest_composite = 512u << 10) {
    StoreFormat format;
    format.composite_file_max = largest_member;
    format.composite_max = largest_composite;
    format.compression = how;
    REQUIRE(FileSystem::format(objects, repeatable(format), SystemClock()));
    open();
  }
  void open() {
    if (fs) {
      REQUIRE(fs->close());
    }
    fs.reset();
    fs = std::move(*FileSystem::open(objects, quiet()));
  }
  static std::string name(int i) { return "f" + std::to_string(i); }
  static std::string content(int i) {
    std::string text;
    while (text.size() < 9'000)
      text += "line " + std::to_string(i * 1000 + static_cast<int>(text.size())) + "\n";
    text.resize(9'000);
    return text;
  }
  void make(int from, int to) {
    for (int i = from; i < to; ++i) {
      const auto made = fs->mknod(kRootInode, name(i), S_IFREG | 0644, 0, kRoot);
      REQUIRE(made);
      REQUIRE(fs->write(made->ino, 0, as_bytes(content(i)), kRoot));
      fs->forget(made->ino, 1);
      here.insert(i);
    }
  }
  void consolidate() { REQUIRE(Reorganiser(*fs).compact_now()); }
  void unlink(int i) {
    REQUIRE(fs->unlink(kRootInode, name(i)));
    here.erase(i);
  }
  Extent extent_of(int i) {
    const Inode inode = row_inode(*fs, name(i));
    REQUIRE(inode.home == Home::composite);
    return inode.extent;
  }
  bool reads(int i) { return reads_in(*fs, i); }
  static bool reads_in(FileSystem& of, int i, InodeId directory = kRootInode) {
    const auto file = of.lookup(directory, name(i));
    REQUIRE(file);
    std::string bytes(file->size, '\0');
    const auto n = of.read(file->ino, 0, as_writable_bytes(bytes));
    of.forget(file->ino, 1);
    return n && *n == bytes.size() && bytes == content(i);
  }
  void expect_whole() {
    for (const int i : here) {
      INFO(name(i));
      REQUIRE(reads(i));
    }
    REQUIRE(*find_inconsistencies(*fs) == std::vector<std::string>{});
  }
  std::vector<std::string> composites() { return *objects.list("composites"); }
  std::string bytes_of(const std::string& object) { return *read_whole(**objects.open(object)); }
  std::size_t packed() {
    const auto names = composites();
    return static_cast<std::size_t>(std::count_if(
        names.begin(), names.end(),
        [this](const std::string& object) { return bytes_of(object).starts_with("cffsPACK"); }));
  }
  RegroupReport recompress_to(const Compression& how) {
    Reorganiser reorganiser(*fs);
    RegroupOptions options;
    options.compression = how;
    const auto done = change_storage(reorganiser, options);
    REQUIRE(done);
    return *done;
  }

  MemoryStore objects;
  std::unique_ptr<FileSystem> fs;
  std::set<int> here;
};

}  // namespace

TEST_CASE("files that became quiet, and files that are imported, are packed", "[packed]") {
  PackedStore s;
  SECTION("consolidated") {
    s.make(0, 100);
    s.consolidate();
  }
  SECTION("consolidated bit by bit: packed when nothing more comes") {
    Reorganiser reorganiser(*s.fs);
    for (int i = 0; i < 100; i += 10) {
      s.make(i, i + 10);
      REQUIRE(reorganiser.consolidate_now());
    }
    REQUIRE(s.packed() < s.composites().size());
    s.expect_whole();
    reorganiser.leave_tail();
  }
  SECTION("imported") {
    std::vector<NewFile> files;
    for (int i = 0; i < 50; ++i) {
      NewFile file;
      file.parent = kRootInode;
      file.name = PackedStore::name(i);
      file.inode.mode = S_IFREG | 0644;
      file.inode.nlink = 1;
      file.content = PackedStore::content(i);
      files.push_back(std::move(file));
      s.here.insert(i);
    }
    REQUIRE(s.fs->load({std::move(files)}));
  }
  REQUIRE(!s.composites().empty());
  REQUIRE(s.packed() == s.composites().size());
  s.expect_whole();
  const Statistics counted = *collect_statistics(*s.fs);
  REQUIRE(counted.compression == "zstd:3");
  REQUIRE(counted.stored_bytes < counted.composite_bytes / 2);
  REQUIRE(counted.by_policy.size() == 1);
  const Statistics::ByPolicy& of_policy = counted.by_policy.begin()->second;
  REQUIRE(of_policy.composites == counted.composites);
  REQUIRE(of_policy.bytes == counted.composite_bytes);
  REQUIRE(of_policy.stored_bytes == counted.stored_bytes);
  REQUIRE(counted.frames.decompressed > 0);
  REQUIRE(counted.frames.plain_bytes >= counted.live_bytes);
  REQUIRE(counted.frames.nanoseconds > 0);
  s.open();
  REQUIRE(s.fs->frames().decompressed == 0);
  s.expect_whole();
  REQUIRE(s.fs->frames().found > s.fs->frames().decompressed);  // several files in each
  s.expect_whole();
  REQUIRE(scrubbed(*s.fs).empty());
}

TEST_CASE("what is there is packed, unpacked, and packed otherwise; files stay where they are", "[packed]") {
  PackedStore s(Compression{});
  s.make(0, 100);
  s.consolidate();
  REQUIRE(s.packed() == 0);
  const Extent before = s.extent_of(40);
  const std::string plain = s.bytes_of(CompositeStore::object_name(before.composite));
  REQUIRE(s.recompress_to(kPacked).packed_anew == s.composites().size());
  REQUIRE(s.packed() == s.composites().size());
  s.expect_whole();
  REQUIRE(s.extent_of(40) == before);
  REQUIRE(s.recompress_to(kPacked).packed_anew == 0);
  REQUIRE(s.recompress_to({Codec::lz4, 0}).packed_anew == s.composites().size());
  s.expect_whole();
  s.open();
  REQUIRE(s.fs->compression() == Compression{Codec::lz4, 0});
  s.expect_whole();
  REQUIRE(s.recompress_to(Compression{}).packed_anew == s.composites().size());
  REQUIRE(s.packed() == 0);
  s.expect_whole();
  REQUIRE(s.bytes_of(CompositeStore::object_name(before.composite)) == plain);
  s.open();
  s.expect_whole();
}

TEST_CASE("a large file is a member, alone in a composite, where somebody asked for that", "[packed]") {
  PackedStore s(kPacked, 4u << 20);
  std::string text;
  for (int i = 0; text.size() < (3u << 20); ++i) text += "line " + std::to_string(i) + "\n";
  const auto home = [&] {
    const auto file = s.fs->lookup(kRootInode, "large");
    REQUIRE(file);
    const auto found = s.fs->rehousing().find({kRootInode, "large"}, file->ino);
    std::string bytes(file->size, '\0');
    REQUIRE(s.fs->read(file->ino, 0, as_writable_bytes(bytes)) == text.size());
    REQUIRE(bytes == text);
    s.fs->forget(file->ino, 1);
    REQUIRE((found && *found));
    const Inode& inode = (*found)->inode;
    REQUIRE((inode.home != Home::composite || inode.extent.composite != s.extent_of(0).composite));
    return inode.home;
  };
  const auto write = [&](InodeId ino, std::uint64_t at, std::string_view bytes) {
    REQUIRE(s.fs->write(ino, at, as_bytes(bytes), kRoot));
    s.fs->forget(ino, 1);
  };
  s.make(0, 30);
  SECTION("imported") {
    NewFile file;
    file.parent = kRootInode;
    file.name = "large";
    file.inode.mode = S_IFREG | 0644;
    file.inode.nlink = 1;
    file.content = text;
    REQUIRE(s.fs->load({{std::move(file)}}));
    s.consolidate();
  }
  SECTION("regrouped") {
    const auto made = s.fs->mknod(kRootInode, "large", S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    write(made->ino, 0, text);
    s.consolidate();
    REQUIRE(home() == Home::blob);  // by itself it stays what it is
    Reorganiser reorganiser(*s.fs);
    REQUIRE(regroup(reorganiser, *s.fs->policy(), {}));
  }
  REQUIRE(home() == Home::composite);
  s.expect_whole();
  REQUIRE(s.packed() >= 1);
  s.open();
  REQUIRE(home() == Home::composite);
  REQUIRE(scrubbed(*s.fs).empty());
  const auto file = s.fs->lookup(kRootInode, "large");
  write(file->ino, 5, "LINE");
  text.replace(5, 4, "LINE");
  REQUIRE(home() == Home::blob);
  s.consolidate();
  REQUIRE(home() == Home::blob);
  s.expect_whole();
}

TEST_CASE("small files of many directories share a composite, large ones between them or not", "[packed]") {
  PackedStore s(kPacked, 4u << 20);
  constexpr std::uint64_t kLarge = 3u << 19;
  const auto put = [&](InodeId directory, const std::string& name, const std::string& bytes) {
    const auto made = s.fs->mknod(directory, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    REQUIRE(s.fs->write(made->ino, 0, as_bytes(bytes), kRoot));
    s.fs->forget(made->ino, 1);
  };
  for (int d = 0; d < 6; ++d) {
    const auto directory = s.fs->mkdir(kRootInode, "d" + std::to_string(d), 0755, kRoot);
    REQUIRE(directory);
    for (int i = 0; i < 3; ++i) put(directory->ino, PackedStore::name(i), PackedStore::content(i));
    put(directory->ino, "f1large", std::string(kLarge, static_cast<char>('a' + d)));
    s.fs->forget(directory->ino, 1);
  }
  SECTION("regrouped as they came") {}
  SECTION("regrouped after they were consolidated") { s.consolidate(); }
  Reorganiser reorganiser(*s.fs);
  REQUIRE(regroup(reorganiser, *s.fs->policy(), {}));
  reorganiser.leave_tail();
  REQUIRE(s.composites().size() == 7);
  const Statistics counted = *collect_statistics(*s.fs);
  REQUIRE(counted.blobs == 0);
  REQUIRE(s.packed() == 7);
  s.expect_whole();
  // Asked where its holes are, a large member says that it has none.
  const auto directory = s.fs->lookup(kRootInode, "d0");
  const auto large = s.fs->lookup(directory->ino, "f1large");
  REQUIRE(large);
  REQUIRE(s.fs->next_data(large->ino, 70'000) == 70'000);
  REQUIRE(s.fs->next_hole(large->ino, 70'000) == kLarge);
  s.fs->forget(large->ino, 1);
  s.fs->forget(directory->ino, 1);
  // Uncompressed again it is still not moved unasked.
  s.recompress_to(Compression{});
  put(kRootInode, "log", std::string(kLarge, 'l'));
  s.consolidate();
  REQUIRE(collect_statistics(*s.fs)->blobs == 1);
  s.expect_whole();
}

TEST_CASE("who has a file open reads on while its composite is replaced, and after its name is gone",
          "[packed]") {
  PackedStore s(Compression{});
  s.make(0, 60);
  s.consolidate();
  const auto file = s.fs->lookup(kRootInode, s.name(7));
  REQUIRE(file);
  std::string bytes(9'000, '\0');
  REQUIRE(*s.fs->read(file->ino, 0, as_writable_bytes(bytes)) == bytes.size());
  (void)s.recompress_to(kPacked);
  REQUIRE(*s.fs->read(file->ino, 0, as_writable_bytes(bytes)) == bytes.size());
  REQUIRE(bytes == s.content(7));
  s.unlink(7);
  (void)s.recompress_to(Compression{});
  REQUIRE(*s.fs->read(file->ino, 0, as_writable_bytes(bytes)) == bytes.size());
  REQUIRE(bytes == s.content(7));
  s.fs->forget(file->ino, 1);
  s.expect_whole();
}

TEST_CASE("a composite that is being filled, or is gone, is not packed", "[packed]") {
  PackedStore s(Compression{});
  s.make(0, 10);
  Reorganiser reorganiser(*s.fs);
  REQUIRE(reorganiser.consolidate_now());
  const CompositeId id = s.extent_of(3).composite;
  REQUIRE_FALSE(*s.fs->rehousing().pack(id, kPacked));
  s.make(10, 20);
  REQUIRE(reorganiser.consolidate_now());
  REQUIRE(s.extent_of(15).composite == id);
  reorganiser.leave_tail();
  REQUIRE(*s.fs->rehousing().pack(id, kPacked));
  s.make(20, 30);
  REQUIRE(reorganiser.consolidate_now());
  REQUIRE(s.extent_of(25).composite != id);
  for (int i = 0; i < 20; ++i) s.unlink(i);
  REQUIRE(s.fs->sync());
  REQUIRE_FALSE(*s.fs->rehousing().pack(id, Compression{}));
  REQUIRE(s.composites().size() == 1);
  s.expect_whole();
}

TEST_CASE("a copy that nobody took is removed by the next user after an end without close", "[packed]") {
  PackedStore s(Compression{});
  s.make(0, 30);
  s.consolidate();
  const CompositeId id = s.extent_of(3).composite;
  const auto row = s.fs->table().get(Key::null_name(id));
  REQUIRE((row && *row));
  REQUIRE(*s.fs->composites().make_copy(id, decode_composite_row(**row)->size, kPacked));
  REQUIRE(s.composites().size() == 2);
  MemoryStore killed;
  const std::vector<std::string> all = *s.objects.list("");
  for (const std::string& object : all) {
    REQUIRE(
        (*killed.create(object, ObjectStore::Create::truncate))->write_at(0, as_bytes(s.bytes_of(object))));
  }
  s.fs->composites().drop_copy(id);
  const auto next = FileSystem::open(killed, quiet());
  REQUIRE(next);
  REQUIRE(killed.list("composites")->size() == 1);
  for (const int i : s.here) REQUIRE(PackedStore::reads_in(**next, i));
}

TEST_CASE("a copy has no zeros but within its composite", "[packed]") {
  PackedStore s;
  s.make(0, 30);
  s.consolidate();
  const CompositeId id = s.extent_of(3).composite;
  const std::uint64_t size = decode_composite_row(**s.fs->table().get(Key::null_name(id)))->size;
  using Piece = CompositeStore::Piece;
  for (const Piece& piece : {Piece{size - 8, 9}, Piece{size + 1, 0}, Piece{8, ~std::uint64_t{0} - 4}}) {
    INFO(piece.first << ", " << piece.second);
    const auto made = s.fs->composites().make_copy(id, size, kPacked, std::span(&piece, 1));
    REQUIRE_FALSE(made);
    CHECK(made.error().kind == ErrorKind::corruption);
  }
  REQUIRE(s.composites().size() == 1);
  s.expect_whole();
}

TEST_CASE("a store from before is not packed, and says why", "[packed]") {
  MemoryStore objects;
  StoreFormat format;
  format.packed_composites = false;
  REQUIRE(FileSystem::format(objects, repeatable(format), SystemClock()));
  const auto fs = *FileSystem::open(objects, quiet());
  const Status refused = fs->compress(kPacked);
  REQUIRE_FALSE(refused);
  REQUIRE(refused.error().kind == ErrorKind::usage);
  REQUIRE(refused.error().message().find("from before composites could be compressed") != std::string::npos);
}

TEST_CASE("what is freed in a packed composite comes back, by punching and by compaction", "[packed]") {
  PackedStore s;
  s.make(0, 50);
  s.consolidate();
  const std::string object = CompositeStore::object_name(s.extent_of(0).composite);
  const std::size_t before = s.bytes_of(object).size();
  for (int i = 10; i < 30; ++i) s.unlink(i);
  Punching punching(*s.fs);
  const auto freed = punching.find([] { return true; });
  REQUIRE((freed && freed->size() == 1));
  const auto done = punching.run(Punching::ids_of(*freed));
  REQUIRE(done);
  REQUIRE(s.bytes_of(object).size() < before * 9 / 10);
  REQUIRE(s.packed() == 1);
  s.expect_whole();
  s.open();
  s.expect_whole();
  for (int i = 0; i < 8; ++i) s.unlink(i);
  s.consolidate();
  REQUIRE(s.fs->sync());
  REQUIRE(s.composites().size() == 1);
  REQUIRE(s.composites().front() != object);
  REQUIRE(s.packed() == 1);
  s.expect_whole();
}

TEST_CASE("a damaged frame: its members are named, by check and scrub, and the others are whole",
          "[packed]") {
  PackedStore s;
  s.make(0, 50);
  s.consolidate();
  const std::string object = CompositeStore::object_name(s.extent_of(0).composite);
  const std::size_t size = s.bytes_of(object).size();
  flip_bit(s.objects, object, size / 2);
  s.open();
  std::size_t unreadable = 0;
  for (const int i : s.here) unreadable += s.reads(i) ? 0 : 1;
  REQUIRE(unreadable >= 1);
  REQUIRE(unreadable <= 9);  // 64 KiB of members of 9,000 bytes
  const auto found = *find_inconsistencies(*s.fs);
  REQUIRE(found.size() >= unreadable);
  for (const int i : s.here) {
    const bool named = std::any_of(found.begin(), found.end(), [&](const std::string& sentence) {
      return sentence.find("'" + PackedStore::name(i) + "'") != std::string::npos;
    });
    REQUIRE(named == !s.reads(i));
  }
  const auto said = scrubbed(*s.fs);
  for (const int i : s.here) {
    const bool named = std::any_of(said.begin(), said.end(), [&](const std::string& sentence) {
      return sentence.find(PackedStore::name(i) + " (inode") != std::string::npos;
    });
    REQUIRE(named == !s.reads(i));
  }
  // And a backup tells of them, and has the others.
  MemoryPlace place;
  place.begin();
  BackupOptions options;
  std::size_t told = 0;
  options.on_damage = [&](const std::string&) { ++told; };
  REQUIRE(Backup(*s.fs, place, options).run());
  REQUIRE(told >= unreadable);
  {
    const auto copy = FileSystem::open(*place.former(), quiet());
    REQUIRE(copy);
    for (const int i : s.here) REQUIRE(PackedStore::reads_in(**copy, i) == s.reads(i));
  }
  // With the table lost, the others come back.
  std::set<int> whole;
  for (const int i : s.here) {
    if (s.reads(i)) whole.insert(i);
  }
  MemoryStore saved;
  REQUIRE(FileSystem::format(saved, repeatable(), SystemClock()));
  const auto to = std::move(*FileSystem::open(saved, quiet()));
  REQUIRE(s.fs->close());
  REQUIRE(Salvage(s.objects, *to, [](const std::string&) {}).run());
  const auto top = to->lookup(kRootInode, "#0");
  for (const int i : whole) {
    INFO(i);
    REQUIRE(PackedStore::reads_in(*to, i, top ? top->ino : kRootInode));
  }
}

// What is read before a damaged frame ends within some record, whose file may be whole.
TEST_CASE("a scrub names those whom a damaged frame costs, once, and none of those before it", "[packed]") {
  PackedStore s(kPacked, 256u << 10, 8u << 20);
  s.make(0, 600);
  s.consolidate();
  const std::string object = CompositeStore::object_name(s.extent_of(0).composite);
  REQUIRE(s.composites().size() == 1);
  flip_bit(s.objects, object, s.bytes_of(object).size() / 4 * 3);
  s.open();
  const auto said = scrubbed(*s.fs);
  std::size_t unreadable = 0;
  for (const int i : s.here) {
    INFO(PackedStore::name(i));
    const auto named = std::count_if(said.begin(), said.end(), [&](const std::string& sentence) {
      return sentence.starts_with(PackedStore::name(i) + " (inode");
    });
    const bool reads = s.reads(i);
    unreadable += reads ? 0 : 1;
    CHECK(named == (reads ? 0 : 1));
  }
  CHECK(unreadable > 0);
}

TEST_CASE("a backup of a moment from before a composite was packed has it whole", "[packed]") {
  PackedStore s(Compression{});
  s.make(0, 10);
  Reorganiser reorganiser(*s.fs);
  REQUIRE(reorganiser.consolidate_now());
  const std::set<int> then = s.here;
  // Between the moment and the copying of composites: the tail is filled further, then packed.
  MemoryPlace place;
  place.begin();
  BackupOptions options;
  bool changed = false;
  std::vector<std::string> told;
  options.on_damage = [&](const std::string& sentence) { told.push_back(sentence); };
  options.on_progress = [&](const BackupProgress& progress) {
    if (progress.at_ns == 0 || std::exchange(changed, true)) return;
    s.make(10, 40);
    REQUIRE(reorganiser.consolidate_now());
    RegroupOptions packing;
    packing.compression = kPacked;
    REQUIRE(change_storage(reorganiser, packing)->packed_anew + s.packed() > 0);
  };
  REQUIRE(Backup(*s.fs, place, options).run());
  REQUIRE(changed);
  REQUIRE(told == std::vector<std::string>{});
  {
    const auto copy = FileSystem::open(*place.former(), quiet());
    REQUIRE(copy);
    for (const int i : then) REQUIRE(PackedStore::reads_in(**copy, i));
    REQUIRE(*find_inconsistencies(**copy) == std::vector<std::string>{});
  }
  s.expect_whole();
}

TEST_CASE("a store that has lost how it is packed is mended", "[packed]") {
  PackedStore s;
  s.make(0, 50);
  s.consolidate();
  Batch batch;
  SECTION("lost") { batch.erase(system_key(SystemField::compression), 2); }
  SECTION("malformed") { batch.put(system_key(SystemField::compression), "??"); }
  REQUIRE(s.fs->table().write(batch));
  REQUIRE(s.fs->close());
  s.fs.reset();
  {
    FileSystemOptions looking = quiet();  // as cffs fsck does
    looking.read_only = looking.keep_what_is_whole = true;
    const auto fs = std::move(*FileSystem::open(s.objects, looking));
    REQUIRE(find_inconsistencies(*fs)->size() == 1);
  }
  const auto mended = repair_store(s.objects, quiet());
  REQUIRE(mended);
  REQUIRE(mended->size() == 1);
  s.open();
  REQUIRE(s.fs->compression() == kPacked);
  s.expect_whole();
}

TEST_CASE("a store that has lost how it is packed, and its composites' rows, is mended at once", "[packed]") {
  PackedStore s;
  s.make(0, 50);
  s.consolidate();
  Batch batch;
  batch.erase(system_key(SystemField::compression), 2);
  batch.erase(Key::null_name(s.extent_of(0).composite));
  REQUIRE(s.composites().size() == 1);
  REQUIRE(s.fs->table().write(batch));
  REQUIRE(s.fs->close());
  s.fs.reset();
  REQUIRE(repair_store(s.objects, quiet()));
  s.open();
  s.expect_whole();
  REQUIRE(s.fs->compression() == kPacked);
}

TEST_CASE("a damaged index is told, and mended", "[packed]") {
  PackedStore s;
  s.make(0, 50);
  s.consolidate();
  const std::string object = CompositeStore::object_name(s.extent_of(0).composite);
  const std::size_t size = s.bytes_of(object).size();
  const bool front = GENERATE(true, false);
  flip_bit(s.objects, object, front ? 20 : size - 20);
  s.open();
  for (const int i : s.here) REQUIRE(s.reads(i));
  const auto found = *find_inconsistencies(*s.fs);
  REQUIRE(found.size() == 1);
  REQUIRE(found.front().find(object) == 0);
  REQUIRE(scrubbed(*s.fs).size() == 1);
  REQUIRE(s.fs->close());
  s.fs.reset();
  const auto mended = repair_store(s.objects, quiet());
  REQUIRE(mended);
  REQUIRE(mended->size() == 1);
  s.fs = std::move(*FileSystem::open(s.objects, quiet()));
  s.expect_whole();
  REQUIRE(scrubbed(*s.fs).empty());
}

}  // namespace cffs::test
