// Looking into a store without a mount: places, paths, what find looks for, lines of ls, sums of du.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>

#include "core/backend/store_place.h"
#include "core/browse/disk_usage.h"
#include "core/browse/find_expression.h"
#include "core/browse/listing.h"
#include "core/browse/tree_path.h"
#include "core/browse/tree_walk.h"
#include "core/object/memory_store.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

struct BrowsedStore {
  MemoryStore objects;
  std::unique_ptr<FileSystem> fs;
  BrowsedStore() {
    REQUIRE(FileSystem::format(objects, repeatable(), SystemClock()));
    fs = std::move(*FileSystem::open(objects, quiet()));
  }
  InodeId directory(InodeId in, const std::string& name) { return fs->mkdir(in, name, 0755, kRoot)->ino; }
  InodeId file(InodeId in, const std::string& name, std::size_t bytes = 0) {
    const auto made = fs->mknod(in, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    if (bytes > 0) REQUIRE(fs->write(made->ino, 0, as_bytes(std::string(bytes, 'x')), kRoot));
    return made->ino;
  }
  std::string error_of(const std::string& path, LastLink last = LastLink::follow) {
    const auto found = find_path(*fs, path, last, "S:" + path);
    return found ? "found" : found.error().message();
  }
  InodeId at(const std::string& path, LastLink last = LastLink::follow) {
    const auto found = find_path(*fs, path, last, path);
    INFO(path);
    REQUIRE(found);
    fs->forget(found->ino, 1);
    return found->ino;
  }
};

StorePlace place_of(const std::string& text, const std::set<std::string>& stores,
                    const std::set<std::string>& others = {}) {
  return split_store_place(text, [&](const std::string& path) {
    return stores.contains(path)   ? PlaceKind::store
           : others.contains(path) ? PlaceKind::something
                                   : PlaceKind::nothing;
  });
}

FindExpression expression(const std::vector<std::string>& words, std::int64_t now_ns = 0) {
  auto parsed = FindExpression::parse(words, now_ns, [](const std::string& file) -> Result<std::int64_t> {
    if (file == "old") return std::int64_t{1'000};
    return fail(ENOENT, file);
  });
  INFO((parsed ? "" : parsed.error().message()));
  REQUIRE(parsed);
  return std::move(*parsed);
}
std::string refusal(const std::vector<std::string>& words) {
  const auto parsed = FindExpression::parse(words, 0, [](const std::string& f) { return fail(ENOENT, f); });
  return parsed ? "taken" : parsed.error().message();
}
std::size_t prints(const FindExpression& e, const std::string& path, const Attributes& a,
                   bool empty = false) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return e.ask({name, "S:" + path, "/" + path, a, [empty] { return empty; }}).prints.size();
}
Attributes regular(std::uint64_t size) {
  Attributes a;
  a.mode = S_IFREG | 0644;
  a.size = size;
  return a;
}

}  // namespace

TEST_CASE("a place is a store and a path, colons or not") {
  const auto check = [](const StorePlace& place, const std::string& store, const std::string& path,
                        bool has_path) {
    CHECK(place.store == store);
    CHECK(place.path == path);
    CHECK(place.has_path == has_path);
  };
  check(place_of("/s", {"/s"}), "/s", "", false);
  check(place_of("/s:", {"/s"}), "/s", "", true);
  check(place_of("/s:/usr/bin", {"/s"}), "/s", "/usr/bin", true);
  check(place_of("/s:a:b", {"/s"}), "/s", "a:b", true);        // colons in the path
  check(place_of("/a:b:c", {"/a:b"}), "/a:b", "c", true);      // in the store
  check(place_of("/a:b", {"/a:b", "/a"}), "/a:b", "", false);  // what is there is meant
  check(place_of("/a/:b", {"/a:b", "/a", "/a/"}), "/a/", "b", true);
  check(place_of("/a:b:c", {"/a", "/a:b"}), "/a:b", "c", true);      // the longest store
  check(place_of("/a:b:c", {"/a"}, {"/a:b"}), "/a", "b:c", true);    // rather than what is none
  check(place_of("/a:b:c", {}, {"/a", "/a:b"}), "/a:b", "c", true);  // or else what is there
  check(place_of("/none", {}), "/none", "", false);
  check(place_of("/none:a:b", {}), "/none", "a:b", true);
  check(place_of(":b", {}), ":b", "", false);
  check(place_of("rados:pool/name", {}), "rados:pool/name", "", false);
  check(place_of("rados:p/n/s:id=me:conf=/etc/c.conf", {}), "rados:p/n/s:id=me:conf=/etc/c.conf", "", false);
  check(place_of("rados:p/s:conf=/etc/c:/a:/b", {}), "rados:p/s:conf=/etc/c", "/a:/b", true);
  check(place_of("rados:p/s:", {}), "rados:p/s", "", true);
}

TEST_CASE("what is printed of a place can be given to a command again") {
  const std::set<std::string> stores{"/s", "/a:b"};
  for (const char* text : {"/s", "/s:", "/s:/", "/s:usr", "/s:/usr/", "/s:a:b", "/a:b", "/a:b:c:d",
                           "rados:p/s", "rados:p/s:/x:/y", "rados:p/s:id=me"}) {
    const StorePlace place = place_of(text, stores);
    const StorePlace below = place_of(place.name_of("f:g/h"), stores);
    INFO(text << " -> " << place.name_of("f:g/h"));
    CHECK(below.store == place.store);
    CHECK(below.path == place.path +
                            (place.path.empty() && text[0] != 'r' ? ""
                             : place.path.ends_with('/')          ? ""
                                                                  : "/") +
                            "f:g/h");
    CHECK(place.name_of("") == text);
  }
}

TEST_CASE("a path in a store follows links, and none out of it") {
  BrowsedStore s;
  const InodeId a = s.directory(kRootInode, "a"), b = s.directory(a, "b"), f = s.file(b, "f", 3);
  REQUIRE(s.fs->symlink(a, "near", "b/../b/./f", kRoot));
  REQUIRE(s.fs->symlink(b, "up", "../..", kRoot));
  REQUIRE(s.fs->symlink(kRootInode, "self", "self", kRoot));
  REQUIRE(s.fs->symlink(kRootInode, "absolute", "/a", kRoot));
  REQUIRE(s.fs->symlink(a, "far", "../../etc", kRoot));
  REQUIRE(s.fs->symlink(kRootInode, "dangling", "gone", kRoot));
  CHECK(s.at("") == kRootInode);
  CHECK(s.at("/") == kRootInode);
  CHECK(s.at("..") == kRootInode);
  CHECK(s.at("//a//b/.") == b);
  CHECK(s.at("a/b/../b/f") == f);
  CHECK(s.at("a/near") == f);
  CHECK(s.at("a/near", LastLink::keep) != f);
  CHECK(s.at("a/b/up/a/near") == f);
  CHECK(s.at("a/b/up/", LastLink::keep) == kRootInode);  // a slash follows it
  CHECK(s.error_of("a/b/up", LastLink::keep) == "found");
  CHECK(s.error_of("gone") == "S:gone: No such file or directory");
  CHECK(s.error_of("a/b/f/x") == "S:a/b/f/x: Not a directory");
  CHECK(s.error_of("a/b/f/") == "S:a/b/f/: Not a directory");
  CHECK(s.error_of("a/b/f/..") == "S:a/b/f/..: Not a directory");
  CHECK(s.error_of("self") == "S:self: Too many levels of symbolic links");
  CHECK(s.error_of("dangling") == "S:dangling: No such file or directory");
  CHECK(s.error_of("dangling", LastLink::keep) == "found");
  CHECK(s.error_of("absolute/b").find("leads to /a, which is out of the store") != std::string::npos);
  CHECK(s.error_of("a/far").find("leads out of the store") != std::string::npos);
}

TEST_CASE("a walk goes by name, and gives all references back") {
  BrowsedStore s;
  const InodeId d = s.directory(kRootInode, "d"), e = s.directory(d, "e");
  for (const char* name : {"z", "a", "m"}) s.file(e, name);
  s.file(kRootInode, "e");
  s.file(kRootInode, "c");
  s.fs = nullptr;  // the references of those who made them go
  s.fs = std::move(*FileSystem::open(s.objects, quiet()));
  const std::size_t known = s.fs->known_inodes();
  std::string seen;
  TreeWalker walker;
  walker.enter = [&](const WalkedFile& file) -> Result<Onward> {
    seen += file.path + ":" + std::to_string(file.depth) + " ";
    return file.path == "stop" ? Onward::end : Onward::descend;
  };
  walker.leave = [&](const WalkedFile& file) -> Status {
    seen += "/" + file.path + " ";
    return {};
  };
  const auto start = find_path(*s.fs, "", LastLink::keep, "");
  REQUIRE(start);
  REQUIRE(walk_tree(*s.fs, *start, walker));
  CHECK(seen == ":0 c:1 d:1 d/e:2 d/e/a:3 d/e/m:3 d/e/z:3 /d/e /d e:1 / ");
  walker.enter = [&](const WalkedFile& file) -> Result<Onward> {
    return file.path == "d/e/a" ? Onward::end : Onward::descend;
  };
  REQUIRE(walk_tree(*s.fs, *start, walker));
  walker.enter = [&](const WalkedFile& file) -> Result<Onward> {
    if (file.path == "d/e/a") return fail(EIO);
    return Onward::descend;
  };
  CHECK_FALSE(walk_tree(*s.fs, *start, walker));
  s.fs->forget(start->ino, 1);
  CHECK(s.fs->known_inodes() == known);
}

TEST_CASE("find: names, types and sizes") {
  const Attributes small = regular(1), large = regular(1025);
  CHECK(prints(expression({}), "a/b", small) == 1);
  CHECK(prints(expression({"-name", "b*"}), "a/bc", small) == 1);
  CHECK(prints(expression({"-name", "a*"}), "a/bc", small) == 0);  // the last component alone
  CHECK(prints(expression({"-name", "B?"}), "a/bc", small) == 0);
  CHECK(prints(expression({"-iname", "B?"}), "a/bc", small) == 1);
  CHECK(prints(expression({"-name", "*"}), "a/.hidden", small) == 1);
  CHECK(prints(expression({"-path", "/a/*"}), "a/bc", small) == 1);
  CHECK(prints(expression({"-path", "S:a/*"}), "a/bc", small) == 1);
  CHECK(prints(expression({"-path", "a/*"}), "a/bc", small) == 0);
  CHECK(prints(expression({"-type", "f"}), "a", small) == 1);
  CHECK(prints(expression({"-type", "d,l"}), "a", small) == 0);
  CHECK(prints(expression({"-type", "l,f"}), "a", small) == 1);
  // Rounded up to the unit, as find(1) has it: nothing but what is empty is smaller than 1M.
  CHECK(prints(expression({"-size", "-1M"}), "a", small) == 0);
  CHECK(prints(expression({"-size", "-1M"}), "a", regular(0)) == 1);
  CHECK(prints(expression({"-size", "1"}), "a", small) == 1);
  CHECK(prints(expression({"-size", "2k"}), "a", large) == 1);
  CHECK(prints(expression({"-size", "+1k"}), "a", large) == 1);
  CHECK(prints(expression({"-size", "+2k"}), "a", large) == 0);
  CHECK(prints(expression({"-size", "1025c"}), "a", large) == 1);
  CHECK(prints(expression({"-size", "3b"}), "a", large) == 1);
  CHECK(prints(expression({"-empty"}), "a", regular(0)) == 1);
  CHECK(prints(expression({"-empty"}), "a", small) == 0);
  Attributes directory;
  directory.mode = S_IFDIR | 0755;
  CHECK(prints(expression({"-empty"}), "a", directory, true) == 1);
  CHECK(prints(expression({"-empty"}), "a", directory, false) == 0);
}

TEST_CASE("find: permissions, owners, ages") {
  Attributes a = regular(0);
  a.mode = S_IFREG | 04750;
  a.uid = 12;
  CHECK(prints(expression({"-perm", "4750"}), "a", a) == 1);
  CHECK(prints(expression({"-perm", "750"}), "a", a) == 0);
  CHECK(prints(expression({"-perm", "-700"}), "a", a) == 1);
  CHECK(prints(expression({"-perm", "-702"}), "a", a) == 0);
  CHECK(prints(expression({"-perm", "/702"}), "a", a) == 1);
  CHECK(prints(expression({"-perm", "/007"}), "a", a) == 0);
  CHECK(prints(expression({"-uid", "12"}), "a", a) == 1);
  CHECK(prints(expression({"-uid", "+12"}), "a", a) == 0);
  CHECK(prints(expression({"-user", "root"}), "a", a) == 0);
  CHECK(prints(expression({"-group", "root"}), "a", a) == 1);
  constexpr std::int64_t kHourNs = 3600ll * 1'000'000'000;
  const std::int64_t now = 1000 * 24 * kHourNs;
  a.mtime_ns = now - 47 * kHourNs;  // one whole day old
  CHECK(prints(expression({"-mtime", "1"}, now), "a", a) == 1);
  CHECK(prints(expression({"-mtime", "+0"}, now), "a", a) == 1);
  CHECK(prints(expression({"-mtime", "-2"}, now), "a", a) == 1);
  CHECK(prints(expression({"-mtime", "2"}, now), "a", a) == 0);
  CHECK(prints(expression({"-mmin", "2820"}, now), "a", a) == 1);
  CHECK(prints(expression({"-mmin", "-2820"}, now), "a", a) == 0);
  a.mtime_ns =
      std::numeric_limits<std::int64_t>::min();  // of before 1677, or from somebody who makes times up
  CHECK(prints(expression({"-mtime", "+90000"}, now), "a", a) == 1);
  a.mtime_ns = std::numeric_limits<std::int64_t>::max();
  CHECK(prints(expression({"-mtime", "-1"}, -now), "a", a) == 1);
  a.mtime_ns = 1'001;
  CHECK(prints(expression({"-newer", "old"}), "a", a) == 1);
  a.mtime_ns = 1'000;
  CHECK(prints(expression({"-newer", "old"}), "a", a) == 0);
}

TEST_CASE("find: words are joined as find(1) joins them") {
  const Attributes a = regular(0);
  CHECK(prints(expression({"-false", "-o", "-true"}), "a", a) == 1);
  CHECK(prints(expression({"-true", "-o", "-false", "-false"}), "a", a) == 1);  // "and" binds
  CHECK(prints(expression({"(", "-true", "-o", "-true", ")", "-false"}), "a", a) == 0);
  CHECK(prints(expression({"!", "-false", "-a", "-not", "-false"}), "a", a) == 1);
  CHECK(prints(expression({"-print", "-print0"}), "a", a) == 2);
  CHECK(prints(expression({"-false", "-print"}), "a", a) == 0);
  CHECK(prints(expression({"-print", "-o", "-print"}), "a", a) == 1);
  const auto pruning = expression({"-name", "b", "-prune", "-o", "-print"});
  CHECK(prints(pruning, "a/b", a) == 0);
  CHECK(pruning.ask({"b", "b", "/b", a, nullptr}).prune);
  CHECK(prints(pruning, "a/c", a) == 1);
  CHECK_FALSE(pruning.ask({"c", "c", "/c", a, nullptr}).prune);
  CHECK(expression({"-quit"}).ask({"c", "c", "/c", a, nullptr}).quit);
  const auto depths = expression({"-maxdepth", "3", "-mindepth", "1"});
  CHECK(depths.most_depth() == 3);
  CHECK(depths.least_depth() == 1);
}

TEST_CASE("find: what is not understood is refused in a sentence") {
  const auto refused = [](const std::vector<std::string>& words, const std::string& says) {
    INFO(refusal(words));
    CHECK(refusal(words).find(says) != std::string::npos);
  };
  refused({"-nmae", "x"}, "'-nmae' is no test");
  refused({"-name"}, "-name wants something behind it");
  refused({"-size", "10q"}, "-size wants a number");
  refused({"-size", ""}, "-size wants a number");
  refused({"-size", "99999999999999999999"}, "-size wants a number");
  refused({"-type", "fd"}, "-type wants");
  refused({"-type", "f,"}, "-type wants");
  refused({"-perm", "u+x"}, "an octal mode");
  refused({"-mtime", "yesterday"}, "-mtime wants a number");
  refused({"-maxdepth", "-1"}, "-maxdepth wants a number");
  refused({"-user", "no such user"}, "knows no 'no such user'");
  refused({"(", "-true"}, "'(' is not closed");
  refused({"-true", ")"}, "')' closes nothing");
  refused({"-o", "-true"}, "does not begin with '-o'");
  refused({"-true", "-o"}, "after '-o' a test is missing");
  refused({"!"}, "after '!' a test is missing");
  refused({"-true", "place"}, "stands before the expression");
  refused({"-newer", "gone"}, "gone: No such file");
  for (const char* word : {"-delete", "-exec", "-execdir", "-ok", "-ls", "-printf", "-fprint"})
    refused({word, "x"}, "is not for a store that is only looked at");
  refused(std::vector<std::string>(2000, "!"), "nested too deep");
}

TEST_CASE("ls: modes, sizes, times, columns") {
  CHECK(mode_text(S_IFDIR | 0755) == "drwxr-xr-x");
  CHECK(mode_text(S_IFREG | 04644) == "-rwSr--r--");
  CHECK(mode_text(S_IFREG | 06711) == "-rws--s--x");
  CHECK(mode_text(S_IFDIR | 01777) == "drwxrwxrwt");
  CHECK(mode_text(S_IFDIR | 01776) == "drwxrwxrwT");
  CHECK(mode_text(S_IFLNK | 0777) == "lrwxrwxrwx");
  CHECK(short_size(0) == "0");
  CHECK(short_size(1023) == "1023");
  CHECK(short_size(1024) == "1.0K");
  CHECK(short_size(1025) == "1.1K");
  CHECK(short_size(10'138) == "10K");  // 9.9004 K
  CHECK(short_size(10'137) == "9.9K");
  CHECK(short_size(1024 * 1023) == "1023K");
  CHECK(short_size(1024 * 1023 + 1) == "1.0M");
  CHECK(short_size(~std::uint64_t{0}) == "16E");
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  constexpr std::int64_t kDayNs = 86'400ll * 1'000'000'000;
  const std::int64_t now = 20'000 * kDayNs;  // 4 October 2024
  CHECK(time_text(now - kDayNs / 2, now) == "Oct  3 12:00");
  CHECK(time_text(now - 183 * kDayNs, now) == "Apr  4  2024");
  CHECK(time_text(now - 182 * kDayNs, now) == "Apr  5 00:00");
  CHECK(time_text(now + 1, now) == "Oct  4  2024");
  CHECK(time_text(-1, now) == "Dec 31  1969");
  CHECK(in_columns({"a", "bb", "ccc", "d"}, 80) == std::vector<std::string>{"a  bb  ccc  d"});
  CHECK(in_columns({"a", "bb", "ccc", "d"}, 8) == std::vector<std::string>{"a   ccc", "bb  d"});
  CHECK(in_columns({"a", "bb", "ccc", "d"}, 2) == std::vector<std::string>{"a", "bb", "ccc", "d"});
  CHECK(in_columns({}, 80).empty());

  Attributes a = regular(5), b = regular(12'345);
  a.uid = b.uid = a.gid = b.gid = 4'000'000;
  b.uid = 1;
  a.nlink = 1;
  b.nlink = 10;
  a.mtime_ns = b.mtime_ns = now;
  const LongListing numbers{true, false, false, now};
  CHECK(long_lines({{"a", a, "", false}, {"b", b, "", true}}, numbers) ==
        std::vector<std::string>{"-rw-r--r--   1 4000000 4000000     5 Oct  4 00:00 a",
                                 "-rw-r--r--+ 10       1 4000000 12345 Oct  4 00:00 b"});
}

TEST_CASE("du counts a file with several names once, a directory behind what is in it") {
  BrowsedStore s;
  const InodeId d = s.directory(kRootInode, "d"), e = s.directory(kRootInode, "e");
  const InodeId twice = s.file(d, "twice", 5000);
  REQUIRE(s.fs->link(twice, e, "again"));
  s.file(e, "own", 100);
  std::map<std::string, std::uint64_t> lines;
  std::vector<std::string> order;
  DiskUsageOptions options;
  options.apparent = true;
  options.line = [&](const std::string& below, std::uint64_t bytes) {
    lines[below] = bytes;
    order.push_back(below);
  };
  const auto start = find_path(*s.fs, "", LastLink::keep, "");
  REQUIRE(start);
  DiskUsage usage(*s.fs, options);
  const auto sum = usage.of(*start);
  REQUIRE(sum);
  const std::uint64_t own = start->size, directory = s.fs->getattr(d)->size;
  CHECK(order == std::vector<std::string>{"d", "e", ""});
  CHECK(lines["d"] == directory + 5000);
  CHECK(lines["e"] == directory + 100);
  CHECK(*sum == own + 2 * directory + 5100);
  CHECK(lines[""] == *sum);
  // Seen already, by this one; another counts anew.
  const auto below = find_path(*s.fs, "e", LastLink::keep, "");
  CHECK(usage.of(*below).value() == 0);
  options.all_files = true;
  options.depth = 0;
  order.clear();
  CHECK(DiskUsage(*s.fs, options).of(*below).value() == directory + 5100);
  CHECK(order == std::vector<std::string>{""});
  options.apparent = false;
  options.depth = 1;
  order.clear();
  CHECK(DiskUsage(*s.fs, options).of(*below).value() ==
        s.fs->getattr(e)->allocated + s.fs->getattr(twice)->allocated + s.fs->lookup(e, "own")->allocated);
  CHECK(order == std::vector<std::string>{"again", "own", ""});
}

}  // namespace cffs::test

namespace cffs::test {

TEST_CASE("find's words may be as many as a command line has room for, and take no stack") {
  constexpr int kWords = 300'000;
  for (const char* const word : {"-o", "-a"}) {
    std::vector<std::string> words{"-name", "y"};
    for (int i = 0; i < kWords; ++i) words.insert(words.end(), {word, "!", "-name", "x"});
    const FindExpression e = expression(words);
    CHECK(prints(e, "y", regular(1)) == 1);
    CHECK(prints(e, "x", regular(1)) == 0);
  }
}

}  // namespace cffs::test
