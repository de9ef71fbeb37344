// dump: the rows of a store, decoded, and the bytes of one row in hex. Changes nothing.
#include <fmt/format.h>

#include "cli/commands.h"
#include "core/blob/blob_store.h"
#include "core/composite/composite_store.h"
#include "core/inspect/row_names.h"
#include "core/table/block_sums.h"
#include "core/table/content_row.h"
#include "core/table/pending_removal.h"
#include "core/table/reference_rows.h"
#include "core/table/system_rows.h"
#include "core/table/table.h"
#include "core/table/value_log.h"

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
      fmt::print("    home {} ({} bytes allocated){}\n", BlobStore::object_name(n.ino), n.allocated,
                 n.sealed ? ", sealed" : "");
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
  for (const auto& [name, value] : n.xattrs) fmt::print("    {} = {}\n", printable(name), printable(value));
}

void print_entries(const Row& row) {
  fmt::print("entries: {}\n", row.entries.size());
  for (const Entry& entry : row.entries) {
    fmt::print("  '{}'{}\n", printable(entry.name),
               entry.inode ? "" : fmt::format(" hard link to inode {}", entry.ino.value));
    if (entry.inode) print_inode(*entry.inode);
  }
}

void print_composite(const CompositeRow& row) {
  fmt::print(
      "composite: {} bytes, {} live, {} freed, {} members, {} slots, mode {:o}, owner {}:{}, policy {}\n",
      row.size, row.live_bytes, row.freed_bytes, row.members, row.slots, row.mode, row.uid, row.gid,
      row.policy);
}

std::string place_text(const EntryName& place) {
  return fmt::format("'{}' in directory {}", printable(place.name), place.parent.value);
}

void print_document(const DocumentRow& row, std::uint64_t number) {
  fmt::print("document {}: {}{}\n", number, place_text(row.place), row.html ? ", HTML" : "");
  for (const InodeId holder : row.holders) fmt::print("    says what inode {} embeds\n", holder.value);
  for (const std::uint64_t stem : row.stems) fmt::print("    mentions stem {:014x}\n", stem);
}

void print_embedded(const std::vector<EmbeddedFile>& files, Key key) {
  fmt::print("inode {} embeds, as document {} says: {} files\n", key.number(), key.lower, files.size());
  for (const EmbeddedFile& embedded : files) {
    fmt::print("    inode {}: {}\n", embedded.file.value, place_text(embedded.place));
  }
}

// One line at least; bytes that do not decode are said to be so.
template <typename Decoded, typename Print>
void print_or_complain(const Decoded& decoded, Print print) {
  if (decoded) {
    print(*decoded);
  } else {
    fmt::print("{}\n", decoded.error().message());
  }
}

void print_namespace_row(Key key, std::string_view value) {
  switch (row_kind(key, value)) {
    case RowKind::composite:
      return print_or_complain(decode_composite_row(value), print_composite);
    case RowKind::entries:
      return print_or_complain(decode_row(value), print_entries);
    case RowKind::member_files:
      return print_or_complain(decode_member_files(value), [&](const MemberFiles& row) {
        for (const MemberFile& file : row.files) {
          fmt::print("member of composite {}, slot {} is {}{}\n", key.upper, key.lower - 1,
                     file.ino.value == 0 ? "now " : "inode " + std::to_string(file.ino.value) + ", ",
                     file.at.name.empty() ? "as recorded" : place_text(file.at));
        }
      });
  }
}

void print_system_row(Key key, std::string_view value) {
  const auto field = system_field(key);
  if (!field) return fmt::print("unknown system field {}: {} bytes\n", key.lower, value.size());
  if (*field == SystemField::open_boot) {
    return fmt::print("system: {}: {}\n", system_field_name(*field), printable(value));
  }
  if (*field == SystemField::log_synced) {
    print_or_complain(decode_log_synced(value), [&](LogSynced synced) {
      fmt::print("system: {}: {} bytes of log {}\n", system_field_name(*field), synced.bytes, synced.log);
    });
    return;
  }
  if (*field == SystemField::scrub) {
    print_or_complain(decode_scrub_progress(value), [&](const ScrubProgress& scrub) {
      fmt::print("system: {}: {}, {} files, {} bytes, {} damaged, next {}\n", system_field_name(*field),
                 scrub.finished ? "finished" : "unfinished", scrub.files, scrub.bytes, scrub.damaged,
                 key_text(scrub.next));
    });
    return;
  }
  if (*field == SystemField::sharing) {
    return print_or_complain(decode_sharing(value), [&](bool on) {
      fmt::print("system: {}: {}\n", system_field_name(*field), on ? "yes" : "no more than do");
    });
  }
  if (*field == SystemField::compression) {
    print_or_complain(decode_compression(value), [&](const Compression& how) {
      fmt::print("system: {}: {}\n", system_field_name(*field), compression_text(how));
    });
    return;
  }
  if (*field == SystemField::values) {
    print_or_complain(decode_values(value), [&](const auto& known) {
      fmt::print("system: {}:", system_field_name(*field));
      for (const auto& [number, part] : known) {
        fmt::print(" {}: {} of {} bytes are named;", ValueLog::object_name(number), part.live, part.size);
      }
      fmt::print("\n");
    });
    return;
  }
  print_or_complain(decode_system_number(*field, value), [&](std::uint64_t number) {
    fmt::print("system: {}: {}\n", system_field_name(*field), number);
  });
}

void print_pending_removal(Key key) {
  const auto removal = decode_pending_removal(key);
  if (!removal)
    return fmt::print("object {} of unknown kind {} waits for removal\n", key.number(), key.lower);
  if (!removal->is_object())
    return fmt::print("inode {} has no name, and goes when nobody uses it\n", removal->number);
  fmt::print("{} {} waits for removal\n", removal->kind == PendingRemoval::Kind::blob ? "blob" : "composite",
             removal->number);
}

void print_row(Key key, std::string_view value, bool with_hex) {
  fmt::print("{} ", key_text(key));
  switch (key.tag()) {
    case KeyTag::namespace_:
      print_namespace_row(key, value);
      break;
    case KeyTag::namespace_end:
      fmt::print("end of the namespace\n");
      break;
    case KeyTag::staged_directory:
      fmt::print("directory {} holds staged files\n", key.number());
      break;
    case KeyTag::wasteful_composite:
      fmt::print("composite {} is half freed and waits for compaction\n", key.number());
      break;
    case KeyTag::pending_removal:
      print_pending_removal(key);
      break;
    case KeyTag::document:
      print_or_complain(decode_document(value),
                        [&](const DocumentRow& row) { print_document(row, key.number()); });
      break;
    case KeyTag::embeds:
      print_or_complain(decode_embedded(value), [&](const auto& files) { print_embedded(files, key); });
      break;
    case KeyTag::embedded_by:
      fmt::print("inode {} is embedded by {} {}\n", key.number(), is_html_holder(key) ? "HTML page" : "inode",
                 holder_of(key).value);
      break;
    case KeyTag::mentions:
      fmt::print("stem {:014x} is mentioned by document {}\n", key.number(), key.lower);
      break;
    case KeyTag::content:
      return print_or_complain(decode_content_row(key, value), [&](const ContentRow& row) {
        fmt::print("content of {} bytes, checksum {:016x}: composite {}, slot {}, owner {}\n",
                   row.extent.length, row.extent.checksum, row.extent.composite.value, row.extent.slot,
                   row.owner.value);
      });
    case KeyTag::block_sums:
      fmt::print("checksums of the blob of inode {}, {} blocks of {} bytes from byte {} on\n", key.number(),
                 value.size() / 4, kSumBlockBytes, key.lower * kSumRowSpan);
      break;
    case KeyTag::file_data:
      fmt::print("data of inode {}, chunk {}: {} bytes\n", key.number(), key.lower, value.size());
      break;
    case KeyTag::system:
      print_system_row(key, value);
      break;
    default:
      fmt::print("unknown kind of row: {} bytes\n", value.size());
  }
  if (with_hex) fmt::print("      {}\n", hex(value));
}

Status run_dump(const StoreName& name, bool with_hex, std::int64_t directory, std::int64_t composite) {
  CFFS_TRY(const OpenStore store, open_store_for_reading(name));
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
    StoreName store;
    bool hex = false;
    std::int64_t directory = -1, composite = -1;
  };
  auto o = std::make_shared<Options>();
  add_store_argument(*command, "STORE", o->store, "Store")->required();
  const CLI::Validator number(
      [](const std::string& text) -> std::string {
        return text.starts_with('-') ? "numbers begin with 0, and " + text + " is below" : "";
      },
      "");
  auto* inode =
      command->add_option("--inode", o->directory, "Only the rows under this number: a directory's entries");
  auto* bytes = command->add_flag("--hex", o->hex, "The bytes of each row too");
  command->add_option("--composite", o->composite, "The records of this composite instead")
      ->check(number)
      ->excludes(inode)
      ->excludes(bytes);
  inode->check(number);
  command->callback([o, &exit_code] {
    if (const Status done = run_dump(o->store, o->hex, o->directory, o->composite); !done) {
      exit_code = complain(done.error());
    }
  });
}

}  // namespace cffs::cli
