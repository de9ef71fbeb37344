#include "core/table/row.h"

#include <algorithm>

#include "core/base/bytes.h"

namespace cffs {
namespace {

constexpr std::uint8_t kSealedBlob = 4;  // in a row: home blob, sealed. Never renumber: on disk

// First byte of a row. Never renumber.
constexpr std::uint8_t kEntriesV1 = 1;
constexpr std::uint8_t kCompositeV1 = 0x81;

// Kinds of entry. Never renumber.
constexpr std::uint8_t kEmbedded = 0;
constexpr std::uint8_t kHardLink = 1;

constexpr std::size_t kLongestName = 255;     // bytes; also of an attribute's name
constexpr std::size_t kLongestTarget = 4095;  // bytes of a symlink's target

// Times may be any: differences wrap.
std::int64_t minus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

tl::unexpected<Error> malformed(const char* what) { return fail(Error::corruption(what)); }

// What one component of a path can be.
bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

void encode_extent(ByteWriter& w, const Extent& e) {
  w.varint(e.composite.value);
  w.varint(std::uint64_t{e.slot} << 1 | (e.moved ? 1 : 0));
  w.varint(e.offset);
  w.varint(e.length);
  w.varint(e.capacity - e.length);
  w.u64(e.checksum);
  w.varint(e.offset - e.group_offset);
  w.varint(e.group_length);
}

constexpr std::uint64_t kPlaces = kFileMax / 4;  // all sums of places stay far below 2^64

Result<Extent> decode_extent(ByteReader& r) {
  Extent e;
  e.composite.value = r.varint();
  const std::uint64_t slot_and_moved = r.varint();
  e.slot = static_cast<std::uint32_t>(slot_and_moved >> 1);
  e.moved = (slot_and_moved & 1) != 0;
  e.offset = r.varint();
  e.length = r.varint();
  const std::uint64_t spare = r.varint();
  e.capacity = e.length + spare;
  e.checksum = r.u64();
  const std::uint64_t into_group = r.varint();
  e.group_offset = e.offset - into_group;
  e.group_length = r.varint();
  const bool possible =
      slot_and_moved >> 33 == 0 && spare <= kPlaces && into_group <= e.offset && is_possible(e);
  if (!possible) return malformed("row names a place that no composite has");
  return e;
}

Status check_inode(const Inode& n, std::uint64_t mode, std::uint64_t uid, std::uint64_t gid) {
  if (n.ino.value >= kInodeLimit) return malformed("row names an inode number that no file has");
  if (!is_file_mode(mode)) return malformed("row names an unknown type of file");
  if (uid > 0xffffffff || gid > 0xffffffff) return malformed("row names an owner that nobody is");
  if (n.size > kFileMax) return malformed("row claims more bytes than a file can have");
  if (n.home != Home::none && !n.is_regular()) return malformed("row has data of what is no regular file");
  const bool too_large = (n.home == Home::inline_ && n.size > kSmallFileMax) ||
                         (n.home == Home::composite && n.size > kMemberMax);
  if (too_large) return malformed("row claims more bytes than its home can have");
  if (n.target.size() > kLongestTarget || n.target.find('\0') != std::string::npos) {
    return malformed("row has a target that no symbolic link can have");
  }
  return {};
}

Result<Inode> decode_inode(ByteReader& r) {
  Inode n;
  n.ino.value = r.varint();
  const std::uint64_t mode = r.varint();
  const std::uint64_t uid = r.varint();
  const std::uint64_t gid = r.varint();
  n.mode = static_cast<mode_t>(mode);
  n.uid = static_cast<uid_t>(uid);
  n.gid = static_cast<gid_t>(gid);
  n.nlink = r.varint();
  n.size = r.varint();
  n.mtime_ns = r.svarint();
  n.ctime_ns = plus(n.mtime_ns, r.svarint());
  n.atime_ns = plus(n.mtime_ns, r.svarint());
  n.btime_ns = plus(n.mtime_ns, r.svarint());
  n.rdev = r.varint();
  n.version = r.varint();
  const std::uint8_t home = r.u8();
  n.sealed = home == kSealedBlob;
  if (home > static_cast<std::uint8_t>(Home::blob) && !n.sealed)
    return fail(Error::corruption("row names an unknown home"));
  n.home = n.sealed ? Home::blob : static_cast<Home>(home);
  if (n.home == Home::composite) {
    CFFS_TRY(n.extent, decode_extent(r));
  }
  if (n.home == Home::blob) n.allocated = r.varint();
  n.target = r.string();
  const std::uint64_t xattrs = r.varint();
  for (std::uint64_t i = 0; i < xattrs && r.ok(); ++i) {
    std::string name(r.string());
    if (r.ok() && (name.empty() || name.size() > kLongestName || name.find('\0') != std::string::npos)) {
      return malformed("row has an attribute that no file can have");
    }
    n.xattrs.emplace_back(std::move(name), std::string(r.string()));
  }
  if (!r.ok()) return fail(Error::corruption("row ends inside an inode"));
  CFFS_TRY_VOID(check_inode(n, mode, uid, gid));
  return n;
}

// A name is one that a path can have, and leads to a file: to no directory under a second name, and not to the root. What has
// no name is the inode of hard links, or the root.
Status check_entry(const Entry& entry) {
  if (entry.name.empty()) {
    const bool directory = entry.inode && entry.inode->is_directory();
    if (!entry.inode || directory != (entry.ino == kRootInode)) {
      return malformed("row without a name has what must have one");
    }
    return {};
  }
  if (!is_name(entry.name)) return malformed("row has a name that no path can have");
  if (entry.ino.value < kFirstInode || entry.ino.value >= kInodeLimit) {
    return malformed("row leads to an inode number that no name can have");
  }
  if (entry.inode) return {};
  if (!is_file_mode(entry.type) || entry.type == S_IFDIR || (entry.type & ~mode_t{S_IFMT}) != 0) {
    return malformed("row links to what has one name only");
  }
  return {};
}

}  // namespace

bool is_possible(const Extent& e) {
  return e.composite.value >= kFirstInode && e.composite.value < kInodeLimit && e.offset <= kPlaces &&
         e.length <= kMemberMax && e.capacity >= e.length && e.capacity - e.length <= kPlaces &&
         e.group_offset <= e.offset && e.group_length <= kPlaces;
}

Result<Inode> decode_inode(std::string_view bytes) {
  ByteReader r(bytes);
  return decode_inode(r);
}

void encode_inode(std::string& out, const Inode& n) {
  CFFS_INVARIANT(!n.left_in_row);
  ByteWriter w(out);
  w.varint(n.ino.value);
  w.varint(n.mode);
  w.varint(n.uid);
  w.varint(n.gid);
  w.varint(n.nlink);
  w.varint(n.size);
  w.svarint(n.mtime_ns);
  w.svarint(minus(n.ctime_ns, n.mtime_ns));
  w.svarint(minus(n.atime_ns, n.mtime_ns));
  w.svarint(minus(n.btime_ns, n.mtime_ns));
  w.varint(n.rdev);
  w.varint(n.version);
  w.u8(n.home == Home::blob && n.sealed ? kSealedBlob : static_cast<std::uint8_t>(n.home));
  if (n.home == Home::composite) encode_extent(w, n.extent);
  if (n.home == Home::blob) w.varint(n.allocated);
  w.string(n.target);
  w.varint(n.xattrs.size());
  for (const auto& [name, value] : n.xattrs) {
    w.string(name);
    w.string(value);
  }
}

const Entry* Row::find(std::string_view name) const {
  for (const Entry& entry : entries) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

Entry* Row::find(std::string_view name) { return const_cast<Entry*>(std::as_const(*this).find(name)); }

void Row::insert(Entry entry) {
  CFFS_INVARIANT(find(entry.name) == nullptr);
  const auto at = std::find_if(entries.begin(), entries.end(),
                               [&](const Entry& other) { return other.name > entry.name; });
  entries.insert(at, std::move(entry));
}

void Row::erase(std::string_view name) {
  const auto erased = std::erase_if(entries, [&](const Entry& entry) { return entry.name == name; });
  CFFS_INVARIANT(erased == 1);
}

std::string encode_row(const Row& row) {
  std::string out;
  out.reserve(128);
  ByteWriter w(out);
  w.u8(kEntriesV1);
  w.varint(row.entries.size());
  for (const Entry& entry : row.entries) {
    w.string(entry.name);
    w.u8(entry.inode ? kEmbedded : kHardLink);
    if (entry.inode) {
      encode_inode(out, *entry.inode);
    } else {
      w.varint(entry.ino.value);
      w.varint(entry.type);
    }
  }
  return out;
}

std::string encode_single_row(std::string_view name, const Inode& inode) {
  std::string out;
  out.reserve(96 + name.size());
  ByteWriter w(out);
  w.u8(kEntriesV1);
  w.varint(1);
  w.string(name);
  w.u8(kEmbedded);
  encode_inode(out, inode);
  return out;
}

Result<Row> decode_row(std::string_view bytes) {
  ByteReader r(bytes);
  const std::uint8_t version = r.u8();
  if (!r.ok() || version != kEntriesV1) return fail(Error::corruption("row of an unknown version"));
  const std::uint64_t count = r.varint();
  if (!r.ok() || count > r.remaining())
    return fail(Error::corruption("row claims more entries than it holds"));
  Row row;
  constexpr std::uint64_t kUsual = 16;  // an entry takes more memory than bytes of the row
  row.entries.reserve(std::min(count, kUsual));
  for (std::uint64_t i = 0; i < count; ++i) {
    Entry entry;
    entry.name = r.string();
    const std::uint8_t kind = r.u8();
    if (kind == kEmbedded) {
      CFFS_TRY(Inode inode, decode_inode(r));
      entry.ino = inode.ino;
      entry.type = inode.mode & S_IFMT;
      entry.inode = std::move(inode);
    } else if (kind == kHardLink) {
      entry.ino.value = r.varint();
      entry.type = static_cast<mode_t>(r.varint());
    } else {
      return fail(Error::corruption("row entry of an unknown kind"));
    }
    if (!r.ok()) return fail(Error::corruption("row ends inside an entry"));
    CFFS_TRY_VOID(check_entry(entry));
    if (!row.entries.empty() && row.entries.back().name >= entry.name) {
      return malformed("row has its names out of order, or one twice");
    }
    row.entries.push_back(std::move(entry));
  }
  if (!r.at_end()) return fail(Error::corruption("row is longer than its entries"));
  return row;
}

RowKind row_kind(Key key, std::string_view bytes) {
  const std::uint8_t first = bytes.empty() ? 0 : static_cast<std::uint8_t>(bytes[0]);
  // A composite's row lies under the null name, a member_files row never does; and that one never begins like entries,
  // since there is no inode 1.
  if (key.lower == 0) return first == kCompositeV1 ? RowKind::composite : RowKind::entries;
  return first == kEntriesV1 ? RowKind::entries : RowKind::member_files;
}

std::string encode_composite_row(const CompositeRow& row) {
  std::string out;
  ByteWriter w(out);
  w.u8(kCompositeV1);
  w.varint(row.mode);
  w.varint(row.uid);
  w.varint(row.gid);
  w.varint(row.size);
  w.varint(row.live_bytes);
  w.varint(row.freed_bytes);
  w.varint(row.members);
  w.varint(row.slots);
  w.u8(row.policy);
  return out;
}

Result<CompositeRow> decode_composite_row(std::string_view bytes) {
  ByteReader r(bytes);
  if (r.u8() != kCompositeV1) return fail(Error::corruption("not a composite's row"));
  CompositeRow row;
  row.mode = static_cast<mode_t>(r.varint());
  row.uid = static_cast<uid_t>(r.varint());
  row.gid = static_cast<gid_t>(r.varint());
  row.size = r.varint();
  row.live_bytes = r.varint();
  row.freed_bytes = r.varint();
  row.members = r.varint();
  row.slots = r.varint();
  row.policy = r.u8();
  if (!r.ok() || !r.at_end()) return fail(Error::corruption("a composite's row is malformed"));
  constexpr std::uint64_t kMost = kFileMax / 4;  // so that accounts can be added up
  for (const std::uint64_t count : {row.size, row.live_bytes, row.freed_bytes, row.members, row.slots}) {
    if (count > kMost) return fail(Error::corruption("a composite's row counts more than there can be"));
  }
  return row;
}

}  // namespace cffs
