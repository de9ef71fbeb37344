// dump: the rows of a store, decoded, and the bytes of one row in hex. Never changes anything but the store's lock.
#include <fmt/format.h>

#include "cli/commands.h"
#include "core/composite/composite_store.h"

namespace cffs::cli {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0) text += i % 16 == 0 ? "\n      " : " ";
    text += fmt::format("{:02x}", static_cast<unsigned char>(bytes[i]));
  }
  return text;
}

std::string printable(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const auto u = static_cast<unsigned char>(c);
    text += u >= 0x20 && u < 0x7f && c != '\\' ? std::string(1, c) : fmt::format("\\x{:02x}", u);
  }
  return text;
}

void print_inode(const Inode& n) {
  fmt::print("    inode {} mode {:06o} owner {}:{} links {} size {} version {}\n", n.ino.value, n.mode, n.uid,
             n.gid, n.nlink, n.size, n.version);
  fmt::print("    mtime {} ctime {} atime {} btime {}\n", n.mtime_ns, n.ctime_ns, n.atime_ns, n.btime_ns);
  switch (n.home) {
    case Home::none:
      break;
    case Home::inline_:
      fmt::print("    home inline\n");
      break;
    case Home::blob:
      fmt::print("    home {} ({} bytes allocated)\n", BlobStore::object_name(n.ino), n.allocated);
      break;
    case Home::composite: {
      const Extent& e = n.extent;
      fmt::print("    home {} slot {} offset {} length {} capacity {} checksum {:016x} group {}+{}{}\n",
                 CompositeStore::object_name(e.composite), e.slot, e.offset, e.length, e.capacity, e.checksum,
                 e.group_offset, e.group_length, e.moved ? " moved" : "");
      break;
    }
  }
  if (!n.target.empty()) fmt::print("    target {}\n", printable(n.target));
  for (const auto& [name, value] : n.xattrs) fmt::print("    {} = {}\n", name, printable(value));
}

void print_row(Key key, std::string_view value, bool with_hex) {
  fmt::print("{:016x} {:016x} ", key.upper, key.lower);
  if (key.tag() == KeyTag::namespace_ && row_kind(key, value) == RowKind::composite) {
    const auto row = decode_composite_row(value);
    if (row) {
      fmt::print(
          "composite: {} bytes, {} live, {} freed, {} members, {} slots, mode {:o}, owner {}:{}, policy {}\n",
          row->size, row->live_bytes, row->freed_bytes, row->members, row->slots, row->mode, row->uid,
          row->gid, row->policy);
    } else {
      fmt::print("{}\n", row.error().message());
    }
  } else if (key.tag() == KeyTag::namespace_) {
    const auto row = decode_row(value);
    if (!row) {
      fmt::print("{} bytes\n", value.size());  // a moved_member row
    } else {
      fmt::print("entries: {}\n", row->entries.size());
      for (const Entry& entry : row->entries) {
        fmt::print("  '{}'{}\n", printable(entry.name),
                   entry.inode ? "" : fmt::format(" hard link to inode {}", entry.ino.value));
        if (entry.inode) print_inode(*entry.inode);
      }
    }
  } else if (key.tag() == KeyTag::file_data) {
    fmt::print("data of inode {}, chunk {}: {} bytes\n", key.number(), key.lower, value.size());
  } else if (key.tag() == KeyTag::staged_directory) {
    fmt::print("directory {} holds staged files\n", key.number());
  } else if (key.tag() == KeyTag::pending_removal) {
    fmt::print("{} {} waits for removal\n", key.lower == kPendingBlob ? "blob" : "composite", key.number());
  } else {
    fmt::print("system: {} bytes\n", value.size());
  }
  if (with_hex) fmt::print("      {}\n", hex(value));
}

Status run_dump(const std::string& path, bool with_hex, std::int64_t directory, std::int64_t composite) {
  CFFS_TRY(const OpenStore store, open_store(path));
  if (composite >= 0) {
    const CompositeId id{static_cast<std::uint64_t>(composite)};
    CFFS_TRY(const auto object, store.fs->composites().open(id));
    CFFS_TRY(const ObjectInfo info, object->info());
    return store.fs->composites().scan(id, info.size, [&](const RecordMeta& r, std::uint64_t at) {
      fmt::print("slot {} inode {} parent {} '{}': data at {}, {} bytes, checksum {:016x}\n", r.slot,
                 r.ino.value, r.parent.value, printable(r.name), at, r.data_length, r.data_checksum);
    });
  }
  Key first{0, 0};
  Key last{~std::uint64_t{0}, ~std::uint64_t{0}};
  if (directory >= 0) first.upper = last.upper = static_cast<std::uint64_t>(directory);
  return store.fs->table().scan(first, last, [&](Key key, std::string_view value) {
    print_row(key, value, with_hex);
    return true;
  });
}

}  // namespace

void add_dump(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("dump", "Print the rows of a store that is not mounted, decoded");
  struct Options {
    std::string path;
    bool hex = false;
    std::int64_t directory = -1, composite = -1;
  };
  auto o = std::make_shared<Options>();
  command->add_option("STORE", o->path, "Store")->required();
  command->add_option("--inode", o->directory, "Only the rows under this number: a directory's entries");
  command->add_option("--composite", o->composite, "The records of this composite instead");
  command->add_flag("--hex", o->hex, "The bytes of each row too");
  command->callback([o, &exit_code] {
    if (const Status done = run_dump(o->path, o->hex, o->directory, o->composite); !done) {
      exit_code = complain(done.error());
    }
  });
}

}  // namespace cffs::cli
