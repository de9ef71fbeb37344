// One operation on the store fails, somewhere inside a call that changes a file's content: the file is then as it was
// before the call, its size and home too, whether it has a name or not. Of a large file, which is written in place, part of
// a write, a hole or a zeroed range may be there.
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "core/fs/rehousing.h"
#include "core/inspect/consistency.h"
#include "core/object/faulty_store.h"
#include "core/reorganise/reorganiser.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/test_seeds.h"

namespace cffs::test {
namespace {

// Its files without a name are kept until they are let go of: nothing is worth waiting for.
FileSystemOptions impatient() {
  FileSystemOptions options = quiet();
  options.parting_ms = 1;
  return options;
}

constexpr std::uint64_t kLongest = 12'000;

StoreFormat tiny() {
  StoreFormat format;
  format.inline_max = 128;  // 2,048 bytes wait in the table
  format.composite_file_max = 8192;
  format.composite_max = 32768;
  return format;
}

struct Modelled {
  InodeId ino;
  std::string bytes;
  bool named = false;
};

// What a call asks for, what it makes of a content, and whether it is done in place in a large file.
struct Change {
  enum class Kind { write, truncate, reserve, punch, zero } kind;
  std::uint64_t offset = 0, length = 0;
  bool keep_size = false;
  char fill = 'a';

  bool in_place() const { return kind == Kind::write || kind == Kind::punch || kind == Kind::zero; }
  std::string applied_to(std::string bytes) const {
    const std::uint64_t end = offset + length;
    if (kind == Kind::truncate) {
      bytes.resize(length);
      return bytes;
    }
    const bool grows = kind != Kind::punch && !(keep_size && kind != Kind::write);
    if (grows && end > bytes.size()) bytes.resize(end);
    const char with = kind == Kind::write ? fill : '\0';
    if (kind != Kind::reserve) {
      for (std::uint64_t i = offset; i < std::min<std::uint64_t>(end, bytes.size()); ++i) bytes[i] = with;
    }
    return bytes;
  }
  Status ask(FileSystem& fs, InodeId ino) const {
    switch (kind) {
      case Kind::write:
        return fs.write(ino, offset, as_bytes(std::string(length, fill)), kRoot);
      case Kind::truncate: {
        AttributeChange change;
        change.size = length;
        const auto done = fs.setattr(ino, change, kRoot);
        return done ? Status() : fail(done.error());
      }
      case Kind::reserve:
        return fs.allocate(ino, offset, length, AllocateMode::reserve, keep_size, kRoot);
      case Kind::punch:
        return fs.allocate(ino, offset, length, AllocateMode::punch_hole, true, kRoot);
      case Kind::zero:
        break;
    }
    return fs.allocate(ino, offset, length, AllocateMode::zero_range, keep_size, kRoot);
  }
};

class Run {
 public:
  explicit Run(std::uint64_t seed) : random_(seed) {
    REQUIRE(FileSystem::format(store_, repeatable(tiny()), SystemClock()));
    store_.tear_failed_writes(seed % 2 == 0);
    open();
  }

  void go() {
    for (int i = 0; i < 4; ++i) make();
    for (int step = 0; step < 60; ++step) {
      INFO("step " << step);
      const std::uint64_t what = below(20);
      if (what < 3 && !writable()) reopen();
      if (what == 0) make();
      if (what == 1) unlink_one();
      if (what == 2) REQUIRE(Reorganiser(*fs_).consolidate_now());
      if (what == 3) reopen();
      if (what > 3 && !files_.empty()) change_one(files_[below(files_.size())]);
    }
    if (!writable()) reopen();
    const auto problems = find_inconsistencies(*fs_);
    REQUIRE(problems);
    REQUIRE(*problems == std::vector<std::string>{});
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  void open() {
    auto opened = FileSystem::open(store_, impatient());
    INFO((opened ? "" : opened.error().message()));
    REQUIRE(opened);
    fs_ = std::move(*opened);
  }

  // The fault may have met LevelDB's own thread: then it refuses the next write, whatever that is.
  bool writable() {
    const auto made = fs_->mknod(kRootInode, "probe", S_IFREG | 0600, 0, kRoot);
    if (!made) return false;
    fs_->forget(made->ino, 1);
    return fs_->unlink(kRootInode, "probe").has_value();
  }

  // Files without a name go.
  void reopen() {
    const bool works = writable();
    const Status closed = fs_->close();
    if (works) REQUIRE(closed);
    fs_.reset();
    open();
    std::erase_if(files_, [](const Modelled& file) { return !file.named; });
    for (Modelled& file : files_) {
      const auto found = fs_->lookup(kRootInode, name_of(file));
      REQUIRE(found);
      REQUIRE(found->ino == file.ino);
      REQUIRE(found->size == file.bytes.size());
    }
    compare_all();
  }

  static std::string name_of(const Modelled& file) { return "file" + std::to_string(file.ino.value); }

  void make() {
    const bool named = below(3) != 0;
    const std::string name = "file" + std::to_string(fs_->next_inode().value);
    const auto made = named ? fs_->mknod(kRootInode, name, S_IFREG | 0600, 0, kRoot)
                            : fs_->make_unnamed(kRootInode, 0600, kRoot);
    REQUIRE(made);
    files_.push_back({made->ino, {}, named});
    if (named) REQUIRE(name == name_of(files_.back()));
  }

  void unlink_one() {
    for (Modelled& file : files_) {
      if (!file.named) continue;
      REQUIRE(fs_->unlink(kRootInode, name_of(file)));
      file.named = false;
      return;
    }
  }

  Change any_change() {
    Change change{static_cast<Change::Kind>(below(5))};
    const std::uint64_t most = std::array<std::uint64_t, 3>{300, 3000, kLongest}[below(3)];
    change.offset = below(3) == 0 ? 0 : below(most);
    change.length = below(most) + 1;
    if (change.kind == Change::Kind::truncate) change.length = below(most);
    change.keep_size = below(2) == 0;
    change.fill = static_cast<char>('a' + below(26));
    return change;
  }

  std::string read(const Modelled& file) {
    std::string bytes(2 * kLongest + 1, '\0');
    const auto n = fs_->read(file.ino, 0, as_writable_bytes(bytes));
    REQUIRE(n);
    bytes.resize(*n);
    return bytes;
  }

  std::optional<Home> home(const Modelled& file) {
    if (!file.named) return {};
    const auto found = fs_->rehousing().find({kRootInode, name_of(file)}, file.ino);
    REQUIRE(found);
    REQUIRE(found->has_value());
    return (*found)->inode.home;
  }

  void change_one(Modelled& file) {
    const Change change = any_change();
    const auto before = fs_->getattr(file.ino);
    REQUIRE(before);
    const auto home_before = home(file);
    const int error = std::array{EIO, ENOSPC, EFBIG, EMFILE}[below(4)];
    store_.count_reads(below(2) == 0);
    store_.fail_operation(below(8) + 1, error, FaultyStore::Persistence::once);
    const Status done = change.ask(*fs_, file.ino);
    store_.fail_operation(0, 0, FaultyStore::Persistence::once);
    store_.count_reads(false);
    INFO("inode " << file.ino.value << (file.named ? "" : ", no name") << ", size " << file.bytes.size()
                  << ": kind " << static_cast<int>(change.kind) << " at " << change.offset << ", "
                  << change.length << " bytes, " << (done ? "done" : done.error().message()));
    const std::string after = change.applied_to(file.bytes);
    if (done) {
      file.bytes = after;
    } else {
      const auto now = fs_->getattr(file.ino);
      REQUIRE(now);
      REQUIRE(now->size == before->size);
      REQUIRE(now->allocated == before->allocated);
      REQUIRE(home(file) == home_before);
      const std::string found = read(file);
      REQUIRE(found.size() == file.bytes.size());
      const bool large = !home_before || *home_before == Home::blob;
      if (change.in_place() && large) {
        for (std::size_t i = 0; i < found.size(); ++i) {
          if (found[i] != file.bytes[i]) REQUIRE(found[i] == after[i]);
        }
        file.bytes = found;
      }
    }
    compare_all();
    if (!writable()) reopen();
  }

  void compare_all() {
    for (const Modelled& file : files_) {
      INFO("inode " << file.ino.value);
      const std::string found = read(file);
      REQUIRE(found.size() == file.bytes.size());
      REQUIRE(found == file.bytes);
    }
  }

  std::mt19937_64 random_;
  FaultyStore store_;
  std::unique_ptr<FileSystem> fs_;
  std::vector<Modelled> files_;
};

}  // namespace

TEST_CASE("a file without a name that cannot grow keeps its content", "[faults]") {
  for (const bool truncates : {true, false}) {
    FaultyStore store;
    REQUIRE(FileSystem::format(store, repeatable(tiny()), SystemClock()));
    auto fs = FileSystem::open(store, impatient());
    REQUIRE(fs);
    const auto made = (*fs)->make_unnamed(kRootInode, 0600, kRoot);
    REQUIRE(made);
    REQUIRE((*fs)->write(made->ino, 0, as_bytes(std::string("small")), kRoot));
    // The row of intent, the object, its content; then what fails.
    store.fail_operation(4, EFBIG, FaultyStore::Persistence::once);
    const Change change{truncates ? Change::Kind::truncate : Change::Kind::reserve, 0, 100'000};
    const Status done = change.ask(**fs, made->ino);
    REQUIRE(!done);
    REQUIRE(done.error().errno_value == EFBIG);
    std::string bytes(10, '\0');
    REQUIRE((*fs)->read(made->ino, 0, as_writable_bytes(bytes)).value() == 5);
    REQUIRE(bytes.substr(0, 5) == "small");
  }
}

// Who uses a file keeps its data when its last name goes. Where that cannot be had for want of descriptors, the name stays.
TEST_CASE("an unlink that meets a fault loses nothing for those who use the file", "[faults]") {
  for (const int error : {EMFILE, EIO}) {
    for (std::uint64_t n = 1; n < 8; ++n) {
      INFO("operation " << n << ", errno " << error);
      FaultyStore store;
      REQUIRE(FileSystem::format(store, repeatable(tiny()), SystemClock()));
      const std::string content(1000, 'c');
      for (const bool consolidated : {false, true}) {
        const std::string name = consolidated ? "member" : "inline";
        auto fs = FileSystem::open(store, impatient());
        REQUIRE(fs);
        // Its chunk lies in a block of the table that nothing else reads.
        for (int i = 0; i < 40; ++i) {
          const auto made =
              (*fs)->mknod(kRootInode, i == 20 ? name : name + std::to_string(i), S_IFREG | 0600, 0, kRoot);
          REQUIRE(made);
          REQUIRE((*fs)->write(made->ino, 0, as_bytes(content), kRoot));
        }
        if (consolidated) REQUIRE(Reorganiser(**fs).consolidate_now());
        REQUIRE((*fs)->close());
        fs = FileSystem::open(store, impatient());  // nothing is cached
        REQUIRE(fs);
        const auto file = (*fs)->lookup(kRootInode, name);
        REQUIRE(file);
        store.count_reads(true);
        store.fail_operation(n, error, FaultyStore::Persistence::once);
        const Status done = (*fs)->unlink(kRootInode, name);
        store.fail_operation(0, 0, FaultyStore::Persistence::once);
        store.count_reads(false);
        std::string found(content.size(), '\0');
        const auto read = (*fs)->read(file->ino, 0, as_writable_bytes(found));
        if (!read) REQUIRE((done && read.error().errno_value == EIO));
        if (read) REQUIRE((*read == content.size() && found == content));
        if (!done) REQUIRE((*fs)->lookup(kRootInode, name));
      }
    }
  }
}

// The object is written before the row: a kill between the two leaves bytes that belong to nobody.
TEST_CASE("what a killed write left behind a file's end never shows", "[faults]") {
  using Kind = Change::Kind;
  for (const Change& grows : {Change{Kind::truncate, 0, 40'000}, Change{Kind::write, 35'000, 10, false, 'n'},
                              Change{Kind::reserve, 30'000, 5'000}, Change{Kind::zero, 39'000, 100}}) {
    FaultyStore store;
    REQUIRE(FileSystem::format(store, repeatable(tiny()), SystemClock()));
    std::string expected(20'000, 'f');
    {
      auto fs = FileSystem::open(store, impatient());
      REQUIRE(fs);
      const auto made = (*fs)->mknod(kRootInode, "file", S_IFREG | 0600, 0, kRoot);
      REQUIRE(made);
      REQUIRE((*fs)->write(made->ino, 0, as_bytes(expected), kRoot));
      REQUIRE((*fs)->sync());
      store.fail_operation(2, EIO, FaultyStore::Persistence::from_then_on);
      REQUIRE(!(*fs)->write(made->ino, expected.size(), as_bytes(std::string(10'000, 'o')), kRoot));
    }
    store.fail_operation(0, 0, FaultyStore::Persistence::once);
    auto fs = FileSystem::open(store, impatient());
    REQUIRE(fs);
    const auto file = (*fs)->lookup(kRootInode, "file");
    REQUIRE(file);
    REQUIRE(file->size == expected.size());
    REQUIRE(grows.ask(**fs, file->ino));
    expected = grows.applied_to(expected);
    std::string found(50'000, '?');
    found.resize((*fs)->read(file->ino, 0, as_writable_bytes(found)).value());
    REQUIRE(found.size() == expected.size());
    REQUIRE((found == expected));
  }
}

TEST_CASE("a content change that fails leaves the file as it was", "[faults]") {
  for (const std::uint64_t seed : seeds(300)) {
    INFO("seed " << seed);
    Run(seed).go();
  }
}

}  // namespace cffs::test
