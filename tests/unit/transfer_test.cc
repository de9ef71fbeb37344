// Import and export at their edges: what could not be exported is not counted, and trees that somebody made to do harm end with a
// sentence. Archives: archive_import_test.cc.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <functional>
#include <tuple>
#include <utility>

#include "core/object/file_descriptor.h"
#include "core/transfer/directory_destination.h"
#include "core/transfer/export.h"
#include "tests/unit/failing_writeback.h"
#include "tests/unit/temporary_directory.h"
#include "tests/unit/transfer_store.h"

namespace cffs::test {
namespace {

// Names of one letter, each in the one before, with a file at the bottom.
void make_deep(const std::string& top, int levels) {
  FileDescriptor at(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < levels; ++i) {
    REQUIRE(::mkdirat(at.get(), "d", 0755) == 0);
    at = FileDescriptor(::openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(at);
  }
  const FileDescriptor file(::openat(at.get(), "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  REQUIRE(::write(file.get(), "deep", 4) == 4);
}
void remove_deep(const std::string& top) {
  FileDescriptor at(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (;;) {
    FileDescriptor below(::openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!below) break;
    at = std::move(below);
  }
  (void)::unlinkat(at.get(), "file", 0);
  for (;;) {
    FileDescriptor up(::openat(at.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (::unlinkat(up.get(), "d", AT_REMOVEDIR) != 0) return;
    at = std::move(up);
  }
}

}  // namespace

TEST_CASE("an export counts what is there, and says what is not", "[transfer]") {
  TransferStore store;
  for (int i = 0; i < 30; ++i) store.file("f" + std::to_string(i), 100);
  REQUIRE(store.fs->mkdir(kRootInode, "d", 0755, kRoot));
  const TemporaryDirectory target;
  SECTION("to a directory where some names are taken") {
    for (int i = 0; i < 25; ++i) write_transferred(target.path + "/f" + std::to_string(i), "another's");
    const auto report = export_directory(*store.fs, "", target.path);
    REQUIRE(report);
    CHECK(report->files == 5);
    CHECK(report->bytes == 500);
    CHECK(report->directories == 1);  // below the one that is exported
    CHECK(report->failed == 25);
    CHECK(report->problems.size() == 20);
  }
  SECTION("of files that are damaged") {
    store.file("large", 3'000'000);
    const auto names = store.store.list("blobs");
    REQUIRE(names->size() == 1);
    REQUIRE((*store.store.open(names->front()))->truncate(1000));
    for (const bool archive : {false, true}) {
      const auto report = archive ? export_archive(*store.fs, "", target.path + "/a.tar", {})
                                  : export_directory(*store.fs, "", target.path + "/out");
      REQUIRE(report);
      CHECK(report->files == 30);
      CHECK(report->bytes == 3000);
      CHECK(report->failed == 1);
      CHECK(report->problems.size() == 1);
    }
    TransferStore again;  // the archive is whole
    Status done;
    CHECK(again.import(target.path + "/a.tar", done).files == 31);
    CHECK(done);
  }
}

TEST_CASE("an export that is not known to be durable has failed, and the archive before it stays",
          "[transfer]") {
  TransferStore store;
  store.file("file", 100);
  const TemporaryDirectory target;
  const std::string archive = target.path + "/a.tar";
  write_transferred(archive, "before");
  failing_fsync = EIO;
  CHECK_FALSE(export_archive(*store.fs, "", archive, {}));
  REQUIRE(std::filesystem::file_size(archive) == 6);
  REQUIRE(export_archive(*store.fs, "", archive, {}));
  CHECK(std::filesystem::file_size(archive) > 6);
  const auto to = std::move(*DirectoryDestination::at(target.path, false));
  for (std::atomic<int>* const failing : {&failing_syncfs, &failing_fsync}) {
    *failing = EIO;
    CHECK_FALSE(to->sync());
    REQUIRE(to->sync());
  }
}

// A name is never seen before what it names: a power cut would show it so. (A kernel that says that it could not write stands for one
// that had no time to.)
TEST_CASE("what replaces a file, or ends with a hole, is on the medium before it has its name",
          "[transfer]") {
  TransferStore store;
  store.file("file", 1'000'000);
  const TemporaryDirectory target;
  const auto size_there = [&](const std::string& name) {
    std::error_code none;
    const auto size = std::filesystem::file_size(target.path + "/" + name, none);
    return none ? -1 : static_cast<std::int64_t>(size);
  };
  REQUIRE(export_directory(*store.fs, "", target.path));
  const auto file = store.fs->lookup(kRootInode, "file");
  REQUIRE(store.fs->write(file->ino, 1'000'000, as_bytes(std::string("more")), kRoot));
  ImportRules update;
  update.update = true;
  failing_writeback = EIO;
  const auto failed = export_directory(*store.fs, "", target.path, update);
  CHECK(failing_writeback == 0);
  CHECK((!failed || failed->failed > 0));
  CHECK(size_there("file") == 1'000'000);
  REQUIRE(export_directory(*store.fs, "", target.path, update));
  CHECK(size_there("file") == 1'000'004);

  const auto to = std::move(*DirectoryDestination::at(target.path, false));
  Inode sparse;
  sparse.mode = S_IFREG | 0644;
  sparse.size = 1000;
  const auto text = [](const WriteAt& write) { return write(0, "text"); };
  failing_writeback = EIO;
  CHECK_FALSE(to->make_file(kRootInode, "sparse", sparse, text));
  CHECK(failing_writeback == 0);
  CHECK(size_there("sparse") == -1);
  REQUIRE(to->make_file(kRootInode, "sparse", sparse, text));
  CHECK(size_there("sparse") == 1000);
}

TEST_CASE("what lies where a tree goes is no way out of it, nor somebody else's any less", "[transfer]") {
  const TemporaryDirectory target, elsewhere;
  write_transferred(elsewhere.path + "/file", "another's");
  write_transferred(target.path + "/taken", "somebody's");
  REQUIRE(::symlink((elsewhere.path + "/file").c_str(), (target.path + "/link").c_str()) == 0);
  REQUIRE(::mkfifo((target.path + "/pipe").c_str(), 0644) == 0);
  const auto to = std::move(*DirectoryDestination::at(target.path, false));
  CHECK(to->open(kRootInode, "link").error().errno_value == ELOOP);
  CHECK(to->open(kRootInode, "pipe"));  // nobody writes to it, and nobody waits
  Inode pipe;
  pipe.mode = S_IFIFO | 0644;
  CHECK(to->make_node(kRootInode, "taken", pipe).error().errno_value == EEXIST);
  CHECK(to->look(kRootInode, "taken")->size == 10);
  CHECK(to->names(kRootInode)->size() == 3 + 1);  // and the list of those that have no name yet
}

TEST_CASE("who gives no files away exports without set-id bits, but those of directories", "[transfer]") {
  const TemporaryDirectory target;
  REQUIRE(::chmod(target.path.c_str(), 0777) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(2);
    const auto to = DirectoryDestination::at(target.path, false);
    Inode wanted;
    wanted.uid = wanted.gid = 12;
    wanted.mode = S_IFREG | 07755;
    const CopyFile copy = [](const WriteAt& write) { return write(0, "text"); };
    if (!to || !(*to)->make_file(kRootInode, "file", wanted, copy)) ::_exit(3);
    wanted.mode = S_IFDIR | 07755;
    const auto made = (*to)->make_directory(kRootInode, "directory", wanted);
    if (made) (*to)->settle_directory(*made, wanted);
    ::_exit(made ? 0 : 4);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  struct stat st {};
  REQUIRE(::stat((target.path + "/file").c_str(), &st) == 0);
  CHECK((st.st_mode & 07777) == 01755);
  REQUIRE(::stat((target.path + "/directory").c_str(), &st) == 0);
  CHECK((st.st_mode & 07777) == 07755);
}

TEST_CASE("a file that ends with a hole is as long where it goes", "[transfer]") {
  const TemporaryDirectory target;
  const auto to = std::move(*DirectoryDestination::at(target.path, false));
  Inode wanted;
  wanted.mode = S_IFREG | 0644;
  wanted.size = 5'000'000;
  REQUIRE(to->make_file(kRootInode, "file", wanted, [](const WriteAt& write) { return write(0, "text"); }));
  CHECK(std::filesystem::file_size(target.path + "/file") == 5'000'000);
}

TEST_CASE("names that are one file where they come and several in the source are parted", "[transfer]") {
  TransferStore from;
  TemporaryDirectory source, out;
  const std::string a = source.path + "/a", b = source.path + "/b";
  std::ofstream(a) << "secret";
  std::filesystem::create_hard_link(a, b);
  const auto import = [&](bool checksum) {
    ImportRules rules;
    rules.update = true;
    rules.checksum = checksum;
    ImportTarget target(*from.fs, 2, nullptr, rules);
    REQUIRE(import_directory(source.path, target));
    return target.finish().value();
  };
  const auto look = [&](const char* name) {
    const auto there = from.fs->lookup(kRootInode, name);
    REQUIRE(there);
    from.fs->forget(there->ino, 1);
    return *there;
  };
  REQUIRE(import(false).links == 1);
  REQUIRE(export_directory(*from.fs, "", out.path));
  // The same content and time, as another file.
  std::filesystem::copy_file(b, source.path + "/t");
  std::filesystem::last_write_time(source.path + "/t", std::filesystem::last_write_time(b));
  std::filesystem::rename(source.path + "/t", b);
  REQUIRE(::chmod(a.c_str(), 0600) == 0);
  REQUIRE(::chmod(b.c_str(), 0644) == 0);
  const bool checksum = GENERATE(false, true);
  CHECK(import(checksum).updated == 1);
  CHECK(look("a").ino != look("b").ino);
  CHECK((look("a").mode & 07777) == 0600);
  CHECK((look("b").mode & 07777) == 0644);
  CHECK(import(checksum).updated == 0);
  ImportRules rules;
  rules.update = true;
  rules.checksum = checksum;
  const auto report = export_directory(*from.fs, "", out.path, rules);
  REQUIRE(report);
  CHECK(report->updated == 1);
  struct stat at_a {
  }, at_b{};
  REQUIRE(::stat((out.path + "/a").c_str(), &at_a) == 0);
  REQUIRE(::stat((out.path + "/b").c_str(), &at_b) == 0);
  CHECK(at_a.st_ino != at_b.st_ino);
  CHECK((at_a.st_mode & 07777) == 0600);
  CHECK((at_b.st_mode & 07777) == 0644);
  REQUIRE(from.fs->close());
}

TEST_CASE("of several sources that have a path the later one counts, each time", "[transfer]") {
  TransferStore to;
  TemporaryDirectory full, later;
  const std::string large(3'000'000, 'f'), larger(3'000'001, 'l');
  for (const auto& [path, small, big] :
       {std::tuple(full.path, "full", &large), std::tuple(later.path, "later", &larger)}) {
    std::filesystem::create_directory(path + "/d");
    std::ofstream(path + "/d/small") << small;
    std::ofstream(path + "/d/same") << "same";
    std::ofstream(path + "/d/large") << *big;
    std::filesystem::create_hard_link(path + "/d/small", path + "/d/link");
    REQUIRE(::utimensat(AT_FDCWD, (path + "/d/same").c_str(), std::array<timespec, 2>{}.data(), 0) == 0);
  }
  REQUIRE(::chmod((full.path + "/d").c_str(), 0755) == 0);
  REQUIRE(::chmod((later.path + "/d").c_str(), 0700) == 0);
  const auto import = [&](bool update) {
    ImportRules rules;
    rules.update = update;
    ImportTarget target(*to.fs, 2, nullptr, rules);
    REQUIRE(import_directory(full.path, target));
    target.source_complete();
    REQUIRE(import_directory(later.path, target));
    return target.finish().value();
  };
  const auto look = [&](const std::string& name) {
    const InodeId d = to.fs->lookup(kRootInode, "d")->ino;
    const auto there = to.fs->lookup(d, name);
    REQUIRE(there);
    std::string bytes(there->size, '\0');
    REQUIRE(to.fs->read(there->ino, 0, as_writable_bytes(bytes)) == bytes.size());
    return bytes;
  };
  SECTION("replaced") {
    for (int time = 0; time < 3; ++time) {
      const ImportReport report = import(true);
      for (const std::string& problem : report.problems) CHECK(problem == "");
      CHECK(look("small") == "later");
      CHECK(look("link") == "later");
      CHECK(look("large") == larger);
      CHECK((to.fs->lookup(kRootInode, "d")->mode & 07777) == 0700);
    }
  }
  SECTION("refused where nothing may be replaced") {
    const ImportReport report = import(false);
    CHECK(report.same == 1);
    CHECK(report.failed == 3);
    CHECK(look("small") == "full");
    CHECK(look("large") == large);
    const auto names = [&](const std::string& name) {
      return std::any_of(report.problems.begin(), report.problems.end(), [&](const std::string& p) {
        return p.find("'d/" + name + "'") != std::string::npos;
      });
    };
    CHECK(names("small"));
    CHECK(names("large"));
  }
  REQUIRE(to.fs->close());
}

TEST_CASE("what did not come has no links, and its old content no new names", "[transfer]") {
  TransferStore to;
  ImportRules rules;
  const auto there = [&](const std::string& name) { return to.fs->lookup(kRootInode, name).has_value(); };
  SECTION("refused") {
    to.file("a", 7);
    ImportTarget target(*to.fs, 2, nullptr, rules);
    Inode attributes;
    attributes.mode = S_IFREG | 0644;
    attributes.size = 5;
    target.small_file(kRootInode, "a", attributes, [](Inode&) { return Result<std::string>("hello"); });
    target.hard_link(kRootInode, "b", kRootInode, "a");
    const auto report = target.finish();
    REQUIRE(report);
    CHECK(report->failed == 2);
    CHECK(report->links == 0);
    CHECK(to.content("a") == "xxxxxxx");
    CHECK_FALSE(there("b"));
  }
  SECTION("not to be read") {
    to.file("a", 7);
    to.file("b", 3);
    rules.update = true;
    ImportTarget target(*to.fs, 2, nullptr, rules);
    Inode attributes;
    attributes.mode = S_IFREG | 0644;
    attributes.size = 5;
    const bool is_large = GENERATE(false, true);
    if (is_large) {
      target.large_file(kRootInode, "a", attributes, [](const WriteAt&) { return Status(fail(EIO)); });
    } else {
      target.small_file(kRootInode, "a", attributes, [](Inode&) { return Result<std::string>(fail(EIO)); });
    }
    target.hard_link(kRootInode, "b", kRootInode, "a");
    target.hard_link(kRootInode, "c", kRootInode, "b");
    const auto report = target.finish();
    REQUIRE(report);
    CHECK(report->failed == 3);
    CHECK(to.content("b") == "xxx");
    CHECK_FALSE(there("c"));
  }
  SECTION("but what comes once more has") {
    to.file("a", 7);
    ImportTarget target(*to.fs, 2, nullptr, rules);
    Inode attributes;
    attributes.mode = S_IFREG | 0644;
    attributes.size = 5;
    target.expect_repeats();
    target.large_file_now(kRootInode, "f", "f", attributes, [](const WriteAt&) { return Status(fail(EIO)); });
    target.forget_earlier(kRootInode, "f");
    target.small_file(kRootInode, "f", attributes, [](Inode&) { return Result<std::string>("again"); });
    target.hard_link(kRootInode, "g", kRootInode, "f");
    const auto report = target.finish();
    REQUIRE(report);
    CHECK(report->failed == 1);
    CHECK(to.content("g") == "again");
  }
  REQUIRE(to.fs->close());
}

TEST_CASE("a device that could not write an archive is told of, and a pipe is none", "[transfer]") {
  TransferStore from;
  from.file("a", 7);
  TemporaryDirectory out;
  const std::string pipe = out.path + "/pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const FileDescriptor reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  REQUIRE(reader);
  CHECK(export_archive(*from.fs, "", pipe, ArchiveForm{}));
  failing_fsync = EIO;
  const auto failed = export_archive(*from.fs, "", pipe, ArchiveForm{});
  failing_fsync = 0;
  REQUIRE_FALSE(failed);
  CHECK(failed.error().errno_value == EIO);
  REQUIRE(from.fs->close());
}

TEST_CASE("a hard link takes a directory's place where that may be", "[transfer]") {
  TransferStore to;
  TemporaryDirectory source;
  const std::string a = source.path + "/a", d = source.path + "/d";
  std::ofstream(a) << "text";
  std::filesystem::create_directories(d + "/below");
  const auto import = [&](bool update, bool erase) {
    ImportRules rules;
    rules.update = update;
    rules.erase = erase;
    ImportTarget target(*to.fs, 2, nullptr, rules);
    REQUIRE(import_directory(source.path, target));
    return target.finish().value();
  };
  REQUIRE(import(false, false).failed == 0);
  std::filesystem::remove_all(d);
  std::filesystem::create_hard_link(a, d);
  const ImportReport refused = import(true, false);
  REQUIRE(refused.problems.size() == 1);
  CHECK(refused.problems.front() == "'d' is a directory in the store; --update --delete replaces it");
  const ImportReport done = import(true, true);
  CHECK(done.failed == 0);
  CHECK(done.links == 1);
  CHECK(done.removed == 2);
  REQUIRE(to.fs->close());
}

TEST_CASE("a directory of any depth is imported", "[transfer]") {
  constexpr int kLevels = 5000;  // more than a path of the kernel's has
  const TemporaryDirectory source;
  make_deep(source.path, kLevels);
  TransferStore store;
  Status done;
  const ImportReport report = store.import(source.path, done);
  remove_deep(source.path);
  CHECK(done);
  for (const std::string& problem : report.problems) CHECK(problem.substr(0, 200) == "");
  CHECK(report.directories == kLevels);
  CHECK(report.files == 1);
  CHECK(depth_of(*store.fs) == kLevels);
}

TEST_CASE("of a large file is told how much has come while it comes", "[transfer]") {
  constexpr std::uint64_t kLarge = 64u << 20;
  const TemporaryDirectory directory;
  write_transferred(directory.path + "/large", std::string(kLarge, 'x'));
  TransferStore store;
  std::uint64_t steps = 0, most = 0, last = 0;
  {
    ImportTarget target(*store.fs, 1, [&](const ImportReport& r) {
      if (r.files > 0) last = r.under_way;
      if (r.under_way > most) ++steps;
      most = std::max(most, r.under_way);
    });
    REQUIRE(import_directory(directory.path, target));
    const ImportReport report = target.finish().value();
    CHECK(report.bytes == kLarge);
    CHECK(report.under_way == 0);
  }
  CHECK(steps >= 10);
  CHECK(most == kLarge);
  CHECK(last == 0);
}

// Between the listing of files and their turn, when the next directory is entered.
TEST_CASE("what takes a file's place while its directory is imported leads nowhere", "[transfer]") {
  const TemporaryDirectory source, elsewhere;
  const auto write = [](const std::string& path, const std::string& text) { std::ofstream(path) << text; };
  REQUIRE(::mkdir((source.path + "/a").c_str(), 0755) == 0);
  REQUIRE(::mkdir((source.path + "/z").c_str(), 0755) == 0);
  write(source.path + "/a/file", "mine");
  write(source.path + "/z/other", "mine");
  write(elsewhere.path + "/file", "somebody's");
  const std::string file = source.path + "/a/file", moved = source.path + "/.a";
  std::function<void()> swap;
  std::string problem;
  std::uint64_t files = 1;
  SECTION("a link in the place of a directory") {
    swap = [&] {
      REQUIRE(::rename((source.path + "/a").c_str(), moved.c_str()) == 0);
      REQUIRE(::symlink(elsewhere.path.c_str(), (source.path + "/a").c_str()) == 0);
    };
    problem = file + ": " + std::strerror(ELOOP);
  }
  SECTION("a pipe that nobody writes to") {
    swap = [&] {
      REQUIRE(::unlink(file.c_str()) == 0);
      REQUIRE(::mkfifo(file.c_str(), 0644) == 0);
    };
    problem = file + " became something else meanwhile; the same command looks at it again";
  }
  SECTION("a file of any size") {
    swap = [&] { REQUIRE(::truncate(file.c_str(), off_t{1} << 42) == 0); };
    problem = file + " grew while it was imported; the same command looks at it again";
  }
  SECTION("another's file comes with its mode") {
    swap = [&] {
      REQUIRE(::chmod((elsewhere.path + "/file").c_str(), 0600) == 0);
      REQUIRE(::rename((elsewhere.path + "/file").c_str(), file.c_str()) == 0);
    };
    files = 2;
  }
  TransferStore store;
  Status done;
  ImportReport report;
  {
    ImportTarget target(*store.fs, 1, [&](const ImportReport& r) {
      if (r.directories == 2 && swap) std::exchange(swap, nullptr)();
    });
    done = import_directory(source.path, target);
    report = target.finish().value();
  }
  CHECK(done);
  CHECK_FALSE(swap);
  CHECK(report.files == files);
  REQUIRE(report.problems.size() == 2 - files);
  if (files == 1) {
    CHECK(report.problems.front() == problem);
    return;
  }
  const auto directory = store.fs->lookup(kRootInode, "a");
  const auto there = store.fs->lookup(directory->ino, "file");
  REQUIRE(there);
  CHECK((there->mode & 07777) == 0600);
  store.fs->forget(there->ino, 1);
  store.fs->forget(directory->ino, 1);
}

}  // namespace cffs::test
