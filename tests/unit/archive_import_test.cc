// Archives that come in: what their formats can say, and what somebody made to do harm.
#include <malloc.h>
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>

#include "core/transfer/export.h"
#include "tests/unit/temporary_directory.h"
#include "tests/unit/transfer_store.h"

namespace cffs::test {
namespace {

std::string octal(std::uint64_t value, std::size_t digits) {
  std::string text(digits, '0');
  for (std::size_t i = digits; i-- > 0; value /= 8) text[i] = static_cast<char>('0' + value % 8);
  return text;
}

// A header of a tar archive, ustar's.
std::string header(const std::string& name, char type, std::uint64_t size, const std::string& link = {},
                   std::uint64_t mode = 0644) {
  std::string block(512, '\0');
  name.copy(block.data(), 100);
  octal(mode, 7).copy(block.data() + 100, 7);
  octal(0, 7).copy(block.data() + 108, 7);
  octal(0, 7).copy(block.data() + 116, 7);
  octal(size, 11).copy(block.data() + 124, 11);
  octal(0, 11).copy(block.data() + 136, 11);
  block.replace(148, 8, 8, ' ');
  block[156] = type;
  link.copy(block.data() + 157, 100);
  std::string("ustar\00000", 8).copy(block.data() + 257, 8);
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  octal(sum, 6).copy(block.data() + 148, 6);
  block[154] = '\0';
  return block;
}
std::string padded(std::string bytes) {
  bytes.resize((bytes.size() + 511) / 512 * 512);
  return bytes;
}
std::string pax(const std::string& key, const std::string& value) {
  std::size_t length = key.size() + value.size() + 3;
  length += std::to_string(length + std::to_string(length).size()).size();
  const std::string record = std::to_string(length) + " " + key + "=" + value + "\n";
  return header("pax", 'x', record.size()) + padded(record);
}
// A member of a cpio archive, newc's.
std::string newc(const std::string& name, unsigned number, unsigned links, const std::string& data,
                 unsigned mode = S_IFREG | 0644) {
  std::string text = "070701";
  const auto add = [&](std::size_t value) {
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08zx", value);
    text += digits;
  };
  for (const std::size_t value :
       {std::size_t{number}, std::size_t{mode}, std::size_t{0}, std::size_t{0}, std::size_t{links},
        std::size_t{0}, data.size(), std::size_t{0}, std::size_t{0}, std::size_t{0}, std::size_t{0},
        name.size() + 1, std::size_t{0}})
    add(value);
  const auto pad = [&] { text.resize((text.size() + 3) / 4 * 4); };
  text += name + std::string(1, '\0');
  pad();
  text += data;
  pad();
  return text;
}

std::uint64_t bytes_held() {
  const struct mallinfo2 now = ::mallinfo2();
  return now.uordblks + now.hblkhd;
}

}  // namespace

TEST_CASE("an archive's deep path takes memory by its length", "[transfer]") {
  constexpr int kLevels = 40'000;
  const TemporaryDirectory directory;
  std::string path;
  for (int i = 0; i < kLevels; ++i) path += "d/";
  write_transferred(directory.path + "/deep.tar", pax("path", path + "file") + header("f", '0', 4) +
                                                      padded("deep") + std::string(1024, '\0'));
  TransferStore store;
  const std::uint64_t before = bytes_held();
  Status done;
  ImportReport report;
  std::uint64_t most = 0;
  {
    ImportTarget target(*store.fs, 1, [&](const ImportReport&) { most = std::max(most, bytes_held()); });
    done = import_archive(directory.path + "/deep.tar", target);
    report = target.finish().value();
  }
  CHECK((done ? std::string() : done.error().message()) == "");
  for (const std::string& problem : report.problems) CHECK(problem.substr(0, 200) == "");
  INFO(most - before << " bytes");
  CHECK(most - before < std::uint64_t{kLevels} * 4096);
  CHECK(depth_of(*store.fs) == kLevels);
}

// As tar -r and tar -u make it.
TEST_CASE("a name that an archive has twice leaves links to the first what they were", "[transfer]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/twice.tar";
  const auto file = [](const char* name, const std::string& content) {
    return header(name, '0', content.size()) + padded(content);
  };
  const auto link = [](const char* name, const char* to) { return header(name, '1', 0, to); };
  write_transferred(path, file("a", "old") + link("b", "a") + link("c", "a") + file("a", "new one") +
                              file("c", "its own") + link("d", "c") + std::string(1024, '\0'));
  TransferStore store;
  Status done;
  const ImportReport report = store.import(path, done);
  REQUIRE(done);
  for (const std::string& problem : report.problems) CHECK(problem == "");
  CHECK(store.content("a") == "new one");
  CHECK(store.content("b") == "old");
  CHECK(store.content("c") == "its own");
  CHECK(store.content("d") == "its own");
  CHECK(report.files == 3);
  CHECK(report.links == 1);
}

TEST_CASE("a name that an archive has as a file, then as a link to another, is that link", "[transfer]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/twice.tar";
  write_transferred(path, header("a", '0', 3) + padded("old") + header("b", '0', 3) + padded("new") +
                              header("a", '1', 0, "b") + header("b", '1', 0, "b") + std::string(1024, '\0'));
  TransferStore store;
  Status done;
  const ImportReport report = store.import(path, done);
  REQUIRE(done);
  for (const std::string& problem : report.problems) CHECK(problem == "");
  const auto a = store.fs->lookup(kRootInode, "a"), b = store.fs->lookup(kRootInode, "b");
  REQUIRE(a);
  REQUIRE(b);
  CHECK(a->ino == b->ino);
  CHECK(a->nlink == 2);
}

// Rows with other bits can be read by nobody, nor removed.
TEST_CASE("an archive's modes become those that a file can have", "[transfer]") {
  const TemporaryDirectory directory;
  std::string path = directory.path + "/modes.tar";
  std::vector<std::string> problems;
  SECTION("a tar's") {
    write_transferred(path, header("file", '0', 4, {}, 01000644) + padded("data") +
                                header("dir", '5', 0, {}, 01000755) + header("pipe", '6', 0, {}, 07000600) +
                                std::string(1024, '\0'));
  }
  SECTION("a cpio's, which has the type in it") {
    path = directory.path + "/modes.cpio";
    write_transferred(path, newc("file", 1, 1, "data", 0x10000 | S_IFREG | 0644) +
                                newc("strange", 2, 1, "", 0170000 | 0644) +
                                newc("dir", 3, 1, "", 0x30000 | S_IFDIR | 0755) +
                                newc("pipe", 4, 1, "", S_IFIFO | 0600) + newc("TRAILER!!!", 0, 1, "", 0));
    problems = {"'strange' is of a type that no file has; it was left out"};
  }
  TransferStore store;
  Status done;
  CHECK(store.import(path, done).problems == problems);
  REQUIRE(done);
  REQUIRE(store.fs->sync());
  std::map<std::string, mode_t> modes;
  REQUIRE(store.fs->readdir(kRootInode, 2, false, [&](const DirectoryEntry& entry) {
    modes.emplace(entry.name, entry.attributes.mode);
    return true;
  }));
  CHECK(modes == std::map<std::string, mode_t>{
                     {"dir", S_IFDIR | 0755}, {"file", S_IFREG | 0644}, {"pipe", S_IFIFO | 0600}});
  CHECK(store.fs->mknod(kRootInode, "new", S_IFMT | 0644, 0, kRoot).error().errno_value == EINVAL);
}

TEST_CASE("a name that comes twice in a cpio empties no other file", "[transfer]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/twice.cpio";
  std::vector<std::string> problems;
  std::string expected = "content";
  std::string repeated = "d";
  SECTION("that of a file by itself") {}
  SECTION("the only one of those that wait for their data") { repeated = "only"; }
  SECTION("one of those that wait for their data") {
    repeated = "a";
    expected = "";
    problems = {"'c': its data comes after another member has taken one of its names; it is empty"};
  }
  write_transferred(path, newc("a", 1, 3, "") + newc("b", 1, 3, "") + newc("only", 4, 2, "") +
                              newc("d", 2, 1, "first") + newc(repeated, 3, 1, "last") +
                              newc("c", 1, 3, "content") + newc("late", 4, 2, "its own") +
                              newc("TRAILER!!!", 0, 1, "", 0));
  TransferStore store;
  Status done;
  CHECK(store.import(path, done).problems == problems);
  REQUIRE(done);
  CHECK(store.content(repeated) == "last");
  CHECK(store.content("b") == expected);
  CHECK(store.content("c") == expected);
  CHECK(store.content("late") == "its own");
}

TEST_CASE("the names of a file in a cpio have its data where the last of them is left out", "[transfer]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/last.cpio";
  std::string last;
  SECTION("excluded") { last = "gone"; }
  SECTION("out of the archive") { last = "../left"; }
  SECTION("no directory") { last = "file/left"; }
  write_transferred(path, newc("file", 9, 1, "a file") + newc("a", 1, 3, "") + newc("b", 1, 3, "") +
                              newc(last, 1, 3, "content") + newc("TRAILER!!!", 0, 1, "", 0));
  TransferStore store;
  ImportRules rules;
  rules.excludes = Excludes({"gone"});
  ImportTarget target(*store.fs, 2, nullptr, rules);
  REQUIRE(import_archive(path, target));
  REQUIRE(target.finish());
  CHECK(store.content("a") == "content");
  CHECK(store.content("b") == "content");
}

TEST_CASE("what ends a gzip is looked at", "[transfer]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/a.tar";
  write_transferred(path, header("file", '0', 4) + padded("data") + std::string(10240, '\0'));
  REQUIRE(std::system(
              ("gzip -k " + path + " && cat " + path + ".gz " + path + ".gz >" + path + "2.gz").c_str()) ==
          0);
  std::string bytes;
  {
    std::ifstream in(path + ".gz", std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  REQUIRE(bytes.size() > 60);
  const auto said = [&](const std::string& archive) {
    TransferStore store;
    Status done;
    (void)store.import(archive, done);
    return done ? std::string() : done.error().message();
  };
  CHECK(said(path) == "");
  CHECK(said(path + ".gz") == "");
  CHECK(said(path + "2.gz") == "");  // several are one
  std::string damaged = bytes;
  damaged[damaged.size() - 8] ^= 1;
  write_transferred(path + ".gz", damaged);
  CHECK(said(path + ".gz").find("its gzip data is damaged: ") != std::string::npos);
  damaged = bytes;
  damaged[damaged.size() - 1] ^= 1;
  write_transferred(path + ".gz", damaged);
  CHECK(said(path + ".gz").find("its gzip data is damaged: ") != std::string::npos);
  for (const std::size_t lost : {std::size_t{1}, std::size_t{8}, std::size_t{20}}) {
    write_transferred(path + ".gz", bytes.substr(0, bytes.size() - lost));
    CHECK(said(path + ".gz").find("its gzip data is cut off") != std::string::npos);
  }
}

// 1969-12-31 12:00:00.5, as pax(1) has it.
TEST_CASE("a time before 1970 has its fraction in an archive on either way", "[transfer]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/early.tar", back = directory.path + "/back.tar";
  write_transferred(path, pax("mtime", "-43199.5") + header("half", '0', 0) + pax("mtime", "-43200") +
                              header("whole", '0', 0) + std::string(1024, '\0'));
  for (const std::string& archive : {path, back}) {
    TransferStore store;
    Status done;
    (void)store.import(archive, done);
    REQUIRE(done);
    const auto time_of = [&](const char* name) {
      const auto found = store.fs->lookup(kRootInode, name);
      REQUIRE(found);
      store.fs->forget(found->ino, 1);
      return found->mtime_ns;
    };
    CHECK(time_of("half") == -43'199'500'000'000);
    CHECK(time_of("whole") == -43'200'000'000'000);
    if (archive == path) REQUIRE(export_archive(*store.fs, "/", back, ArchiveForm{}, ImportRules{}, nullptr));
  }
}

// libarchive tells of holes with the path that fits a plain header, of which it has left out the middle.
TEST_CASE("a file with holes and a long path comes into its own place of a tar", "[transfer]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/holes.tar";
  const std::string middle(150, 'x');
  TransferStore from, to;
  const auto inode_of = [&](FileSystem& fs, const std::string& name, bool make) {
    InodeId at = kRootInode;
    for (const std::string& folder : {std::string("d"), middle, std::string("sub")}) {
      if (make) (void)fs.mkdir(at, folder, 0755, kRoot);
      const auto found = fs.lookup(at, folder);
      REQUIRE(found);
      at = found->ino;
    }
    if (make) REQUIRE(fs.mknod(at, name, S_IFREG | 0644, 0, kRoot));
    return fs.lookup(at, name);
  };
  constexpr std::uint64_t kHole = 1u << 20;
  const std::vector<std::string> names = {"\xc3\xbc", "u", std::string(101, 'n')};
  for (const std::string& name : names) {
    const auto file = inode_of(*from.fs, name, true);
    REQUIRE(file);
    REQUIRE(from.fs->write(file->ino, kHole, as_bytes("end of " + name), kRoot));
  }
  REQUIRE(export_archive(*from.fs, "/", path, ArchiveForm{}, ImportRules{}, nullptr));
  Status done;
  (void)to.import(path, done);
  REQUIRE(done);
  for (const std::string& name : names) {
    INFO(name);
    const auto file = inode_of(*to.fs, name, false);
    REQUIRE(file);
    std::string bytes(name.size() + 7, '\0');
    REQUIRE(to.fs->read(file->ino, kHole, as_writable_bytes(bytes)) == bytes.size());
    CHECK(bytes == "end of " + name);
  }
}

// They cannot be held; the nearest that can be are the same on every machine.
TEST_CASE("an archive's times may be of any century", "[transfer]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/times.tar";
  write_transferred(path, pax("mtime", "99999999999999") + header("late", '0', 0) +
                              pax("mtime", "-99999999999999") + header("early", '0', 0) +
                              pax("mtime", "1.5") + header("usual", '0', 0) + std::string(1024, '\0'));
  TransferStore store;
  Status done;
  const ImportReport report = store.import(path, done);
  REQUIRE(done);
  CHECK(report.files == 3);
  const auto time_of = [&](const std::string& name) {
    const auto found = store.fs->lookup(kRootInode, name);
    REQUIRE(found);
    store.fs->forget(found->ino, 1);
    return found->mtime_ns;
  };
  CHECK(time_of("late") == std::numeric_limits<std::int64_t>::max());
  CHECK(time_of("early") == std::numeric_limits<std::int64_t>::min());
  CHECK(time_of("usual") == 1'500'000'000);
  const auto exported = export_directory(*store.fs, "", directory.path + "/exported");
  REQUIRE(exported);
  CHECK(exported->files == 3);
  struct stat st {};
  REQUIRE(::stat((directory.path + "/exported/usual").c_str(), &st) == 0);
  CHECK(to_ns(st.st_mtim) == 1'500'000'000);
}

// Cut to 32 bits the first would be root's.
TEST_CASE("an owner whose number no file has is nobody", "[transfer]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/owners.tar";
  write_transferred(path, pax("uid", "4294967296") + header("beyond", '0', 0) + pax("gid", "4294967295") +
                              header("none", '0', 0) + pax("uid", "4294967294") + header("last", '0', 0) +
                              std::string(1024, '\0'));
  TransferStore store;
  Status done;
  const ImportReport report = store.import(path, done);
  REQUIRE(done);
  CHECK(report.files == 3);
  CHECK(report.failed == 2);
  const auto owners_of = [&](const std::string& name) {
    const auto found = store.fs->lookup(kRootInode, name);
    REQUIRE(found);
    store.fs->forget(found->ino, 1);
    return std::pair(found->uid, found->gid);
  };
  constexpr std::uint32_t kNobody = 65534;
  CHECK(owners_of("beyond").first == kNobody);
  CHECK(owners_of("none").second == kNobody);
  CHECK(owners_of("last").first == 4'294'967'294);
}

TEST_CASE("an archive's attributes take memory by what files can have of them", "[transfer]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/attributes.tar";
  const char type = GENERATE('0', '5');
  {
    std::ofstream out(path, std::ios::binary);
    const std::string one = pax("SCHILY.xattr.user.x", std::string(900'000, 'x'));
    for (int i = 0; i < 60; ++i) out << one << header("f" + std::to_string(i), type, 0);
    out << pax("SCHILY.xattr.user.y", "small") << header("last", type, 0) << std::string(1024, '\0');
  }
  TransferStore store;
  ImportTarget target(*store.fs, 1, nullptr);
  const std::uint64_t before = bytes_held();
  REQUIRE(import_archive(path, target));
  CHECK(bytes_held() < before + (10u << 20));
  const auto report = target.finish();
  REQUIRE(report);
  CHECK(report->failed == 60);
  REQUIRE_FALSE(report->problems.empty());
  CHECK(report->problems.front() ==
        "'f0': 1 of its extended attributes ('user.x') are more than a file can have, and were left out");
  const auto last = store.fs->lookup(kRootInode, "last");
  REQUIRE(last);
  CHECK(store.fs->getxattr(last->ino, "user.y").value() == "small");
  CHECK(store.fs->lookup(kRootInode, "f59"));
}

TEST_CASE("what directories' attributes take until the end of an import is bounded", "[transfer]") {
  TransferStore store;
  ImportTarget target(*store.fs, 1, nullptr);
  Inode attributes;
  attributes.mode = S_IFDIR | 0755;
  attributes.xattrs = {{"user.x", std::string(60'000, 'x')}, {"user.y", std::string(60'000, 'y')}};
  constexpr int kDirectories = 1500;
  const std::uint64_t before = bytes_held();
  for (int i = 0; i < kDirectories; ++i) {
    const auto made = target.directory(kRootInode, "d" + std::to_string(i), attributes);
    REQUIRE(made);
    target.directory_attributes(*made, attributes);  // as archives have it: again
  }
  CHECK(bytes_held() < before + (150u << 20));
  const auto report = target.finish();
  REQUIRE(report);
  CHECK(report->failed == 1);
  CHECK(store.fs->getxattr(store.fs->lookup(kRootInode, "d0")->ino, "user.x").value().size() == 60'000);
  CHECK_FALSE(store.fs->getxattr(store.fs->lookup(kRootInode, "d1499")->ino, "user.x"));
}

TEST_CASE("an archive whose header has no end is refused", "[transfer]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/bomb.tar";
  std::ofstream out(path, std::ios::binary);
  const auto put = [&](const std::string& bytes) { out << bytes; };
  SECTION("a map of holes") {
    constexpr std::uint64_t kEntries = 8'000'000;
    std::string attributes;
    for (const auto& [key, value] : {std::pair{"GNU.sparse.major", "1"},
                                     {"GNU.sparse.minor", "0"},
                                     {"GNU.sparse.name", "sparse"},
                                     {"GNU.sparse.realsize", "100"}}) {
      const std::string body = std::string(" ") + key + "=" + value + "\n";
      std::size_t length = body.size() + 2;
      attributes += std::to_string(length) + body;
    }
    put(header("pax", 'x', attributes.size()) + padded(attributes));
    put(header("f", '0', 64 * kEntries));
    put(std::to_string(kEntries) + "\n");
    std::string lines;
    for (int i = 0; i < 100'000; ++i) lines += "0\n0\n";
    for (std::uint64_t done = 0; done < kEntries; done += 100'000) put(lines);
  }
  SECTION("headers of headers") {
    const std::string one = pax("comment", std::string(900'000, 'x'));
    for (int i = 0; i < 40; ++i) put(one);
    put(header("f", '0', 0));
  }
  out.close();
  REQUIRE(out);
  TransferStore store;
  const std::uint64_t before = bytes_held();
  Status done;
  std::uint64_t after = 0;
  {
    ImportTarget target(*store.fs, 1, nullptr);
    done = import_archive(path, target);
    after = bytes_held();
    REQUIRE(target.finish());
  }
  REQUIRE_FALSE(done);
  INFO(done.error().message());
  CHECK(done.error().message().find("header") != std::string::npos);
  CHECK(after - before < (200u << 20));
}

}  // namespace cffs::test
