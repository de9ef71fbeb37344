#include "tests/crash/calls.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>

#include <array>
#include <stdexcept>

#include "core/fs/new_file.h"

namespace cffs::test {
namespace {

constexpr std::array kImported{"i1", "i2"};
std::string imported(std::size_t i) { return pattern(900 + 5000 * i, 70 + static_cast<int>(i)); }

Call change(std::string name, std::function<int(Surface&)> what, std::string over = "") {
  return {std::move(name), Call::Kind::change, std::move(what), std::move(over)};
}

int append(Surface& s, const std::string& path, const std::string& data, std::uint64_t size) {
  return s.write(path, size, data);
}

std::uint64_t size_of(Surface& s, const std::string& path) {
  std::string bytes;
  return s.read(path, 0, 1u << 20, bytes) == 0 ? bytes.size() : 0;
}

std::vector<Call> make_calls() {
  using Kind = Call::Kind;
  return {
      change("create n", [](Surface& s) { return s.create("n", 0600); }),
      change("write a small piece of a", [](Surface& s) { return s.write("a", 100, pattern(300, 1)); }),
      change("write a, which becomes large",
             [](Surface& s) { return s.write("a", 200, pattern(20'000, 2)); }),
      change("overwrite c in two sectors", [](Surface& s) { return s.write("c", 5'300, pattern(1'000, 3)); }),
      change("write n", [](Surface& s) { return s.write("n", 0, pattern(2'500, 4)); }),
      change("write b, a member", [](Surface& s) { return s.write("b", 0, pattern(400, 5)); }),
      change("append to a", [](Surface& s) { return append(s, "a", pattern(700, 6), size_of(s, "a")); }),
      change("append to c", [](Surface& s) { return append(s, "c", pattern(3'000, 7), size_of(s, "c")); }),
      change("cut c", [](Surface& s) { return s.truncate("c", 1'000); }),
      change("extend c", [](Surface& s) { return s.truncate("c", 33'000); }),
      change("cut a", [](Surface& s) { return s.truncate("a", 50); }),
      change(
          "rename a over b", [](Surface& s) { return s.rename("a", "b", 0); }, "a"),
      change(
          "rename c over a", [](Surface& s) { return s.rename("c", "a", 0); }, "c"),
      change(
          "rename n over c", [](Surface& s) { return s.rename("n", "c", 0); }, "n"),
      change("rename d/e to n", [](Surface& s) { return s.rename("d/e", "n", RENAME_NOREPLACE); }),
      change("rename d to dd", [](Surface& s) { return s.rename("d", "dd", RENAME_NOREPLACE); }),
      change("exchange a and c", [](Surface& s) { return s.rename("a", "c", RENAME_EXCHANGE); }),
      change("link a to d/l", [](Surface& s) { return s.link("a", "d/l"); }),
      change("link c to l", [](Surface& s) { return s.link("c", "l"); }),
      change("unlink a", [](Surface& s) { return s.unlink("a"); }),
      change("unlink b", [](Surface& s) { return s.unlink("b"); }),
      change("unlink c", [](Surface& s) { return s.unlink("c"); }),
      change("punch a hole into c",
             [](Surface& s) {
               return s.allocate("c", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4'096, 9'000);
             }),
      change("name an unnamed file u",
             [](Surface& s) { return s.make_unnamed("u", 0640, pattern(9'000, 8)); }),
      change("set an attribute of a", [](Surface& s) { return s.setxattr("a", "user.x", pattern(600, 9)); }),
      change("make a symlink d/s", [](Surface& s) { return s.symlink("nowhere", "d/s"); }),
      change("change the mode of d", [](Surface& s) { return s.chmod("d", 0700); }),
      {"fsync a", Kind::fsync, nullptr, "a"},
      {"fsync c", Kind::fsync, nullptr, "c"},
      {"fsync n", Kind::fsync, nullptr, "n"},
      {"sync", Kind::sync, nullptr, ""},
      {"consolidate", Kind::consolidate, nullptr, ""},
      {"compact", Kind::compact, nullptr, ""},
      {"punch", Kind::punch, nullptr, ""},
      {"regroup by none", Kind::regroup_none, nullptr, ""},
      {"regroup by directory", Kind::regroup_directory, nullptr, ""},
      {"import", Kind::import, nullptr, ""},
      {"pack", Kind::pack, nullptr, ""},
      {"unpack", Kind::unpack, nullptr, ""},
      {"close and open", Kind::close, nullptr, ""},
      {"kill", Kind::kill, nullptr, ""},
  };
}

}  // namespace

const std::vector<Call>& calls() {
  static const std::vector<Call> all = make_calls();
  return all;
}

std::string pattern(std::size_t length, int version) {
  std::string bytes(length, '\0');
  std::uint32_t x = 0x9e3779b9u * static_cast<std::uint32_t>(version + 1);
  for (char& c : bytes) {
    x = x * 1664525u + 1013904223u;
    c = static_cast<char>('a' + (x >> 24) % 26);
  }
  return bytes;
}

void build(Surface& tree) {
  const auto must = [](int problem) {
    if (problem != 0) throw std::runtime_error("the tree cannot be built");
  };
  must(tree.mkdir("d", 0755));
  for (const auto& [path, length] :
       {std::pair{"b", 900}, {"d/e", 1'200}, {"d/f", 3'000}, {"c", 20'000}, {"a", 500}}) {
    must(tree.create(path, 0600));
    must(tree.write(path, 0, pattern(static_cast<std::size_t>(length), 40 + length)));
    if (std::string_view(path) == "d/f") tree.reorganise();  // what comes later stays staged
  }
}

StoreFormat small_format() {
  StoreFormat format;
  format.inline_max = 256;  // 4 KiB wait in the table
  format.composite_file_max = 16'384;
  format.composite_max = 65'536;
  return format;
}

Status import_two(FileSystem& fs) {
  std::vector<NewFile> group;
  for (std::size_t i = 0; i < kImported.size(); ++i) {
    NewFile file;
    file.parent = kRootInode;
    file.name = kImported[i];
    file.inode.mode = S_IFREG | 0644;
    file.inode.nlink = 1;
    file.content = imported(i);
    group.push_back(std::move(file));
  }
  const auto taken = fs.load({std::move(group)});
  return taken ? Status() : fail(taken.error());
}

void import_two(Reference& reference) {
  for (std::size_t i = 0; i < kImported.size(); ++i) {
    if (reference.create(kImported[i], 0644) == 0) (void)reference.write(kImported[i], 0, imported(i));
  }
}

}  // namespace cffs::test
