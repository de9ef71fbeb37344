// Stores that earlier versions made (tests/golden, scripts/make_golden_store.sh): each opens, holds what it held, and can be used.
#include <sodium/crypto_hash_sha256.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "core/fs/file_system.h"
#include "core/inspect/consistency.h"
#include "core/object/posix_store.h"
#include "core/reorganise/reorganiser.h"
#include "core/table/catalogue.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

namespace stdfs = std::filesystem;

using Lines = std::vector<std::string>;

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto u = static_cast<unsigned char>(c);
    text += kDigits[u >> 4];
    text += kDigits[u & 15];
  }
  return text;
}

std::string sha256(std::string_view bytes) {
  std::string digest(crypto_hash_sha256_BYTES, '\0');
  (void)crypto_hash_sha256(reinterpret_cast<unsigned char*>(digest.data()),
                           reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  return hex(digest);
}

std::string content(FileSystem& fs, const Attributes& file) {
  std::string bytes(file.size, '\0');
  const auto n = fs.read(file.ino, 0, as_writable_bytes(bytes));
  REQUIRE(n);
  REQUIRE(*n == bytes.size());
  return bytes;
}

// As the script that made the store wrote it of a mount: see there.
std::string line_of(FileSystem& fs, const std::string& path, const Attributes& a) {
  const mode_t type = a.mode & S_IFMT;
  std::string attributes;
  auto names = *fs.listxattr(a.ino);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (!name.starts_with("user.")) continue;
    if (!attributes.empty()) attributes += ',';
    attributes += hex(name);
    attributes += '=';
    attributes += hex(*fs.getxattr(a.ino, name));
  }
  std::ostringstream line;
  line << path << '\t' << std::oct << a.mode << std::dec << '\t' << a.uid << '\t' << a.gid << '\t' << a.nlink
       << '\t';
  if (!path.empty()) line << a.ino.value;
  line << '\t';
  if (type != S_IFDIR) line << a.size;
  line << '\t' << a.mtime_ns << '\t' << a.ctime_ns << '\t' << a.rdev << '\t';
  if (type == S_IFLNK) line << *fs.readlink(a.ino);
  line << '\t' << attributes << '\t';
  if (type == S_IFREG) line << sha256(content(fs, a));
  return line.str();
}

void append_tree(FileSystem& fs, const std::string& path, InodeId directory, Lines& lines) {
  Lines names;
  REQUIRE(fs.readdir(directory, 0, false, [&](const DirectoryEntry& entry) {
    if (entry.name != "." && entry.name != "..") names.emplace_back(entry.name);
    return true;
  }));
  for (const std::string& name : names) {
    const auto found = fs.lookup(directory, name);
    REQUIRE(found);
    const std::string below = path.empty() ? name : path + "/" + name;
    lines.push_back(line_of(fs, below, *found));
    if ((found->mode & S_IFMT) == S_IFDIR) append_tree(fs, below, found->ino, lines);
    fs.forget(found->ino, 1);
  }
}

Lines tree_of(FileSystem& fs) {
  Lines lines{line_of(fs, "", *fs.getattr(kRootInode))};
  append_tree(fs, "", kRootInode, lines);
  std::sort(lines.begin(), lines.end());
  return lines;
}

Lines expected_tree(const stdfs::path& listing) {
  std::ifstream file(listing);
  REQUIRE(file);
  Lines lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::unique_ptr<FileSystem> open(ObjectStore& store, bool read_only) {
  FileSystemOptions options = quiet();
  options.read_only = read_only;
  auto fs = FileSystem::open(store, options);
  if (!fs) FAIL(fs.error().message());
  return std::move(*fs);
}

Attributes at(FileSystem& fs, const std::string& directory, const std::string& name) {
  InodeId parent = kRootInode;
  if (!directory.empty()) parent = fs.lookup(kRootInode, directory)->ino;
  const auto found = fs.lookup(parent, name);
  REQUIRE(found);
  return *found;
}

// Every kind of change, on what every home holds.
void use(FileSystem& fs) {
  const InodeId papers = at(fs, "", "papers").ino;
  const Attributes member = at(fs, "papers", "old");
  REQUIRE(fs.write(member.ino, 7, as_bytes("the epoch"), kRoot));
  const Attributes hole = at(fs, "", "hole");
  REQUIRE(fs.write(hole.ino, 2, as_bytes("in the hole"), kRoot));
  const Attributes blob = at(fs, "", "sparse");
  REQUIRE(fs.write(blob.ino, blob.size, as_bytes(", longer"), kRoot));
  REQUIRE(fs.setxattr(papers, "user.new", "value", XattrMode::create, kRoot));
  REQUIRE(fs.rename(papers, "two.txt", kRootInode, "moved", RenameMode::no_replace, kRoot));
  REQUIRE(fs.unlink(at(fs, "", "site").ino, "17"));
  for (int i = 0; i < 50; ++i) {
    const InodeId made = fs.mknod(papers, "new" + std::to_string(i), S_IFREG | 0640, 0, kRoot)->ino;
    REQUIRE(fs.write(made, 0, as_bytes("made now"), kRoot));
  }
  REQUIRE(Reorganiser(fs).consolidate_now());
  REQUIRE(fs.sync());
}

void check_used(FileSystem& fs) {
  REQUIRE(content(fs, at(fs, "papers", "old")) == "before the epoch");
  const std::string hole = content(fs, at(fs, "", "hole"));
  std::string filled(9000, '\0');
  filled.replace(2, 11, "in the hole");
  filled += "end";
  REQUIRE(hole == filled);
  REQUIRE(content(fs, at(fs, "", "sparse")).ends_with("tail, longer"));
  REQUIRE(content(fs, at(fs, "", "moved")) == "two, changed\n");
  REQUIRE(content(fs, at(fs, "papers", "new49")) == "made now");
  REQUIRE(fs.lookup(at(fs, "", "site").ino, "17").error().errno_value == ENOENT);
}

// Of a store that has one: all names and nothing else, where it was closed.
void check_catalogue(ObjectStore& store, const Lines& expected, bool killed) {
  std::size_t names = 0;
  CatalogueVisitor visitor;
  visitor.row = [&](InodeId, const Row& row) {
    names += static_cast<std::size_t>(std::count_if(row.entries.begin(), row.entries.end(),
                                                    [](const Entry& entry) { return !entry.name.empty(); }));
  };
  const auto reading = read_catalogue(store, visitor);
  REQUIRE(reading);
  if (!*reading) return;
  REQUIRE((*reading)->whole);
  REQUIRE((killed || names + 1 == expected.size()));  // and the root
}

void check_golden_store(const stdfs::path& archive) {
  const TemporaryDirectory place;
  const std::string unpack = "tar -xJf '" + archive.string() + "' -C '" + place.path + "' --no-same-owner";
  REQUIRE(std::system(unpack.c_str()) == 0);
  std::string name = archive.filename().string();
  name.resize(name.size() - std::string_view(".tar.xz").size());
  const bool killed = name.ends_with("-killed");
  if (killed) name.resize(name.size() - std::string_view("-killed").size());
  const Lines expected = expected_tree(archive.parent_path() / (name + ".tree"));
  REQUIRE(expected.size() > 50);

  const auto store =
      std::move(*PosixStore::open_directory(place.path + "/store", PosixStore::Access::read_write));
  check_catalogue(*store, expected, killed);
  for (const bool read_only : {true, false}) {
    const auto fs = open(*store, read_only);
    REQUIRE(tree_of(*fs) == expected);
    REQUIRE(*find_inconsistencies(*fs) == Lines{});
    REQUIRE(fs->close());
  }
  Lines used;
  {
    const auto fs = open(*store, false);
    use(*fs);
    check_used(*fs);
    used = tree_of(*fs);
    REQUIRE(fs->close());
  }
  const auto fs = open(*store, false);
  check_used(*fs);
  REQUIRE(tree_of(*fs) == used);
  REQUIRE(*find_inconsistencies(*fs) == Lines{});
}

}  // namespace

TEST_CASE("stores that earlier versions made hold what they held, and can be used") {
  std::set<stdfs::path> archives;
  for (const auto& file : stdfs::directory_iterator(CFFS_SOURCE_DIR "/tests/golden")) {
    if (file.path().string().ends_with(".tar.xz")) archives.insert(file.path());
  }
  REQUIRE(archives.size() >= 2);
  for (const stdfs::path& archive : archives) {
    INFO(archive);
    check_golden_store(archive);
  }
}

}  // namespace cffs::test
