// Files that outgrow the table without composites: where their content may be durable somebody would wait until the blob is.
#include <catch2/catch.hpp>
#include <string>

#include "core/fs/file_system.h"
#include "core/object/memory_store.h"
#include "grouping/none_policy.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

struct WithoutComposites {
  WithoutComposites() {
    StoreFormat format;
    format.inline_max = 4096;
    REQUIRE(FileSystem::format(objects, repeatable(format), SystemClock()));
    open();
  }
  void open() {
    fs.reset();
    auto opened = FileSystem::open(objects, quiet());
    REQUIRE(opened);
    fs = std::move(*opened);
    fs->set_policy(std::make_shared<grouping::NonePolicy>());
  }
  InodeId make(const std::string& name, const std::string& content) {
    const auto made = fs->mknod(kRootInode, name, S_IFREG | 0644, 0, root);
    REQUIRE(made);
    append(made->ino, 0, content);
    return made->ino;
  }
  void append(InodeId ino, std::uint64_t at, const std::string& content) {
    REQUIRE(fs->write(ino, at, as_bytes(content), root));
  }
  std::string content(const std::string& name) {
    const auto found = fs->lookup(kRootInode, name);
    REQUIRE(found);
    std::string bytes(found->size, '\0');
    const auto n = fs->read(found->ino, 0, as_writable_bytes(bytes));
    REQUIRE(n);
    REQUIRE(*n == bytes.size());
    return bytes;
  }
  std::size_t blobs() {
    const auto names = objects.list("blobs");
    REQUIRE(names);
    return names->size();
  }
  const Caller root = Caller::privileged();
  MemoryStore objects;
  std::unique_ptr<FileSystem> fs;
};

}  // namespace

TEST_CASE("a file that was made durable outgrows the table later, nobody waits for its blob") {
  WithoutComposites s;
  const std::string head(3000, 'a'), tail(3000, 'b');
  const InodeId old = s.make("old", head);
  REQUIRE(s.fs->sync());
  s.append(old, head.size(), tail);
  CHECK(s.blobs() == 0);
  CHECK(s.content("old") == head + tail);
  (void)s.make("new", head + tail);  // nothing of it is durable
  CHECK(s.blobs() == 1);
  s.open();
  CHECK(s.content("old") == head + tail);
  CHECK(s.content("new") == head + tail);
  const std::string more(64 << 10, 'c');
  s.append(s.fs->lookup(kRootInode, "old")->ino, 6000, more);
  CHECK(s.blobs() == 2);
  CHECK(s.content("old") == head + tail + more);
}

}  // namespace cffs::test
