// The worked example of docs/ON_DISK_FORMAT.md: what the engine writes for it, byte for byte.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "core/composite/composite_store.h"
#include "core/fs/file_system.h"
#include "core/fs/new_file.h"
#include "core/object/memory_store.h"
#include "core/table/name_hash.h"
#include "core/table/table.h"
#include "tests/unit/object_bytes.h"

namespace cffs::test {
namespace {

class FixedClock final : public Clock {
 public:
  explicit FixedClock(std::int64_t now) : now_(now) {}
  std::int64_t now_ns() const override { return now_; }
  std::int64_t steady_ms() const override { return 0; }

 private:
  const std::int64_t now_;
};

// The page's code blocks after this heading.
std::vector<std::vector<std::string>> blocks_after(const std::string& heading) {
  std::ifstream page(CFFS_SOURCE_DIR "/docs/ON_DISK_FORMAT.md");
  REQUIRE(page);
  std::vector<std::vector<std::string>> blocks;
  bool there = false, inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line == heading) there = true;
    if (!there) continue;
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) blocks.emplace_back();
    } else if (inside) {
      blocks.back().push_back(line);
    }
  }
  return blocks;
}

// The bytes of a block: what stands left of four spaces; a number of three digits counts the bytes before it.
std::string bytes_of(const std::vector<std::string>& block) {
  std::string bytes;
  for (const std::string& line : block) {
    std::istringstream words(line.substr(0, line.find("    ")));
    for (std::string word; words >> word;) {
      const auto value = std::stoul(word, nullptr, 16);
      if (word.size() == 3) {
        REQUIRE(value == bytes.size());
      } else {
        REQUIRE(word.size() == 2);
        bytes += static_cast<char>(value);
      }
    }
  }
  return bytes;
}

SipKey counting_key() {
  SipKey key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i);
  return key;
}

}  // namespace

TEST_CASE("the worked example of the format's page is what is written: a superblock") {
  const auto blocks = blocks_after("## A worked example");
  REQUIRE(blocks.size() == 5);
  StoreFormat format;
  format.created_ns = 1'700'000'000'000'000'000;
  format.uuid = "0123456789abcdef0123456789abcdef";
  format.made_by = "cffs 0.1.0";
  format.name_hash = NameHash::keyed(counting_key());
  MemoryStore store;
  REQUIRE(write_format(store, format));
  REQUIRE(bytes_of(store, "superblock") == bytes_of(blocks[4]));
}

TEST_CASE("the worked example of the format's page is what is written") {
  const auto blocks = blocks_after("## A worked example");
  REQUIRE(blocks.size() == 5);
  const std::string key = bytes_of(blocks[0]), value = bytes_of(blocks[1]), object = bytes_of(blocks[2]),
                    composite_row = bytes_of(blocks[3]);
  REQUIRE(key.size() == kKeyBytes);
  const auto shown = decode_row(value);
  REQUIRE(shown);
  const Inode& inode = *shown->entries.at(0).inode;
  REQUIRE(inode.mtime_ns == 1'700'000'000'000'000'000);

  MemoryStore store;
  FileSystemOptions options;
  options.background = false;
  options.policy = grouping::make_policy("directory");
  options.clock = std::make_shared<FixedClock>(inode.ctime_ns);
  StoreFormat format;
  format.name_hash = NameHash::keyed(counting_key());
  REQUIRE(FileSystem::format(store, format, *options.clock));
  const auto fs = *FileSystem::open(store, options);
  const auto directory = fs->mkdir(kRootInode, "dir", 0755, Caller::privileged());
  REQUIRE(directory->ino == InodeId{2});
  Inode attributes;
  attributes.mode = S_IFREG | 0644;
  attributes.mtime_ns = attributes.atime_ns = inode.mtime_ns;
  attributes.ctime_ns = attributes.btime_ns = inode.ctime_ns;
  std::vector<std::vector<NewFile>> group(1);
  group[0].push_back({directory->ino, "b", attributes, "second\n"});
  group[0].push_back({directory->ino, "a.txt", attributes, "hello, composite\n"});
  REQUIRE(fs->load(std::move(group))->empty());

  const Key row_key = Key::entry(directory->ino, (*format.name_hash)("b"));
  REQUIRE(EncodedKey(row_key).view() == key);
  REQUIRE(**fs->table().get(row_key) == value);
  REQUIRE(**fs->table().get(Key::null_name(CompositeId{3})) == composite_row);
  const auto written = *store.open("composites/0/3");
  REQUIRE(written->info()->size == 240);
  std::string bytes(object.size(), '\0');
  REQUIRE(*written->read_at(0, as_writable_bytes(bytes)) == object.size());
  REQUIRE(bytes == object);
}

}  // namespace cffs::test
