#include "core/composite/composite_store.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/checksum.h"
#include "core/base/clock.h"
#include "core/base/thread_room.h"
#include "core/composite/large_member.h"
#include "core/object/arriving.h"
#include "core/object/blocking_section.h"
#include "core/object/suspension.h"
#include "core/packed/packed_object.h"
#include "core/packed/packer.h"

namespace cffs {
namespace {

struct Range {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t bytes() const { return end - begin; }
};

constexpr std::uint64_t kUsualBytes = 4u << 20;  // of a composite that is full
constexpr std::uint64_t kFewBytes = 128u << 10;  // so many bytes at most may be there within a few wake-ups

// Holds the member, wherever its row says that its group is.
Range range_of(ReadAhead::Scope scope, const Extent& extent, std::uint64_t composite_bytes) {
  const Range member{extent.offset, extent.offset + extent.length};
  Range range = member;
  if (scope == ReadAhead::Scope::composite) range = {0, std::max(composite_bytes, member.end)};
  if (scope == ReadAhead::Scope::group)
    range = {extent.group_offset, std::max(extent.group_offset + extent.group_length, member.end)};
  return range.bytes() <= ReadAhead::kMost ? range : member;
}

// Those pieces of the range that hold the member.
Range pieces_of(const Range& range, const Extent& extent) {
  constexpr std::uint64_t kPiece = ReadAhead::kPiece;
  const std::uint64_t first = (extent.offset - range.begin) / kPiece;
  const std::uint64_t end = (extent.offset + extent.length - range.begin + kPiece - 1) / kPiece;
  return {range.begin + first * kPiece, std::min(range.begin + end * kPiece, range.end)};
}

void ask_for(const Object& object, const Range& range) {
  if (range.bytes() > 0) object.prefetch(range.begin, range.bytes());
}

// Asks for all of it; returns for how many bytes the reader of the member has to wait.
std::uint64_t ask_for(const Object& object, const Range& range, const Extent& extent, bool in_order) {
  const Range pieces = pieces_of(range, extent);
  if (in_order) {
    ask_for(object, range);
    return pieces.end - range.begin;
  }
  ask_for(object, pieces);
  ask_for(object, {pieces.end, range.end});
  ask_for(object, {range.begin, pieces.begin});
  return pieces.bytes();
}

std::vector<std::uint64_t> ends_of(const CompositeBuilder& builder) {
  std::vector<std::uint64_t> ends;
  for (const Extent& extent : builder.extents()) ends.push_back(extent.offset + extent.capacity);
  return ends;
}

bool is_absent(const Object& object, const Range& range) {
  const auto share = object.share_in_memory(range.begin, range.bytes());
  return share && *share == 0;
}

// One sequential pass over an object, a stretch at a time: an object may be as large as its maker likes.
class Window {
 public:
  Window(const Object& object, std::uint64_t end) : object_(object), end_(end) {}

  std::uint64_t end() const { return end_; }
  // What the object has from `at` on: at least `wanted` bytes, fewer at its end only. Valid until the next call.
  Result<std::string_view> from(std::uint64_t at, std::uint64_t wanted) {
    wanted = std::min(wanted, end_ - at);
    if (at < first_ || at + wanted > first_ + bytes_.size()) {
      bytes_.resize(std::min(std::max(kStretch, wanted), end_ - at));
      first_ = at;
      CFFS_TRY(const std::size_t n, object_.read_at(at, as_writable_bytes(bytes_)));
      bytes_.resize(n);
    }
    return std::string_view(bytes_).substr(at - first_);
  }

 private:
  static constexpr std::uint64_t kStretch = 1u << 20;
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

// Bytes of a composite that are on their way to memory.
class CompositeStore::Arriving final : public Suspension {
 public:
  // What the operation asked for itself: in one request with `waited` bytes (0: it says nothing of a request), and `beyond`.
  struct Asked {
    std::uint64_t waited, beyond;
    std::uint64_t start;  // elapsed_ns()
    ReadAhead::Wait wait;
  };
  Arriving(CompositeId composite, std::uint64_t at, Asked asked)
      : composite_(composite), at_(at), asked_(std::move(asked)) {}
  bool is_for(CompositeId composite, std::uint64_t at) const { return composite_ == composite && at_ == at; }
  std::uint64_t at() const { return at_; }
  const Asked& asked() const { return asked_; }

 private:
  const CompositeId composite_;
  const std::uint64_t at_;
  const Asked asked_;
};

std::uint64_t CompositeStore::folder_of(CompositeId id) { return id.value / 10000; }

std::string CompositeStore::folder_name(std::uint64_t folder) {
  return "composites/" + std::to_string(folder);
}

std::string CompositeStore::object_name(CompositeId id) {
  return folder_name(folder_of(id)) + "/" + std::to_string(id.value);
}

Status CompositeStore::append(const CompositeBuilder& builder, bool sync, std::shared_ptr<Object> into,
                              Content content) {
  const std::string name = object_name(builder.id());
  std::shared_ptr<Object> object = std::move(into);
  std::optional<std::string> packed;
  if (builder.write_offset() == 0 && content == Content::all) {
    packed = pack(builder.bytes(), ends_of(builder), compression());
  }
  const std::string_view bytes = packed ? *packed : builder.bytes();
  if (builder.write_offset() == 0) {
    CFFS_TRY(object, open_.create(name, ObjectStore::Create::truncate));
    object->expect(packed ? bytes.size() : std::max<std::uint64_t>(bytes.size(), kUsualBytes));
  } else if (!object) {
    CFFS_TRY(object, open_.open(name));
  }
  const Status written = object->write_at(builder.write_offset(), as_bytes(bytes));
  if (written) bytes_written_.fetch_add(bytes.size(), std::memory_order_relaxed);
  // This handle would show the frames, and so would one that somebody who looks around opened meanwhile.
  if (packed) open_.drop(name);
  if (!written || !sync) return written;
  Status done = object->sync();
  if (!done && failed_sync_) failed_sync_();
  return done;
}

Result<std::shared_ptr<Object>> CompositeStore::unpacked(std::shared_ptr<Object> object,
                                                         const std::string& name) {
  if (!may_be_packed_) return object;
  CFFS_TRY(auto plain, PackedObject::open(std::move(object), name, frames_));
  if (auto* const packed = dynamic_cast<PackedObject*>(plain.get()); packed != nullptr && background_) {
    packed->on_sequence([this](PackedObject::Ahead ahead) { frames_ahead_.want(std::move(ahead)); });
  }
  return plain;
}

Result<std::shared_ptr<Object>> CompositeStore::plain(std::shared_ptr<Object> object,
                                                      const std::string& name) {
  return PackedObject::open(std::move(object), name, std::make_shared<FrameCache>(kUsualBytes));
}

Result<std::shared_ptr<Object>> CompositeStore::open(CompositeId id) { return open_.open(object_name(id)); }

Status CompositeStore::remove(CompositeId id) { return open_.remove(object_name(id)); }

namespace {

// For all of a member of which somebody wants a part.
Bytes thread_room(std::size_t size) {
  thread_local ThreadRoom room;
  return room.of(size);
}

// `read_whole(bytes)` reads all of the member; the part that is wanted of it arrives in `out`.
template <typename ReadWhole>
Result<std::size_t> read_verified(const Extent& extent, std::uint64_t offset, Bytes out,
                                  const ReadWhole& read_whole) {
  const std::size_t wanted = std::min<std::uint64_t>(out.size(), extent.length - offset);
  const bool part = wanted != extent.length;
  const Bytes whole = part ? thread_room(extent.length) : out.first(wanted);  // usually whole: no extra copy
  CFFS_TRY(const std::size_t n, read_whole(whole));
  if (n != extent.length || checksum(whole) != extent.checksum) return member_differs(extent);
  if (part) std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(offset), wanted, out.begin());
  return wanted;
}

bool is_part(const Extent& extent, std::uint64_t offset, ConstBytes out) {
  return extent.length > kLargeMember && (offset > 0 || out.size() < extent.length);
}

}  // namespace

Result<std::size_t> CompositeStore::read(const Object& object, const Extent& extent, std::uint64_t offset,
                                         Bytes out) {
  if (offset >= extent.length) return std::size_t{0};
  if (is_part(extent, offset, out)) return read_part(object, extent, offset, out);
  return read_verified(extent, offset, out, [&](Bytes whole) -> Result<std::size_t> {
    const auto share = object.share_in_memory(extent.offset, extent.length);
    if (!share || *share >= 1) {
      CFFS_TRY(const auto cached, object.try_read_at(extent.offset, whole));
      if (cached) return *cached;
    }
    announce_blocking();
    ask_for(object, range_of(ReadAhead::Scope::group, extent, 0));
    return object.read_at(extent.offset, whole);
  });
}

bool CompositeStore::is_checked_by_frames(const Object& object, const Extent& extent, std::uint64_t offset,
                                          ConstBytes out) {
  return is_part(extent, offset, out) && dynamic_cast<const PackedObject*>(&object) != nullptr;
}

Result<std::size_t> CompositeStore::read_for(const Wish& wish, const Object& object, const Extent& extent,
                                             std::uint64_t offset, Bytes out) {
  if (offset >= extent.length) return std::size_t{0};
  if (is_part(extent, offset, out)) return read_part(object, extent, offset, out);
  return read_verified(extent, offset, out, [&](Bytes whole) { return fetch(wish, object, extent, whole); });
}

Result<std::size_t> CompositeStore::read_again(const Wish& wish, const Object& object, const Extent& extent,
                                               std::uint64_t offset, Bytes out) {
  if (offset >= extent.length) return std::size_t{0};
  if (is_checked_by_frames(object, extent, offset, out)) return read_part(object, extent, offset, out);
  const Bytes wanted = out.first(std::min<std::uint64_t>(out.size(), extent.length - offset));
  const std::uint64_t at = extent.offset + offset;
  if (auto left = resumed<Arriving>(); left && left->is_for(extent.composite, at)) {
    CFFS_TRY(const std::size_t n, go_on(std::move(left), object, wanted));
    if (n != wanted.size()) return member_differs(extent);
    return n;
  }
  CFFS_TRY(const auto cached, object.try_read_at(at, wanted));
  if (cached) return *cached;
  const Look look = look_for(object, at, wanted.size());
  CFFS_TRY(const std::size_t n, wait_for(wish, object, extent, at, wanted, look));
  if (n != wanted.size()) return member_differs(extent);
  return n;
}

CompositeStore::Look CompositeStore::look_for(const Object& object, std::uint64_t at,
                                              std::uint64_t bytes) const {
  const std::uint64_t asks = read_ahead_.asks();
  return {object.share_in_memory(at, bytes), asks};
}

// All of a member.
Result<std::size_t> CompositeStore::fetch(const Wish& wish, const Object& object, const Extent& extent,
                                          Bytes out) {
  if (auto left = resumed<Arriving>(); left && left->is_for(extent.composite, extent.offset))
    return go_on(std::move(left), object, out);
  const Look look = look_for(object, extent.offset, out.size());
  if (!look.share || *look.share >= 1) {
    CFFS_TRY(const auto cached, object.try_read_at(extent.offset, out));
    if (cached) {
      (void)come_to(wish, extent, ReadAhead::Found::in_memory, 0, look);
      return *cached;
    }
  }
  return wait_for(wish, object, extent, extent.offset, out, look);
}

// Bytes of a member at that place of the object, which memory did not give, and with them what its reader is likely to come to.
// `look`: what of them is in memory or on its way.
Result<std::size_t> CompositeStore::wait_for(const Wish& wish, const Object& object, const Extent& extent,
                                             std::uint64_t at, Bytes out, const Look& look) {
  using Found = ReadAhead::Found;
  if (look.share && *look.share >= 1) {
    announce_blocking();
    (void)come_to(wish, extent, Found::on_its_way, 0, look);
    return object.read_at(at, out);
  }
  measure_.wait_while_measured();
  object.read_no_further();
  CFFS_TRY(const ObjectInfo info, object.info());
  ReadAhead::Wait waits(read_ahead_);
  const ReadAhead::Advice advice = come_to(wish, extent, Found::absent, info.size, look);
  const Range range = range_of(advice.scope, extent, info.size);
  const bool alone = advice.scope == ReadAhead::Scope::member;
  // To ask for much takes a while, and it does not come at once.
  const bool soon = alone || range.bytes() <= kFewBytes;
  const bool suspends = soon && may_suspend();
  const bool watched = soon && !suspends && announce_request();
  if (!watched && !suspends) announce_blocking();
  const bool tells = alone ? look.share && *look.share == 0 : is_absent(object, range);
  const std::uint64_t start = elapsed_ns();
  const std::uint64_t waited = alone ? out.size() : ask_for(object, range, extent, advice.in_order);
  const std::uint64_t beyond = alone ? 0 : range.bytes() - waited;
  if (!alone) read_ahead_.asked(extent.composite);
  if (alone && (watched || suspends)) ask_for(object, {at, at + out.size()});
  if (suspends) {
    return suspend(std::make_unique<Arriving>(
        extent.composite, at, Arriving::Asked{tells ? waited : 0, beyond, start, std::move(waits)}));
  }
  CFFS_TRY(const std::size_t n, watched ? read_arriving(object, at, out) : object.read_at(at, out));
  read_ahead_.took(tells && waits.alone() ? waited : 0, beyond, start, elapsed_ns());
  return n;
}

Result<std::size_t> CompositeStore::go_on(std::unique_ptr<Arriving> left, const Object& object, Bytes out) {
  CFFS_TRY(const auto arrived, object.try_read_at(left->at(), out));
  std::size_t n = 0;
  if (arrived) {
    n = *arrived;
  } else {
    if (may_suspend()) return suspend(std::move(left));
    announce_blocking();
    CFFS_TRY(n, object.read_at(left->at(), out));
  }
  const Arriving::Asked& asked = left->asked();
  read_ahead_.took(asked.wait.alone() ? asked.waited : 0, asked.beyond, asked.start, elapsed_ns());
  return n;
}

ReadAhead::Advice CompositeStore::come_to(const Wish& wish, const Extent& extent, ReadAhead::Found found,
                                          std::uint64_t composite_bytes, const Look& look) {
  const bool asks = found == ReadAhead::Found::absent && planned_share_;
  const ReadAhead::Advice advice = read_ahead_.touch(wish.reader, extent, found, composite_bytes,
                                                     asks ? planned_share_(wish.file) : 0, look.asks);
  if (advice.ahead > 0 && background_) next_.want({extent.composite, advice.next, advice.ahead, wish.reader});
  if (advice.hand_over) likely_group_(wish);
  if (advice.measure && background_) measure_.begin(extent.composite);
  return advice;
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
