// What composites are, as plain bytes or packed, is changed here: a copy is made beside the object, and takes its place.
#include <algorithm>
#include <string>
#include <vector>

#include "core/base/checksum.h"
#include "core/composite/composite_store.h"
#include "core/composite/large_member.h"
#include "core/object/what_can_be_read.h"
#include "core/packed/packed_object.h"
#include "core/packed/packer.h"

namespace cffs {
namespace {

// Known by its folder: an end without close leaves it to the next user, who removes what no row names.
constexpr const char* kCopySuffix = ".packing";

std::string copy_name(CompositeId id) { return CompositeStore::object_name(id) + kCopySuffix; }

}  // namespace

Compression CompositeStore::compression_of(const Object& plain) {
  const auto* const packed = dynamic_cast<const PackedObject*>(&plain);
  return packed == nullptr ? Compression{} : packed->index().made_with();
}

Status CompositeStore::check_index(const Object& plain) {
  const auto* const packed = dynamic_cast<const PackedObject*>(&plain);
  return packed == nullptr ? Status() : packed->check_index();
}

Result<std::string> CompositeStore::read_what_can_be(const Object& plain) {
  const auto* const packed = dynamic_cast<const PackedObject*>(&plain);
  if (packed != nullptr) return packed->read_what_can_be();
  CFFS_TRY(PartialBytes read, cffs::read_what_can_be(plain));
  return std::move(read.bytes);
}

Result<bool> CompositeStore::make_copy(CompositeId id, std::uint64_t bytes, const Compression& how,
                                       std::span<const Piece> zeros, const IsUsed& is_used) {
  if (being_filled_.has(id) || bytes > kPackedMost) return false;
  CFFS_TRY(const auto object, open(id));
  if (zeros.empty() && compression_of(*object) == how && check_index(*object)) return false;
  std::string plain(bytes, '\0');
  CFFS_TRY(const std::size_t n, object->read_at(0, as_writable_bytes(plain)));
  if (n != plain.size()) return fail(Error::corruption(object_name(id) + " ends before its row says"));
  std::vector<std::uint64_t> ends;
  std::vector<RecordMeta> rotten;
  CFFS_TRY_VOID(scan_bytes(id, plain, [&](const RecordMeta& record, std::uint64_t data_at) {
    ends.push_back(data_at - record.meta_bytes + record.record_bytes());
    if (record.data_length <= kLargeMember) return;
    const auto data = std::string_view(plain).substr(std::min(data_at, bytes), record.data_length);
    if (checksum(as_bytes(data)) != record.data_checksum) rotten.push_back(record);
  }));
  for (const RecordMeta& record : rotten) {  // of one that nobody uses a hole may have been made
    CFFS_TRY(const bool used, is_used ? is_used(record) : Result<bool>(true));
    if (used) {
      return fail(Error::corruption(object_name(id) + ": the data of inode " +
                                    std::to_string(record.ino.value) + " differs from its checksum"));
    }
  }
  for (const auto& [offset, length] : zeros) {
    if (offset > bytes || length > bytes - offset)  // a record that says it is longer than there is room
      return fail(Error::corruption(object_name(id) + " ends inside a record"));
    std::fill_n(plain.begin() + static_cast<std::ptrdiff_t>(offset), length, '\0');
  }
  const auto packed = pack(plain, ends, how);
  // What is plain and stays so has nothing to gain.
  if (!packed && compression_of(*object) == Compression{}) return false;
  const std::string_view content = packed ? *packed : plain;
  const auto write = [&]() -> Status {
    CFFS_TRY(const auto copy, store_.create(copy_name(id), ObjectStore::Create::truncate));
    copy->expect(content.size());
    CFFS_TRY_VOID(copy->write_at(0, as_bytes(content)));
    bytes_written_.fetch_add(content.size(), std::memory_order_relaxed);
    return copy->sync();
  };
  if (const Status done = write(); !done) {
    drop_copy(id);
    return fail(done.error());
  }
  return true;
}

Status CompositeStore::take_copy(CompositeId id) {
  const std::string name = object_name(id);
  CFFS_TRY_VOID(store_.rename(copy_name(id), name));
  open_.drop(name);
  return {};
}

bool CompositeStore::is_copy(std::string_view object) { return object.ends_with(kCopySuffix); }

void CompositeStore::drop_copy(CompositeId id) { (void)store_.remove(copy_name(id)); }

}  // namespace cffs
