// Names of zips that libarchive does not tell as they are, as an import reads them.
#include "core/transfer/zip_names.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "tests/unit/temporary_directory.h"
#include "tests/unit/transfer_store.h"

namespace cffs::test {
namespace {

struct ZipMember {
  std::string name, data;
  mode_t mode = S_IFREG | 0644;
  bool is_utf8 = false;  // it says so
  std::size_t method = 0;  // of compression, as it says: 0 is none
};
constexpr std::uint8_t kMadeByUnix = 3, kMadeOnDos = 0;

void zip_u16(std::string& out, std::size_t value) {
  out += static_cast<char>(value & 0xff);
  out += static_cast<char>(value >> 8 & 0xff);
}
void zip_u32(std::string& out, std::size_t value) {
  zip_u16(out, value & 0xffff);
  zip_u16(out, value >> 16);
}

std::uint32_t crc_of(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0xedb88320 & (0 - (crc & 1)));
  }
  return ~crc;
}

// Stored, not compressed; the directory in the order of `in_directory`.
void write_zip(const std::string& path, const std::vector<ZipMember>& members,
               const std::vector<std::size_t>& in_directory, std::uint8_t made_by) {
  std::string zip;
  std::vector<std::size_t> offsets;
  const auto common = [](std::string& out, const ZipMember& m) {
    zip_u16(out, 10), zip_u16(out, m.is_utf8 ? 0x800 : 0), zip_u16(out, m.method);  // version, flags
    zip_u32(out, 0x21 << 16);                            // 1980-01-01
    zip_u32(out, crc_of(m.data)), zip_u32(out, m.data.size()), zip_u32(out, m.data.size());
    zip_u16(out, m.name.size()), zip_u16(out, 0);
  };
  for (const ZipMember& m : members) {
    offsets.push_back(zip.size());
    zip += "PK\3\4";
    common(zip, m);
    zip += m.name + m.data;
  }
  const std::size_t directory = zip.size();
  for (const std::size_t i : in_directory) {
    zip += "PK\1\2";
    zip += '\x1e';
    zip += static_cast<char>(made_by);
    common(zip, members[i]);
    zip_u16(zip, 0), zip_u16(zip, 0), zip_u16(zip, 0);  // comment, disk, internal
    zip_u32(zip, std::size_t{members[i].mode} << 16);
    zip_u32(zip, offsets[i]);
    zip += members[i].name;
  }
  const std::size_t end = zip.size();
  zip += "PK\5\6";
  zip_u16(zip, 0), zip_u16(zip, 0), zip_u16(zip, in_directory.size()), zip_u16(zip, in_directory.size());
  zip_u32(zip, end - directory), zip_u32(zip, directory), zip_u16(zip, 0);
  std::ofstream(path, std::ios::binary) << zip;
}

struct ReadMember {
  std::string name;
  bool is_directory = false;
  bool readable = false;
};
// As an import reads them.
std::vector<ReadMember> read_zip(const std::string& path) {
  ZipNames names = ZipNames::of(path);
  const std::unique_ptr<archive, int (*)(archive*)> a(archive_read_new(), archive_read_free);
  archive_read_support_format_zip_seekable(a.get());
  REQUIRE(archive_read_open_filename(a.get(), path.c_str(), 65536) == ARCHIVE_OK);
  std::vector<ReadMember> all;
  archive_entry* entry = nullptr;
  for (;;) {
    const int state = archive_read_next_header(a.get(), &entry);
    if (state != ARCHIVE_OK && state != ARCHIVE_WARN) break;
    const bool readable = names.correct(entry);
    all.push_back({archive_entry_pathname(entry), S_ISDIR(archive_entry_mode(entry)), readable});
  }
  return all;
}

std::vector<std::string> member_names(const std::vector<ReadMember>& all) {
  std::vector<std::string> names;
  for (const ReadMember& r : all) names.push_back(r.name);
  return names;
}

}  // namespace

TEST_CASE("a member of a zip that nobody can decompress costs no other", "[transfer]") {
  const TemporaryDirectory dir;
  const std::string zip = dir.path + "/a.zip";
  const std::vector<ZipMember> members{{"a", "one"}, {"b", "two", S_IFREG | 0644, false, 97}, {"c", "three"}};
  write_zip(zip, members, {0, 1, 2}, kMadeByUnix);
  TransferStore store;
  Status done;
  const ImportReport report = store.import(zip, done);
  REQUIRE(done);
  CHECK(report.files == 2);
  CHECK(report.failed == 1);
  REQUIRE(report.problems.size() == 1);
  CHECK(report.problems.front().starts_with("'b': "));
  CHECK(store.content("a") == "one");
  CHECK(store.content("c") == "three");
}

TEST_CASE("a zip made on Unix keeps its backslashes, in whatever order its directory is", "[transfer]") {
  const TemporaryDirectory dir;
  const std::string zip = dir.path + "/a.zip";
  const std::vector<ZipMember> members{
      {"a\\b", "one"}, {"plain", "two"}, {"c/d\\e", "three"}, {"f\\g\\h", ""}};
  const std::vector<std::vector<std::size_t>> orders{{0, 1, 2, 3}, {3, 1, 0, 2}};
  for (const auto& order : orders) {
    write_zip(zip, members, order, kMadeByUnix);
    CHECK(member_names(read_zip(zip)) == std::vector<std::string>{"a\\b", "plain", "c/d\\e", "f\\g\\h"});
  }
}

TEST_CASE("a zip made on Windows has paths", "[transfer]") {
  const TemporaryDirectory dir;
  const std::string zip = dir.path + "/a.zip";
  write_zip(zip, {{"a\\b", "one"}}, {0}, kMadeOnDos);
  CHECK(member_names(read_zip(zip)) == std::vector<std::string>{"a/b"});
}

// Decomposed, as Macs have them: no other name.
TEST_CASE("a zip's names of UTF-8 are its bytes", "[transfer]") {
  const TemporaryDirectory dir;
  const std::string zip = dir.path + "/a.zip";
  const std::string decomposed = "u\xcc\x88", composed = "\xc3\xbc";
  const std::vector<ZipMember> members{
      {decomposed, "one", S_IFREG | 0644, true},         {composed, "two", S_IFREG | 0644, true},
      {composed + "dir/", "", S_IFDIR | 0700, true},     {"plain", "three", S_IFREG | 0644, true},
      {composed + "\xff", "four", S_IFREG | 0644, true}, {"latin\xfc", "five"},
      {composed + "\\x", "six", S_IFREG | 0644, true}};
  write_zip(zip, members, {0, 1, 2, 3, 4, 5, 6}, kMadeByUnix);
  const auto read = read_zip(zip);
  REQUIRE(read.size() == members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    CHECK(read[i].name == members[i].name);
    CHECK(read[i].is_directory == S_ISDIR(members[i].mode));
  }
  write_zip(zip, {{composed + "dir\\file", "one", 0, true}, {composed + "dir/", "", 0, true}}, {0, 1},
            kMadeOnDos);
  const auto of_dos = read_zip(zip);
  REQUIRE(of_dos.size() == 2);
  CHECK(of_dos[0].name == composed + "dir/file");
  CHECK(of_dos[1].name == composed + "dir/");
  CHECK(of_dos[1].is_directory);
}

TEST_CASE("a name that ends with a backslash is a file, whose data cannot be read", "[transfer]") {
  const TemporaryDirectory dir;
  const std::string zip = dir.path + "/a.zip";
  write_zip(zip, {{"empty\\", ""}, {"full\\", "data"}, {"next", "data"}}, {0, 1, 2}, kMadeByUnix);
  const auto read = read_zip(zip);
  REQUIRE(read.size() == 3);
  CHECK(read[0].name == "empty\\");
  CHECK_FALSE(read[0].is_directory);
  CHECK(read[0].readable);
  CHECK(read[1].name == "full\\");
  CHECK_FALSE(read[1].readable);
  CHECK(read[2].name == "next");
  CHECK(read[2].readable);
}

TEST_CASE("a zip whose directory is cut corrects nothing", "[transfer]") {
  const TemporaryDirectory dir;
  const std::string zip = dir.path + "/a.zip";
  write_zip(zip, {{"a\\b", "one"}, {"c\\d", "two"}}, {0, 1}, kMadeByUnix);
  std::ifstream in(zip, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    std::ofstream(zip, std::ios::binary | std::ios::trunc) << bytes.substr(0, cut);
    (void)ZipNames::of(zip);
  }
  // And one that claims to lie anywhere.
  for (std::size_t at = bytes.size() - 22; at < bytes.size(); ++at) {
    std::string wrong = bytes;
    wrong[at] = '\x7f';
    std::ofstream(zip, std::ios::binary | std::ios::trunc) << wrong;
    (void)ZipNames::of(zip);
  }
}

}  // namespace cffs::test
