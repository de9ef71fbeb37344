// Descriptors are few: what a store keeps open is bounded, whatever waits to become durable or is used without a name.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "core/fs/file_system.h"
#include "core/inspect/consistency.h"
#include "core/object/faulty_store.h"
#include "core/object/file_descriptor.h"
#include "core/object/posix_store.h"
#include "core/reorganise/reorganiser.h"
#include "core/table/table.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

StoreFormat tiny() {
  StoreFormat format;
  format.inline_max = 128;
  format.composite_file_max = 4096;
  format.composite_max = 32768;
  return format;
}

// The process may have so many open; as before when it goes.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t most) {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    rlimit now = before_;
    now.rlim_cur = most;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &now) == 0);
  }
  ~FewDescriptors() { (void)::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

std::vector<FileDescriptor> take_all() {
  std::vector<FileDescriptor> taken;
  for (;;) {
    FileDescriptor fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!fd) return taken;
    taken.push_back(std::move(fd));
  }
}

std::string content(int i) { return std::string(6000, static_cast<char>('a' + i % 26)); }
std::string name(int i) { return "file" + std::to_string(i); }

InodeId make(FileSystem& fs, int i) {
  const auto made = fs.mknod(kRootInode, name(i), S_IFREG | 0600, 0, kRoot);
  REQUIRE(made);
  REQUIRE(fs.write(made->ino, 0, as_bytes(content(i)), kRoot));
  return made->ino;
}

void expect(FileSystem& fs, InodeId ino, int i) {
  std::string found(6000, '\0');
  const auto n = fs.read(ino, 0, as_writable_bytes(found));
  REQUIRE(n);
  REQUIRE((*n == 6000 && found == content(i)));
}

}  // namespace

TEST_CASE("more large files than descriptors", "[descriptors]") {
  const FewDescriptors few(256);
  const TemporaryDirectory directory;
  const auto store = std::move(*PosixStore::open_directory(directory.path));
  REQUIRE(FileSystem::format(*store, repeatable(tiny()), SystemClock()));
  auto fs = std::move(*FileSystem::open(*store, quiet()));
  constexpr int kFiles = 600;
  std::vector<InodeId> files;
  for (int i = 0; i < kFiles; ++i) files.push_back(make(*fs, i));

  SECTION("wait for the commit") { REQUIRE(fs->sync()); }
  SECTION("are in use without a name") {
    for (int i = 0; i < kFiles; ++i) REQUIRE(fs->unlink(kRootInode, name(i)));
    REQUIRE(fs->sync());
  }
  for (int i = 0; i < kFiles; ++i) expect(*fs, files[static_cast<std::size_t>(i)], i);
  REQUIRE(fs->close());
}

TEST_CASE("members without a name keep few composites open", "[descriptors]") {
  const TemporaryDirectory directory;
  const auto medium = std::move(*PosixStore::open_directory(directory.path));
  StoreFormat format;
  format.composite_file_max = format.composite_max = 8192;
  REQUIRE(FileSystem::format(*medium, repeatable(format), SystemClock()));
  constexpr int kFiles = 300;  // two in a composite
  std::vector<InodeId> files;
  std::unique_ptr<FileSystem> fs;
  {
    const FewDescriptors few(128);
    fs = std::move(*FileSystem::open(*medium, quiet()));
    for (int i = 0; i < kFiles; ++i) files.push_back(make(*fs, i));
    REQUIRE(Reorganiser(*fs).compact_now());
    REQUIRE(medium->list("composites")->size() >= kFiles / 3);
    for (int i = 0; i < kFiles; ++i) REQUIRE(fs->unlink(kRootInode, name(i)));
    const InodeId other = make(*fs, kFiles);
    REQUIRE(fs->sync());
    expect(*fs, other, kFiles);
    for (int i = 0; i < kFiles; ++i) expect(*fs, files[static_cast<std::size_t>(i)], i);
    for (const InodeId ino : files) fs->forget(ino, 1);
    REQUIRE(fs->sync());
  }
  const std::vector<std::string> findings = find_inconsistencies(*fs).value();
  for (const std::string& finding : findings) FAIL(finding);
}

TEST_CASE("others take all descriptors, and the store goes on", "[descriptors]") {
  const FewDescriptors few(256);
  const TemporaryDirectory directory;
  const auto store = std::move(*PosixStore::open_directory(directory.path));
  REQUIRE(FileSystem::format(*store, repeatable(tiny()), SystemClock()));
  auto fs = std::move(*FileSystem::open(*store, quiet()));
  std::vector<InodeId> files;
  for (int i = 0; i < 50; ++i) files.push_back(make(*fs, i));
  REQUIRE(fs->sync());
  {
    const std::vector<FileDescriptor> taken = take_all();
    for (int i = 50; i < 60; ++i) files.push_back(make(*fs, i));
    for (int i = 0; i < 60; ++i) expect(*fs, files[static_cast<std::size_t>(i)], i);
    REQUIRE(fs->fsync(files.back()));
    REQUIRE(fs->sync());
  }
  make(*fs, 60);
  REQUIRE(fs->close());
}

TEST_CASE("data that could not be synced early is not called durable later", "[descriptors]") {
  FaultyStore store;
  REQUIRE(FileSystem::format(store, repeatable(tiny()), SystemClock()));
  FileSystemOptions options = quiet();
  options.descriptors = 40;
  auto fs = std::move(*FileSystem::open(store, options));
  bool refused = false;
  for (int i = 0; i < 30 && !refused; ++i) {
    const auto made = fs->mknod(kRootInode, name(i), S_IFREG | 0600, 0, kRoot);
    refused = !made;
    if (refused) REQUIRE(made.error().errno_value == EROFS);
    if (made) {
      const Status done = fs->write(made->ino, 0, as_bytes(content(i)), kRoot);
      INFO("file " << i << (done ? "" : done.error().message()));
      REQUIRE(done);
    }
    if (i == 9) REQUIRE(fs->sync());
    // A file that becomes large: its row of intent, its object, its data, its row; then the oldest are synced.
    if (i == 19) store.fail_operation(6, EIO, FaultyStore::Persistence::once);
  }
  REQUIRE(refused);
  REQUIRE(!fs->sync());
}

}  // namespace cffs::test
