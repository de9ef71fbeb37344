// What a packed composite has: its frames, where they lie, and their checksums. The byte form of a packed composite
// (docs/ON_DISK_FORMAT.md, "Packed composites"):
//
//   head     64 bytes: "cffsPACK", format u32 = 1, flags u32 (1: there is a dictionary), plain bytes u64, frames u32, bytes of the
//                      index u32, how it was compressed 2 bytes, zeros, checksum u64 of the 56 bytes before it and of the index
//   index    the dictionary, where there is one: plain length varint, the stored bytes as a string; then
//            of each frame: codec u8, plain length varint, stored length varint, checksum of the stored bytes u64
//   frames   end to end
//   index, head   once more
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/packed/compression.h"
#include "core/packed/dictionary.h"

namespace cffs {

inline constexpr std::size_t kPackedHeadBytes = 64;
inline constexpr std::uint64_t kLargestFrame = 128u << 10;  // plain bytes
// Plain bytes that are ever packed: of larger composites nobody has all in memory at once.
inline constexpr std::uint64_t kPackedMost = 256u << 20;
inline constexpr std::size_t kMostFrames = 1u << 20;
inline constexpr std::uint64_t kLargestIndex = 16 * kMostFrames;  // bytes

struct Frame {
  std::uint64_t plain_at = 0, stored_at = 0;
  std::uint32_t plain_bytes = 0, stored_bytes = 0;
  Codec codec = Codec::stored;
  std::uint64_t checksum = 0;  // of the stored bytes

  std::uint64_t plain_end() const { return plain_at + plain_bytes; }
  std::uint64_t stored_end() const { return stored_at + stored_bytes; }
};

class FrameIndex {
 public:
  explicit FrameIndex(Compression made_with, StoredDictionary dictionary = {})
      : made_with_(made_with), dictionary_(std::move(dictionary)) {}
  // Behind those before it.
  void add(Codec codec, std::uint64_t plain_bytes, std::string_view stored);

  const Compression& made_with() const { return made_with_; }
  // That all frames of codec zstd were compressed with.
  const StoredDictionary& dictionary() const { return dictionary_; }
  const std::vector<Frame>& frames() const { return frames_; }
  std::uint64_t plain_bytes() const { return frames_.empty() ? 0 : frames_.back().plain_end(); }
  // Which frame has that plain byte; it must have one.
  std::size_t frame_of(std::uint64_t plain_at) const;
  // How many bytes the whole object has.
  std::uint64_t object_bytes() const;

  // Head and index, in this order: how the object begins. Stored places are settled: they follow from the index's length.
  std::string encode_front();
  // Index and head: how it ends.
  std::string encode_back() const;

 private:
  friend Result<FrameIndex> decode_frame_index(std::string_view, std::string_view);
  void settle(std::uint64_t index_bytes);
  std::string encode_index() const;
  std::string encode_head(std::string_view index) const;

  Compression made_with_;
  StoredDictionary dictionary_;
  std::vector<Frame> frames_;
  std::uint64_t index_bytes_ = 0;
};

// Whether an object that begins, or ends, with these 64 bytes says that it is packed.
bool is_packed_head(std::string_view head);
// How long such a head says the index is.
std::uint64_t index_bytes_of(std::string_view head);
// `corruption` where head and index contradict each other or their checksum. The object may be shorter, or longer, than they say.
Result<FrameIndex> decode_frame_index(std::string_view head, std::string_view index);

}  // namespace cffs
