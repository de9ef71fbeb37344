#include "core/packed/packed_object.h"

#include <algorithm>
#include <utility>

#include "core/base/checksum.h"
#include "core/base/clock.h"
#include "core/packed/frame_codec.h"

namespace cffs {
namespace {

constexpr std::size_t kFirstRead = 20480;  // has head and index of most composites

tl::unexpected<Error> no_head() { return fail(Error::corruption("the index of its frames has no head")); }

// Head and index lie at these places.
Result<FrameIndex> index_of(const Object& object, std::string_view head, std::uint64_t index_at,
                            std::uint64_t object_bytes) {
  const std::uint64_t bytes = index_bytes_of(head);
  if (bytes > kLargestIndex || index_at > object_bytes || bytes > object_bytes - index_at) {
    return fail(Error::corruption("the index of its frames is longer than it"));
  }
  std::string index(bytes, '\0');
  CFFS_TRY(const std::size_t n, object.read_medium(index_at, as_writable_bytes(index)));
  index.resize(n);
  return decode_frame_index(head, index);
}

Result<FrameIndex> first_index(const Object& object, std::string_view front, std::uint64_t object_bytes) {
  if (!is_packed_head(front)) return no_head();
  const std::uint64_t bytes = index_bytes_of(front);
  const std::string_view behind = front.substr(kPackedHeadBytes);
  if (bytes > behind.size()) return index_of(object, front, kPackedHeadBytes, object_bytes);
  return decode_frame_index(front.substr(0, kPackedHeadBytes), behind.substr(0, bytes));
}

Result<FrameIndex> second_index(const Object& object, std::uint64_t object_bytes) {
  if (object_bytes < 2 * kPackedHeadBytes) return no_head();
  const std::uint64_t head_at = object_bytes - kPackedHeadBytes;
  std::string head(kPackedHeadBytes, '\0');
  CFFS_TRY(const std::size_t n, object.read_medium(head_at, as_writable_bytes(head)));
  if (n != head.size() || !is_packed_head(head) || index_bytes_of(head) > head_at) return no_head();
  CFFS_TRY(FrameIndex index, index_of(object, head, head_at - index_bytes_of(head), object_bytes));
  // Where its frames lie counts from the front.
  if (index.object_bytes() != object_bytes)
    return fail(Error::corruption("the index of its frames is of an object of another size"));
  return index;
}

// A composite that says nothing of frames at its end, where the medium gives that.
bool ends_as_plain(const Object& object, std::uint64_t object_bytes) {
  if (object_bytes < 2 * kPackedHeadBytes) return false;
  std::string head(kPackedHeadBytes, '\0');
  const auto n = object.read_medium(object_bytes - kPackedHeadBytes, as_writable_bytes(head));
  return n && *n == head.size() && !is_packed_head(head);
}

}  // namespace

PackedObject::PackedObject(std::shared_ptr<Object> object, std::string name, FrameIndex index,
                           std::shared_ptr<FrameCache> cache)
    : object_(std::move(object)),
      name_(std::move(name)),
      index_(std::move(index)),
      cache_(std::move(cache)),
      owner_(cache_->new_owner()) {}

// What begins as a plain composite is one: no damage makes the other kind's head of it. What begins as neither may be damaged there; how it
// ends tells then.
Result<std::shared_ptr<Object>> PackedObject::open(std::shared_ptr<Object> object, const std::string& name,
                                                   const std::shared_ptr<FrameCache>& cache) {
  std::string front(kFirstRead, '\0');
  auto read = object->read_at(0, as_writable_bytes(front));
  if (!read) {  // perhaps for what lies behind the head, of a plain one some members
    front.resize(kPackedHeadBytes);
    read = object->read_at(0, as_writable_bytes(front));
  }
  front.resize(read.value_or(0));
  if (front.starts_with("cffsCOMP")) return object;
  CFFS_TRY(const ObjectInfo info, object->info());
  auto index = first_index(*object, front, info.size);
  if (!index) {
    auto copy = second_index(*object, info.size);
    // Of a packed one that is cut off the beginning may be read another time.
    if (!copy && !read && (read.error().is_shortage() || !ends_as_plain(*object, info.size)))
      return fail(read.error());
    if (!copy && copy.error().kind != ErrorKind::corruption) return fail(copy.error());
    if (!copy && index.error().is_shortage()) return fail(index.error());
    if (!copy && !is_packed_head(front)) return object;
    if (!copy) return fail(Error::corruption(name + ": " + index.error().message()));
    index = std::move(copy);
  }
  return std::shared_ptr<Object>(new PackedObject(std::move(object), name, std::move(*index), cache));
}

Status PackedObject::check_index() const {
  CFFS_TRY(const ObjectInfo info, object_->info());
  std::string front(kFirstRead, '\0');
  CFFS_TRY(const std::size_t n, object_->read_medium(0, as_writable_bytes(front)));
  front.resize(n);
  const auto first = first_index(*object_, front, info.size);
  if (!first && first.error().is_shortage()) return fail(first.error());
  if (!first)
    return fail(Error::corruption(name_ + ": " + first.error().message() + "; the copy of it is whole"));
  const auto second = second_index(*object_, info.size);
  if (!second && second.error().is_shortage()) return fail(second.error());
  if (!second) return fail(Error::corruption(name_ + ": of the copy, " + second.error().message()));
  return {};
}

Result<std::string> PackedObject::read_what_can_be() const {
  std::string all(index_.plain_bytes(), '\0');
  if (read_at(0, as_writable_bytes(all))) return all;
  for (const Frame& frame : index_.frames()) {
    const Bytes piece = as_writable_bytes(all).subspan(frame.plain_at, frame.plain_bytes);
    const auto read = read_at(frame.plain_at, piece);
    if (!read && read.error().is_shortage()) return fail(read.error());
    if (!read) std::fill(piece.begin(), piece.end(), std::byte{0});
  }
  return all;
}

PackedObject::Stored PackedObject::stored(std::uint64_t offset, std::uint64_t length) const {
  const std::uint64_t end = std::min(index_.plain_bytes(), offset + std::min(length, ~offset));
  if (offset >= end) return {};
  Stored range;
  range.first = index_.frame_of(offset);
  range.end = index_.frame_of(end - 1) + 1;
  range.at = index_.frames()[range.first].stored_at;
  range.bytes = index_.frames()[range.end - 1].stored_end() - range.at;
  return range;
}

Result<FrameCache::Plain> PackedObject::decode(std::size_t number, ConstBytes stored) const {
  const Frame& frame = index_.frames()[number];
  if (stored.size() == frame.stored_bytes && checksum(stored) == frame.checksum) {
    const bool taught = frame.codec == Codec::zstd && index_.dictionary().plain_bytes > 0;
    auto dictionary =
        taught ? cache_->dictionaries().get(owner_, index_.dictionary()) : DictionaryCache::Ready();
    auto plain = cache_->memory().take(frame.plain_bytes);
    const std::uint64_t start = elapsed_ns();
    const Status done = dictionary
                            ? decompress_frame(frame.codec, stored, plain->writable(), dictionary->get())
                            : Status(fail(std::move(dictionary).error()));
    if (done) {
      cache_->count(frame.plain_bytes, elapsed_ns() - start);
      return plain;
    }
    if (done.error().kind != ErrorKind::corruption) return fail(done.error());
  }
  return fail(Error::corruption(name_ + ", frame " + std::to_string(number) + " at byte " +
                                std::to_string(frame.stored_at) + ": data differs from its checksum"));
}

// Null: not in memory, and only that was asked.
Result<FrameCache::Plain> PackedObject::unpack(std::size_t number, From from) const {
  const Frame& frame = index_.frames()[number];
  thread_local const auto memory = std::make_unique_for_overwrite<std::byte[]>(kLargestFrame);
  const Bytes stored(memory.get(), frame.stored_bytes);
  std::size_t n = 0;
  if (from == From::memory) {
    const auto share = object_->share_in_memory(frame.stored_at, frame.stored_bytes);
    if (share && *share < 1) return FrameCache::Plain();
    CFFS_TRY(const auto there, object_->try_read_at(frame.stored_at, stored));
    if (!there) return FrameCache::Plain();
    n = *there;
  } else {
    CFFS_TRY(n, object_->read_at(frame.stored_at, stored));
  }
  return decode(number, stored.first(n));
}

Result<FrameCache::Plain> PackedObject::frame(std::size_t number, From from) const {
  if (FrameCache::Plain plain = cache_->find(owner_, number)) return plain;
  const auto wait = from == From::memory ? FrameCache::Wait::no : FrameCache::Wait::yes;
  return cache_->get(
      owner_, number, [&] { return unpack(number, from); }, wait);
}

Result<std::optional<std::size_t>> PackedObject::read(std::uint64_t offset, Bytes out, From from) const {
  const Stored range = stored(offset, out.size());
  // One request for all of them; what is there already costs nothing.
  if (from == From::anywhere && range.end - range.first > 1) object_->prefetch(range.at, range.bytes);
  std::size_t done = 0;
  for (std::size_t i = range.first; i < range.end; ++i) {
    CFFS_TRY(const FrameCache::Plain plain, frame(i, from));
    if (!plain) return std::optional<std::size_t>();
    done += copy_of(i, *plain, offset + done, out.subspan(done));
    came_to(i);
  }
  return std::optional<std::size_t>(done);
}

// What the frame has of the plain bytes from there on.
std::size_t PackedObject::copy_of(std::size_t number, const FrameBytes& plain, std::uint64_t offset,
                                  Bytes out) const {
  const std::uint64_t within = offset - index_.frames()[number].plain_at;
  const std::size_t n = std::min<std::uint64_t>(out.size(), plain.bytes().size() - within);
  std::copy_n(plain.bytes().begin() + static_cast<std::ptrdiff_t>(within), n, out.begin());
  return n;
}

// Several frames in one request, as far as that goes.
Result<std::size_t> PackedObject::read_medium(std::uint64_t offset, Bytes out) const {
  constexpr std::uint64_t kMost = 1u << 20;
  const Stored range = stored(offset, out.size());
  const std::vector<Frame>& frames = index_.frames();
  std::size_t done = 0;
  std::vector<std::byte> memory;
  for (std::size_t first = range.first; first < range.end;) {
    std::size_t end = first + 1;
    while (end < range.end && frames[end].stored_end() - frames[first].stored_at <= kMost) ++end;
    memory.resize(frames[end - 1].stored_end() - frames[first].stored_at);
    CFFS_TRY(const std::size_t n, object_->read_medium(frames[first].stored_at, memory));
    for (std::size_t i = first; i < end; ++i) {
      const std::size_t at = std::min<std::uint64_t>(n, frames[i].stored_at - frames[first].stored_at);
      const ConstBytes bytes =
          ConstBytes(memory).subspan(at, std::min<std::size_t>(n - at, frames[i].stored_bytes));
      CFFS_TRY(const FrameCache::Plain plain, decode(i, bytes));
      done += copy_of(i, *plain, offset + done, out.subspan(done));
    }
    first = end;
  }
  return done;
}

Result<std::size_t> PackedObject::read_at(std::uint64_t offset, Bytes out) const {
  CFFS_TRY(const auto n, read(offset, out, From::anywhere));
  return *n;
}

Result<std::optional<std::size_t>> PackedObject::try_read_at(std::uint64_t offset, Bytes out) const {
  return read(offset, out, From::memory);
}

std::optional<double> PackedObject::share_in_memory(std::uint64_t offset, std::uint64_t length) const {
  const Stored range = stored(offset, length);
  if (range.first == range.end) return 1;
  constexpr std::size_t kFew =
      4;  // as many as a file has; of more, what memory has of the stored bytes will do
  if (range.end - range.first <= kFew) {
    bool all = true;
    for (std::size_t i = range.first; all && i < range.end; ++i) all = cache_->has(owner_, i);
    if (all) return 1;
  }
  return object_->share_in_memory(range.at, range.bytes);
}

void PackedObject::prefetch(std::uint64_t offset, std::uint64_t length) const {
  const Stored range = stored(offset, length);
  if (range.bytes > 0) object_->prefetch(range.at, range.bytes);
}

void PackedObject::came_to(std::size_t frame) const {
  if (!on_sequence_ || last_.load(std::memory_order_relaxed) == frame) return;
  const std::size_t last = last_.exchange(frame, std::memory_order_relaxed);
  if (last == kNowhere) return;
  const int direction = frame == last + 1 ? 1 : frame + 1 == last ? -1 : 0;
  if (direction == 0) return;
  // Asked again when half of it is used up, and not for each frame.
  const std::size_t later = frame + static_cast<std::size_t>(direction) * (kAhead / 2);
  if (later >= index_.frames().size() || cache_->has(owner_, later)) return;
  on_sequence_({shared_from_this(), frame, direction});
}

void PackedObject::make_next_ready(const Ahead& ahead) {
  const PackedObject& object = *ahead.object;
  std::size_t frame = ahead.from;
  for (std::size_t i = 0; i < kAhead; ++i) {
    frame += static_cast<std::size_t>(ahead.direction);
    if (!object.make_ready(frame)) return;
  }
}

bool PackedObject::make_ready(std::size_t number) const {
  if (number >= index_.frames().size()) return false;
  if (cache_->has(owner_, number)) return true;
  const auto plain = frame(number, From::memory);
  return plain && *plain;
}

namespace {

tl::unexpected<Error> never_written(const std::string& name) {
  return fail(EPERM, name + " is packed, and is never changed in place");
}

}  // namespace

Status PackedObject::write_at(std::uint64_t, ConstBytes) { return never_written(name_); }
Result<std::uint64_t> PackedObject::append(ConstBytes) { return never_written(name_); }
Status PackedObject::truncate(std::uint64_t) { return never_written(name_); }
Status PackedObject::punch_hole(std::uint64_t, std::uint64_t) { return never_written(name_); }
Result<bool> PackedObject::give_back(std::uint64_t, std::uint64_t) { return never_written(name_); }
Status PackedObject::allocate(std::uint64_t, std::uint64_t) { return never_written(name_); }

Result<ObjectInfo> PackedObject::info() const {
  CFFS_TRY(ObjectInfo info, object_->info());
  info.size = index_.plain_bytes();
  return info;
}

Result<std::uint64_t> PackedObject::next_data(std::uint64_t offset) const {
  return std::min(offset, index_.plain_bytes());
}
Result<std::uint64_t> PackedObject::next_hole(std::uint64_t) const { return index_.plain_bytes(); }

}  // namespace cffs
