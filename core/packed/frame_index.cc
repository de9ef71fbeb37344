#include "core/packed/frame_index.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/checksum.h"

namespace cffs {
namespace {

constexpr std::string_view kMagic = "cffsPACK";
constexpr std::uint32_t kFormat = 1;
constexpr std::uint32_t kHasDictionary = 1;  // a flag
constexpr std::size_t kChecked = kPackedHeadBytes - 8;
constexpr std::size_t kIndexLengthAt = 28;

std::uint64_t checksum_of(std::string_view head, std::string_view index) {
  std::string all(head.substr(0, kChecked));
  all += index;
  return checksum(all);
}

tl::unexpected<Error> malformed(const char* what) {
  return fail(Error::corruption(std::string("the index of its frames ") + what));
}

}  // namespace

void FrameIndex::add(Codec codec, std::uint64_t plain_bytes, std::string_view stored) {
  Frame frame;
  frame.plain_at = this->plain_bytes();
  frame.stored_at = frames_.empty() ? 0 : frames_.back().stored_end();
  frame.plain_bytes = static_cast<std::uint32_t>(plain_bytes);
  frame.stored_bytes = static_cast<std::uint32_t>(stored.size());
  frame.codec = codec;
  frame.checksum = checksum(stored);
  frames_.push_back(frame);
}

std::size_t FrameIndex::frame_of(std::uint64_t plain_at) const {
  const auto behind = std::upper_bound(frames_.begin(), frames_.end(), plain_at,
                                       [](std::uint64_t at, const Frame& f) { return at < f.plain_at; });
  return static_cast<std::size_t>(behind - frames_.begin()) - 1;
}

std::uint64_t FrameIndex::object_bytes() const {
  const std::uint64_t end = frames_.empty() ? kPackedHeadBytes + index_bytes_ : frames_.back().stored_end();
  return end + index_bytes_ + kPackedHeadBytes;
}

void FrameIndex::settle(std::uint64_t index_bytes) {
  index_bytes_ = index_bytes;
  std::uint64_t at = kPackedHeadBytes + index_bytes;
  for (Frame& frame : frames_) {
    frame.stored_at = at;
    at += frame.stored_bytes;
  }
}

std::string FrameIndex::encode_index() const {
  std::string out;
  ByteWriter w(out);
  if (dictionary_.plain_bytes > 0) {
    w.varint(dictionary_.plain_bytes);
    w.string(dictionary_.stored);
  }
  for (const Frame& frame : frames_) {
    w.u8(static_cast<std::uint8_t>(frame.codec));
    w.varint(frame.plain_bytes);
    w.varint(frame.stored_bytes);
    w.u64(frame.checksum);
  }
  return out;
}

std::string FrameIndex::encode_head(std::string_view index) const {
  std::string out(kMagic);
  ByteWriter w(out);
  w.u32(kFormat);
  w.u32(dictionary_.plain_bytes > 0 ? kHasDictionary : 0);
  w.u64(plain_bytes());
  w.u32(static_cast<std::uint32_t>(frames_.size()));
  w.u32(static_cast<std::uint32_t>(index.size()));
  out += encode_compression(made_with_);
  out.resize(kChecked, '\0');
  w.u64(checksum_of(out, index));
  return out;
}

std::string FrameIndex::encode_front() {
  const std::string index = encode_index();
  settle(index.size());
  return encode_head(index) + index;
}

std::string FrameIndex::encode_back() const {
  const std::string index = encode_index();
  return index + encode_head(index);
}

bool is_packed_head(std::string_view head) {
  return head.size() >= kPackedHeadBytes && head.starts_with(kMagic);
}

std::uint64_t index_bytes_of(std::string_view head) {
  ByteReader r(head.substr(std::min(head.size(), kIndexLengthAt)));
  return r.u32();
}

Result<FrameIndex> decode_frame_index(std::string_view head, std::string_view index) {
  if (!is_packed_head(head)) return malformed("has no head");
  ByteReader r(head.substr(kMagic.size(), kPackedHeadBytes - kMagic.size()));
  const std::uint32_t format = r.u32(), flags = r.u32();
  const std::uint64_t plain_bytes = r.u64();
  const std::uint32_t frames = r.u32(), index_bytes = r.u32();
  const std::string_view how = head.substr(kIndexLengthAt + 4, 2);
  ByteReader sum(head.substr(kChecked, 8));
  if (index.size() != index_bytes || sum.u64() != checksum_of(head, index)) {
    return malformed("differs from its checksum");
  }
  if (format != kFormat || (flags & ~kHasDictionary) != 0) return malformed("is of a newer program's kind");
  CFFS_TRY(const Compression made_with, decode_compression(how));
  if (frames > kMostFrames || plain_bytes > kPackedMost) return malformed("says that it is larger than any");
  ByteReader entries(index);
  StoredDictionary dictionary;
  if ((flags & kHasDictionary) != 0) {
    const std::uint64_t bytes = entries.varint();
    dictionary.stored = entries.string();
    if (bytes == 0 || bytes > kLargestDictionary || dictionary.stored.size() > bytes)
      return malformed("has an impossible dictionary");
    dictionary.plain_bytes = static_cast<std::uint32_t>(bytes);
  }
  FrameIndex found(made_with, std::move(dictionary));
  std::uint64_t plain_at = 0;
  for (std::uint32_t i = 0; i < frames && entries.ok(); ++i) {
    Frame frame;
    const std::uint8_t codec = entries.u8();
    const std::uint64_t plain = entries.varint(), stored = entries.varint();
    frame.checksum = entries.u64();
    const bool possible = codec <= static_cast<std::uint8_t>(Codec::zstd) && plain >= 1 &&
                          plain <= kLargestFrame && stored >= 1 && stored <= plain;
    if (!possible) return malformed("has an impossible frame");
    frame.codec = static_cast<Codec>(codec);
    frame.plain_at = plain_at;
    frame.plain_bytes = static_cast<std::uint32_t>(plain);
    frame.stored_bytes = static_cast<std::uint32_t>(stored);
    plain_at += plain;
    found.frames_.push_back(frame);
  }
  found.settle(index.size());
  const bool agrees = entries.ok() && entries.at_end() && found.plain_bytes() == plain_bytes;
  if (!agrees) return malformed("contradicts itself");
  return found;
}

}  // namespace cffs
