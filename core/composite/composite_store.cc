#include "core/composite/composite_store.h"

#include <algorithm>

#include "core/base/checksum.h"
#include "core/object/blocking_section.h"

namespace cffs {
namespace {

// The most of a group that is read ahead, counted from the member and then backwards: a member in a huge directory must
// not make the device read all of it.
constexpr std::uint64_t kPrefetchWindow = 1u << 20;

// `first`: nobody has read the member since it was looked up, so it may well be cold.
Result<std::size_t> read_extent(const Object& object, const Extent& extent, std::uint64_t offset, Bytes out,
                                bool first) {
  if (!first || object.in_memory(extent.offset + offset, out.size())) {
    CFFS_TRY(const auto cached, object.try_read_at(extent.offset + offset, out));
    if (cached) return *cached;
  }
  announce_blocking();
  // The member and what follows first, so that it arrives first; then what lies before it.
  const std::uint64_t group_end = extent.group_offset + extent.group_length;
  const std::uint64_t after = std::min(kPrefetchWindow, group_end - extent.offset);
  const std::uint64_t before = std::min(kPrefetchWindow - after, extent.offset - extent.group_offset);
  object.prefetch(extent.offset, after);
  if (before > 0) object.prefetch(extent.offset - before, before);
  return object.read_at(extent.offset + offset, out);
}

// One sequential pass over an object, a piece at a time: an object may be as large as its maker likes.
class Window {
 public:
  Window(const Object& object, std::uint64_t end) : object_(object), end_(end) {}

  std::uint64_t end() const { return end_; }
  // What the object has from `at` on: at least `wanted` bytes, fewer at its end only. Valid until the next call.
  Result<std::string_view> from(std::uint64_t at, std::uint64_t wanted) {
    wanted = std::min(wanted, end_ - at);
    if (at < first_ || at + wanted > first_ + bytes_.size()) {
      bytes_.resize(std::min(std::max(kPiece, wanted), end_ - at));
      first_ = at;
      CFFS_TRY(const std::size_t n, object_.read_at(at, as_writable_bytes(bytes_)));
      bytes_.resize(n);
    }
    return std::string_view(bytes_).substr(at - first_);
  }

 private:
  static constexpr std::uint64_t kPiece = 1u << 20;
  const Object& object_;
  const std::uint64_t end_;
  std::uint64_t first_ = 0;
  std::string bytes_;
};

using ParsedRecord = Result<std::optional<RecordMeta>>;

// parse_record() of the record that begins there; the outer error is of reading.
Result<ParsedRecord> record_at(Window& window, std::uint64_t at) {
  CFFS_TRY(std::string_view bytes, window.from(at, kRecordHeaderBytes));
  const std::uint64_t meta = meta_length(bytes);
  if (meta > kLargestMeta)
    return Result<std::optional<RecordMeta>>(fail(Error::corruption("a record's meta is malformed")));
  CFFS_TRY(bytes, window.from(at, kRecordHeaderBytes + meta));
  return parse_record(bytes);
}

// From record to record; `record` tells what begins at a place.
Status scan_records(CompositeId id, std::uint64_t end,
                    const std::function<Result<ParsedRecord>(std::uint64_t)>& record,
                    const std::function<void(const RecordMeta&, std::uint64_t)>& visit) {
  const std::string name = CompositeStore::object_name(id);
  for (std::uint64_t at = kCompositeHeaderBytes; at < end;) {
    CFFS_TRY(const auto found, record(at));
    if (!found) {
      return fail(
          Error::corruption(name + " at byte " + std::to_string(at) + ": " + found.error().message()));
    }
    if (!*found) {
      return fail(Error::corruption(name + " ends inside the record at byte " + std::to_string(at)));
    }
    visit(**found, at + (*found)->meta_bytes);
    at += (*found)->record_bytes();
  }
  return {};
}

}  // namespace

std::string CompositeStore::object_name(CompositeId id) {
  return "composites/" + std::to_string(id.value / 10000) + "/" + std::to_string(id.value);
}

Status CompositeStore::append(const CompositeBuilder& builder, bool sync, std::shared_ptr<Object> into) {
  const std::string name = object_name(builder.id());
  std::shared_ptr<Object> object = std::move(into);
  if (builder.write_offset() == 0) {
    CFFS_TRY(object, open_.create(name, ObjectStore::Create::truncate));
  } else if (!object) {
    CFFS_TRY(object, open_.open(name));
  }
  CFFS_TRY_VOID(object->write_at(builder.write_offset(), as_bytes(builder.bytes())));
  if (!sync) return {};
  Status done = object->sync();
  if (!done && failed_sync_) failed_sync_();
  return done;
}

Result<std::shared_ptr<Object>> CompositeStore::open(CompositeId id) { return open_.open(object_name(id)); }

Status CompositeStore::remove(CompositeId id) { return open_.remove(object_name(id)); }

Result<std::size_t> CompositeStore::read(const Object& object, const Extent& extent, std::uint64_t offset,
                                         Bytes out, bool verify) {
  if (offset >= extent.length) return std::size_t{0};
  const std::size_t wanted = std::min<std::uint64_t>(out.size(), extent.length - offset);
  const auto corrupt = [&] {
    return fail(Error::corruption(object_name(extent.composite) + ", slot " + std::to_string(extent.slot) +
                                  ": data differs from its checksum"));
  };
  if (!verify) {
    CFFS_TRY(const std::size_t n, read_extent(object, extent, offset, out.first(wanted), false));
    if (n != wanted) return corrupt();
    return wanted;
  }
  if (offset == 0 && wanted == extent.length) {  // the usual case: a small file read whole, no extra copy
    CFFS_TRY(const std::size_t n, read_extent(object, extent, 0, out.first(wanted), true));
    if (n != wanted || checksum(out.first(wanted)) != extent.checksum) return corrupt();
    return wanted;
  }
  const auto memory = std::make_unique_for_overwrite<std::byte[]>(extent.length);
  const Bytes whole(memory.get(), extent.length);
  CFFS_TRY(const std::size_t n, read_extent(object, extent, 0, whole, true));
  if (n != extent.length || checksum(whole) != extent.checksum) return corrupt();
  std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(offset), wanted, out.begin());
  return wanted;
}

Status CompositeStore::scan(CompositeId id, std::uint64_t object_bytes,
                            const std::function<void(const RecordMeta&, std::uint64_t)>& visit) {
  CFFS_TRY(const auto object, open(id));
  announce_blocking();
  CFFS_TRY(const ObjectInfo info, object->info());
  Window window(*object, std::min(object_bytes, info.size));
  CFFS_TRY(const std::string_view header, window.from(0, kCompositeHeaderBytes));
  CFFS_TRY_VOID(check_composite_header(header, id));
  return scan_records(
      id, window.end(), [&](std::uint64_t at) { return record_at(window, at); }, visit);
}

Status CompositeStore::scan_bytes(CompositeId id, std::string_view bytes,
                                  const std::function<void(const RecordMeta&, std::uint64_t)>& visit) {
  CFFS_TRY_VOID(check_composite_header(bytes, id));
  const auto record = [&](std::uint64_t at) -> Result<ParsedRecord> {
    return parse_record(bytes.substr(at));
  };
  return scan_records(id, bytes.size(), record, visit);
}

}  // namespace cffs
