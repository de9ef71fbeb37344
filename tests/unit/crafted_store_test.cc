// Stores that were written to do harm: their checksums are right, their rows, records and objects say what no store of ours says.
// Whatever is done with one ends, soon, within bounded memory, with an errno or a finding; and nothing is written outside.
//
// Each store is used in a process of its own, with a limit on processor time and memory: a loop, an abort and a
// crash are what that process ends with.
#include "tests/unit/crafted_store.h"

#include <catch2/catch.hpp>

#include "core/base/bytes.h"
#include "core/base/checksum.h"
#include "core/base/crc32c.h"
#include "core/table/system_rows.h"
#include "core/table/table_log.h"
#include "tests/unit/object_bytes.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

struct Case {
  const char* name;
  std::function<void(Crafted&)> craft;
  bool is_found = true;  // else it may be harmless
};

void craft_extent(Crafted& c, const std::function<void(Extent&)>& change) {
  c.change("member", [&](Inode& inode) { change(inode.extent); });
}

std::vector<Case> cases_of_sizes() {
  std::vector<Case> cases;
  for (const char* name : {"member", "inline", "blob"}) {
    for (const std::uint64_t size :
         {kHuge, kHuge / 2, kHuge / 2 - 4095, kHuge / 16, std::uint64_t{65} << 20}) {
      cases.push_back({"size", [=](Crafted& c) { c.change(name, [=](Inode& i) { i.size = size; }); }});
    }
    cases.push_back({"no home", [=](Crafted& c) { c.change(name, [](Inode& i) { i.home = Home::none; }); }});
    cases.push_back(
        {"a directory", [=](Crafted& c) { c.change(name, [](Inode& i) { i.mode = S_IFDIR | 0755; }); }});
    cases.push_back({"no type", [=](Crafted& c) { c.change(name, [](Inode& i) { i.mode = 0644; }); }});
  }
  for (const std::uint64_t n : {kHuge, kHuge / 2, kInodeLimit, std::uint64_t{0}, std::uint64_t{1}}) {
    for (const char* name : {"member", "inline", "blob", "directory", "below", "symlink"}) {
      cases.push_back(
          {"inode number", [=](Crafted& c) { c.change(name, [=](Inode& i) { i.ino.value = n; }); }});
    }
    cases.push_back(
        {"linked number", [=](Crafted& c) { c.entry("again", [=](Entry& e) { e.ino.value = n; }); }});
    cases.push_back(
        {"composite", [=](Crafted& c) { craft_extent(c, [=](Extent& e) { e.composite.value = n; }); }});
  }
  for (const std::uint64_t n : {kHuge, kHuge - 31, kHuge / 2, kHuge / 2 - 4, std::uint64_t{1} << 40}) {
    cases.push_back({"offset", [=](Crafted& c) { craft_extent(c, [=](Extent& e) { e.offset = n; }); }});
    cases.push_back({"length", [=](Crafted& c) { craft_extent(c, [=](Extent& e) { e.length = n; }); }});
    cases.push_back({"length and size", [=](Crafted& c) {
                       c.change("member", [=](Inode& i) { i.extent.length = i.size = n; });
                     }});
    cases.push_back({"group", [=](Crafted& c) {
                       craft_extent(c, [=](Extent& e) {
                         e.group_offset = e.offset + n;
                         e.length = 8;
                       });
                     }});
    cases.push_back({"accounts", [=](Crafted& c) {
                       c.composite_row(
                           [=](CompositeRow& r) { r.live_bytes = r.freed_bytes = r.members = n; });
                     }});
    cases.push_back({"composite's size", [=](Crafted& c) {
                       c.composite_row([=](CompositeRow& r) { r.size = n, r.freed_bytes = n; });
                     }});
    cases.push_back(
        {"counter",
         [=](Crafted& c) { c.put(system_key(SystemField::first_unreserved), encode_system_number(n)); },
         n > kInodeLimit});
    cases.push_back({"times", [=](Crafted& c) {
                       c.change("inline", [=](Inode& i) {
                         i.mtime_ns = static_cast<std::int64_t>(n);
                         i.ctime_ns = i.atime_ns = -i.mtime_ns;
                         i.nlink = 0;
                       });
                     }});
  }
  return cases;
}

std::vector<Case> cases_of_names() {
  std::vector<Case> cases;
  for (const std::string name : {"a/b", "../escaped", "..", ".", "/etc/passwd", "", "a"}) {
    cases.push_back({"name", [=](Crafted& c) { c.add_file(name); }});
  }
  cases.push_back({"a zero in a name", [](Crafted& c) { c.add_file(std::string("a\0b", 3)); }});
  cases.push_back({"a long name", [](Crafted& c) { c.add_file(std::string(70'000, 'n')); }});
  cases.push_back({"one name twice in a row", [](Crafted& c) {
                     Row row;
                     Inode inode = c.inode("inline");
                     row.entries.push_back(Entry{"inline", inode.ino, S_IFREG, inode});
                     row.entries.push_back(Entry{"inline", inode.ino, S_IFREG, inode});
                     c.put(c.key("inline"), encode_row(row));
                   }});
  cases.push_back({"two rows of one inode", [](Crafted& c) {
                     const Inode inode = c.inode("inline");
                     c.add(kRootInode, Entry{"twice", inode.ino, S_IFREG, inode});
                   }});
  cases.push_back({"a name that is a link, and a directory", [](Crafted& c) {
                     Inode link;
                     link.ino = InodeId{901};
                     link.mode = S_IFLNK | 0777;
                     link.target = "..";
                     link.size = 2;
                     c.add(kRootInode, Entry{"directory", link.ino, S_IFLNK, link});
                   }});
  cases.push_back({"a directory in itself", [](Crafted& c) {
                     const Inode inode = c.inode("directory");
                     c.add(inode.ino, Entry{"self", inode.ino, S_IFDIR, inode});
                   }});
  cases.push_back({"a directory in one below it", [](Crafted& c) {
                     const Inode inode = c.inode("directory");
                     c.add(c.inode("below").ino, Entry{"up", inode.ino, S_IFDIR, inode});
                   }});
  cases.push_back({"the root in a directory", [](Crafted& c) {
                     Inode root;
                     root.mode = S_IFDIR | 0755;
                     c.add(c.inode("directory").ino, Entry{"root", kRootInode, S_IFDIR, root});
                   }});
  cases.push_back({"a circle that nothing leads to", [](Crafted& c) {
                     Inode a = c.inode("below"), b = a;
                     a.ino.value = 902, b.ino.value = 903;
                     a.nlink = b.nlink = 3;
                     c.add(a.ino, Entry{"b", b.ino, S_IFDIR, b});
                     c.add(b.ino, Entry{"a", a.ino, S_IFDIR, a});
                     c.put(Key::tagged(KeyTag::staged_directory, 902, 0), {});
                   }});
  cases.push_back(
      {"directories that double with each level", [](Crafted& c) {
         for (std::uint64_t level = 0; level < 40; ++level) {
           for (std::uint64_t from = 0; from < 2; ++from) {
             for (std::uint64_t to = 0; to < 2; ++to) {
               Inode below = c.inode("below");
               below.ino.value = 1000 + 2 * level + to;
               const InodeId parent = level == 0 ? c.inode("directory").ino : InodeId{998 + 2 * level + from};
               c.add(parent, Entry{from == 0 ? "l" + std::to_string(to) : "r" + std::to_string(to), below.ino,
                                   S_IFDIR, below});
             }
           }
         }
       }});
  cases.push_back({"a hard link that leads nowhere",
                   [](Crafted& c) { c.entry("again", [](Entry& e) { e.ino.value = 904; }); }});
  cases.push_back({"a hard link to a directory", [](Crafted& c) {
                     c.entry("again", [&](Entry& e) { e.ino = c.inode("directory").ino, e.type = S_IFDIR; });
                   }});
  cases.push_back(
      {"the inode of hard links is a directory", [](Crafted& c) {
         Inode inode;
         c.with_table([&](Table& table) { inode.ino = table.get_row(c.key("again"))->find("again")->ino; });
         inode.mode = S_IFDIR | 0755;
         c.put(Key::null_name(inode.ino), encode_single_row("", inode));
       }});
  cases.push_back(
      {"links without end", [](Crafted& c) { c.change("inline", [](Inode& i) { i.nlink = kHuge; }); }});
  cases.push_back({"a target of 2^40 bytes", [](Crafted& c) {
                     std::string row = encode_single_row("symlink", c.inode("symlink"));
                     const std::size_t at = row.find(std::string("\6inline"));
                     std::string length;
                     ByteWriter(length).varint(std::uint64_t{1} << 40);
                     row.replace(at, 1, length);
                     c.put(c.key("symlink"), row);
                   }});
  cases.push_back({"a target of 100,000 bytes",
                   [](Crafted& c) { c.change("symlink", [](Inode& i) { i.target.assign(100'000, 't'); }); }});
  cases.push_back({"attributes without names", [](Crafted& c) {
                     c.change("inline", [](Inode& i) { i.xattrs.assign(1000, {"", "v"}); });
                   }});
  return cases;
}

// A record as append_record() makes it, with a length that is not its data's.
std::string record_of_length(const Inode& inode, std::uint64_t length) {
  std::string meta;
  ByteWriter m(meta);
  m.varint(0);
  m.string("name");
  encode_inode(meta, inode);
  std::string out;
  ByteWriter w(out);
  w.u32(0x31636552);
  w.u32(static_cast<std::uint32_t>(meta.size()));
  w.u64(length == kHuge ? std::uint64_t{0} - (kRecordHeaderBytes + meta.size()) : length);
  w.u64(0);
  w.u32(0);
  w.u32(0);
  w.u64(checksum(out + meta));
  return out + meta + std::string(64, '\0');
}

std::vector<Case> cases_of_objects() {
  std::vector<Case> cases;
  for (const std::uint64_t length : {kHuge, kHuge - 40, kHuge / 2, std::uint64_t{1} << 40}) {
    cases.push_back({"a record that leads nowhere", [=](Crafted& c) {
                       std::string bytes = encode_composite_header(c.extent().composite);
                       bytes += record_of_length(c.inode("member"), length);
                       replace(c.store, c.composite_name(), bytes);
                       c.composite_row(
                           [&](CompositeRow& r) { r.size = bytes.size(), r.freed_bytes = bytes.size(); });
                     }});
  }
  cases.push_back({"another's bytes", [](Crafted& c) {
                     const Extent other = c.inode("neighbour").extent;
                     c.change("member", [&](Inode& i) { i.extent = other, i.size = other.length; });
                   }});
  cases.push_back({"a record of its row's size only", [](Crafted& c) {
                     replace(c.store, c.composite_name(), encode_composite_header(c.extent().composite));
                   }});
  for (const std::uint64_t chunk :
       {std::uint64_t{1} << 52, kHuge, std::uint64_t{1} << 40, std::uint64_t{20'000}}) {
    cases.push_back({"a chunk far behind the end",
                     [=](Crafted& c) { c.put(Key::data(c.inode("inline").ino, chunk), "x"); }});
    cases.push_back({"a chunk of nobody", [=](Crafted& c) { c.put(Key::data(InodeId{905}, chunk), "x"); }});
  }
  cases.push_back({"a large chunk", [](Crafted& c) {
                     c.put(Key::data(c.inode("inline").ino, 0), std::string(1'000'000, 'x'));
                   }});
  for (const char* bytes :
       {"", "\x01", "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x02", "\x81", "\xff\xff"}) {
    cases.push_back({"bytes that are no row", [=](Crafted& c) { c.put(c.key("inline"), bytes); }});
    cases.push_back({"bytes that are no composite's row",
                     [=](Crafted& c) { c.put(Key::null_name(c.extent().composite), bytes); }});
    for (const std::uint64_t tag : {0x40, 0x41, 0x50, 0x51, 0x52, 0x53, 0x80, 0xff}) {
      cases.push_back({"other rows", [=](Crafted& c) { c.put({tag << 56 | 3, 3}, bytes); }, false});
    }
    for (const auto field :
         {SystemField::first_unreserved, SystemField::file_count, SystemField::log_synced}) {
      cases.push_back({"system rows", [=](Crafted& c) { c.put(system_key(field), bytes); },
                       field != SystemField::log_synced});  // which the table writes anew by itself
    }
  }
  cases.push_back({"a plan that promises", [](Crafted& c) {
                     std::string bytes("cffsPLAN");
                     ByteWriter w(bytes);
                     w.u32(1);
                     w.varint(kHuge);
                     w.varint(kHuge);
                     w.u64(checksum(bytes));
                     replace(c.store, "plan", bytes);
                   }});
  return cases;
}

void check_cases(const std::vector<Case>& cases) {
  std::size_t number = 0;
  for (const Case& crafted : cases) {
    INFO("case " << number << ": " << crafted.name);
    ++number;
    Crafted c;
    crafted.craft(c);
    const TemporaryDirectory outside;
    const int verdict = in_bounds([&] {
      const bool found = look(c.store, outside.path);
      use(c.store);
      if (escaped(outside.path)) return kEscaped;
      return found ? kFound : kNothingFound;
    });
    CHECK((verdict == kFound || (!crafted.is_found && verdict == kNothingFound)));
  }
}

}  // namespace

TEST_CASE("crafted stores: sizes, places and numbers") { check_cases(cases_of_sizes()); }
TEST_CASE("crafted stores: names, links and directories") { check_cases(cases_of_names()); }
TEST_CASE("crafted stores: records, chunks and other rows") { check_cases(cases_of_objects()); }

TEST_CASE("a superblock with sizes that no store has is refused") {
  for (const std::size_t field : {0, 1, 2}) {
    for (const std::uint64_t value : {std::uint64_t{0}, kHuge}) {
      Crafted c;
      std::string bytes = bytes_of(c.store, "superblock").substr(0, 11 + 8 + 24 + 8 + 33);
      std::string number;
      ByteWriter(number).u64(value);
      bytes.replace(19 + 8 * field, 8, number);
      ByteWriter(bytes).u64(checksum(bytes));
      replace(c.store, "superblock", bytes);
      const auto fs = FileSystem::open(c.store, quiet());
      REQUIRE(!fs);
      REQUIRE(fs.error().kind == ErrorKind::corruption);
    }
  }
}

TEST_CASE("a log in which every byte may begin a record is judged with bounded work") {
  const std::string log(2u << 20, '\4');  // at each byte a type, and a length of 1,028
  const LogContent content = read_log(log);
  REQUIRE(content.damaged());
  REQUIRE(content.summed <= 65 * log.size());
  LogRecord record;
  record.bytes = "what is behind it";
  const LogContent more = read_log(log + write_log({&record}));
  REQUIRE(more.summed <= 65 * log.size());
  REQUIRE(more.behind.size() == 1);
  REQUIRE(more.behind.front().bytes == record.bytes);
}

TEST_CASE("a log in which records begin and have no end is judged with bounded work") {
  // A first piece of one byte, again and again, and behind them pieces that lead on to the log's end.
  std::string log, first(1, '\2'), middle(1, '\3');
  first += 'x';
  middle += std::string(32768 - 7, 'm');
  const auto put = [&](const std::string& body) {
    ByteWriter(log).u32(masked_crc32c(body));
    ByteWriter(log).u8(static_cast<std::uint8_t>(body.size() - 1));
    ByteWriter(log).u8(static_cast<std::uint8_t>((body.size() - 1) >> 8));
    log += body;
  };
  log = std::string(8, '\xff');
  for (int i = 0; i < 4095; ++i) put(first);
  log.resize(32768, '\0');
  for (int i = 0; i < 64; ++i) put(middle);
  const LogContent content = read_log(log);
  REQUIRE(content.damaged());
  REQUIRE(content.behind.empty());
  REQUIRE(content.summed <= 65 * log.size());
}

}  // namespace cffs::test
