// What a transfer does where the machine is short of something, or does not give what a file has beside its content.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "core/blob/blob_store.h"
#include "core/object/faulty_store.h"
#include "core/table/table.h"
#include "core/transfer/archive_form.h"
#include "core/transfer/directory_import.h"
#include "core/transfer/existing_files.h"
#include "core/transfer/export.h"
#include "core/transfer/import_target.h"
#include "core/transfer/store_destination.h"
#include "core/transfer/waiting_links.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/object_bytes.h"
#include "tests/unit/temporary_directory.h"

namespace {
std::atomic<int> failing_attributes = 0;  // errno of the next call that reads one; 0: the kernel's own

bool attribute_fails() {
  const int reason = failing_attributes.exchange(0);
  if (reason != 0) errno = reason;
  return reason != 0;
}
}  // namespace

// In the C library's place.
extern "C" ssize_t fgetxattr(int fd, const char* name, void* value, std::size_t size) noexcept {
  return attribute_fails() ? -1 : ::syscall(SYS_fgetxattr, fd, name, value, size);
}

namespace cffs::test {
namespace {

struct Receiving {
  MemoryStore store;
  std::unique_ptr<FileSystem> fs;
  Receiving() {
    REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
    fs = std::move(*FileSystem::open(store, quiet()));
  }
  ImportReport import(const std::string& from) {
    ImportRules rules;
    rules.update = true;
    ImportTarget target(*fs, 1, nullptr, rules);
    REQUIRE(import_directory(from, target));
    return target.finish().value();
  }
  std::string attribute(const std::string& name) {
    const auto file = fs->lookup(kRootInode, name);
    if (!file) return "no file";
    const auto value = fs->getxattr(file->ino, "user.kept");
    fs->forget(file->ino, 1);
    return value.value_or("none");
  }
};

void make_source(const std::string& path, std::size_t bytes) {
  std::ofstream(path) << std::string(bytes, 'x');
  REQUIRE(::setxattr(path.c_str(), "user.kept", "kept", 4, 0) == 0);
}

}  // namespace

TEST_CASE("a file whose attributes cannot be read for want of memory comes with the next try, and with them",
          "[transfer]") {
  for (const std::size_t bytes : {300u, 3'000'000u}) {
    TemporaryDirectory source;
    make_source(source.path + "/file", bytes);
    Receiving to;
    failing_attributes = ENOMEM;
    const ImportReport first = to.import(source.path);
    failing_attributes = 0;
    CHECK(first.failed == 1);
    REQUIRE(first.problems.size() == 1);
    CHECK(first.problems.front() == source.path + "/file, extended attributes: Cannot allocate memory");
    CHECK(to.attribute("file") == "no file");
    const ImportReport second = to.import(source.path);
    CHECK(second.failed == 0);
    CHECK(to.attribute("file") == "kept");
  }
}

TEST_CASE("a file whose attributes the medium does not give comes without them, and that is told",
          "[transfer]") {
  TemporaryDirectory source;
  make_source(source.path + "/file", 300);
  Receiving to;
  failing_attributes = EIO;
  const ImportReport report = to.import(source.path);
  failing_attributes = 0;
  CHECK(report.failed == 1);
  REQUIRE(report.problems.size() == 1);
  CHECK(report.problems.front() == source.path + "/file, extended attributes: Input/output error");
  CHECK(to.attribute("file") == "none");
}

TEST_CASE(
    "attributes of a directory that cannot be read for want of memory are told, and set by the next try",
    "[transfer]") {
  TemporaryDirectory source;
  std::filesystem::create_directory(source.path + "/folder");
  REQUIRE(::setxattr((source.path + "/folder").c_str(), "user.kept", "kept", 4, 0) == 0);
  Receiving to;
  failing_attributes = ENOMEM;
  CHECK(to.import(source.path).failed == 1);
  failing_attributes = 0;
  CHECK(to.attribute("folder") == "none");
  CHECK(to.import(source.path).failed == 0);
  CHECK(to.attribute("folder") == "kept");
}

TEST_CASE("attributes that could not be set, since the file cannot be looked up, are told", "[transfer]") {
  Receiving to;
  StoreDestination destination(*to.fs);
  std::vector<std::string> told;
  destination.tell_problems_to([&](const std::string& problem) { told.push_back(problem); });
  destination.settle(kRootInode, "gone", Inode());
  CHECK(told == std::vector<std::string>{"'gone': owner, mode or times: No such file or directory"});
}

TEST_CASE("a name that cannot be looked up for want of descriptors is not taken for a free one",
          "[transfer]") {
  MemoryStore base;
  REQUIRE(FileSystem::format(base, repeatable(), SystemClock()));
  {
    const auto fs = std::move(*FileSystem::open(base, quiet()));
    // Rows that opening the store does not read by the way.
    for (int i = 0; i < 2000; ++i)
      REQUIRE(fs->mknod(kRootInode, "some" + std::to_string(i), S_IFREG | 0644, 0, kRoot));
    fs->table().compact();  // or it is in memory
    REQUIRE(fs->close());
  }
  FaultyStore medium(copy_of(base));
  medium.count_reads(true);
  FileSystemOptions options = quiet();
  options.cache_bytes = 4096;
  const auto fs = std::move(*FileSystem::open(medium, options));
  StoreDestination destination(*fs);
  ExistingFiles existing(destination, false);
  WaitingLinks links(destination, existing);
  SECTION("of what comes") {
    medium.fail_operation(1, EMFILE, FaultyStore::Persistence::from_then_on);
    const auto found = existing.look(kRootInode, "some1000", Inode(), {});
    REQUIRE(!found);
    CHECK(found.error().errno_value == EMFILE);
  }
  SECTION("of what a link is another name of") {
    medium.fail_operation(1, EMFILE, FaultyStore::Persistence::from_then_on);
    const auto made = links.make({kRootInode, "link", kRootInode, "some1000"}, true);
    REQUIRE(!made);
    CHECK(made.error().errno_value == EMFILE);
  }
}

TEST_CASE("a link to what is not whole in an archive is told of as that is", "[transfer]") {
  Receiving from;
  for (const char* name : {"a", "b"}) {
    const auto made = from.fs->mknod(kRootInode, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(from.fs->write(made->ino, 0, as_bytes(std::string(100'000, *name)), kRoot));
    REQUIRE(from.fs->link(made->ino, kRootInode, std::string(name) + "2"));
  }
  const auto lost = from.fs->lookup(kRootInode, "a");
  REQUIRE(from.fs->close());
  from.fs.reset();
  REQUIRE(from.store.remove(BlobStore::object_name(lost->ino)));
  from.fs = std::move(*FileSystem::open(from.store, quiet()));
  TemporaryDirectory directory;
  const auto done = export_archive(*from.fs, "", directory.path + "/out.tar", ArchiveForm{});
  REQUIRE(done);
  CHECK(done->files == 2);
  CHECK(done->failed == 2);
}

}  // namespace cffs::test
