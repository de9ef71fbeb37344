// A packed composite: its head, index and frames, as they are, and with the checksums made right; and a frame by itself.
#include <algorithm>
#include <memory>

#include "core/packed/frame_codec.h"
#include "core/packed/packed_object.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

using namespace cffs;

void read(const std::string& bytes) {
  MemoryStore store;
  fuzz::put(store, "packed", bytes);
  const auto object =
      PackedObject::open(*store.open("packed"), "packed", std::make_shared<FrameCache>(1u << 20));
  if (!object) return;
  const auto info = (*object)->info();
  CFFS_INVARIANT(info);
  const auto* const packed = dynamic_cast<const PackedObject*>(object->get());
  if (packed == nullptr) return;
  (void)packed->check_index();
  std::string some(100'000, '\0');
  for (const std::uint64_t at : {std::uint64_t{0}, info->size / 2, info->size}) {
    const auto n = (*object)->read_at(at, as_writable_bytes(some));
    CFFS_INVARIANT(!n || *n <= info->size - std::min(at, info->size));
  }
}

// Each frame that lies in the bytes gets the checksum that it should have, then the index.
void seal_frames(std::string& bytes) {
  if (bytes.size() < kPackedHeadBytes || !is_packed_head(bytes)) return;
  const std::uint64_t index_bytes = index_bytes_of(bytes);
  if (index_bytes > bytes.size() - kPackedHeadBytes) return;
  std::string index = bytes.substr(kPackedHeadBytes, index_bytes);
  ByteReader r(index);
  constexpr std::size_t kFlagsAt = 12;
  if ((bytes[kFlagsAt] & 1) != 0) {  // a dictionary first
    (void)r.varint();
    (void)r.string();
  }
  std::size_t stored_at = kPackedHeadBytes + index_bytes;
  while (r.ok() && !r.at_end()) {
    (void)r.u8();
    (void)r.varint();
    const std::uint64_t stored = r.varint();
    const std::size_t at = index.size() - r.remaining();
    if (!r.ok() || r.remaining() < 8 || stored > bytes.size() - std::min(stored_at, bytes.size())) break;
    std::string sum;
    ByteWriter(sum).u64(checksum(std::string_view(bytes).substr(stored_at, stored)));
    bytes.replace(kPackedHeadBytes + at, 8, sum);
    stored_at += stored;
    (void)r.u64();
  }
  std::string covered = bytes.substr(0, kPackedHeadBytes - 8) + bytes.substr(kPackedHeadBytes, index_bytes);
  std::string sum;
  ByteWriter(sum).u64(checksum(covered));
  bytes.replace(kPackedHeadBytes - 8, 8, sum);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(fuzz::text_of(data, size));
  read(bytes);
  seal_frames(bytes);
  read(bytes);
  if (size < 4) return 0;
  const std::size_t claimed = std::size_t{data[0]} + std::size_t{data[1]} * 256 + 1;
  std::string plain(claimed, '\0');
  const ConstBytes frame = as_bytes(bytes).subspan(2);
  (void)decompress_frame(static_cast<Codec>(data[2] % 4), frame, as_writable_bytes(plain));
  const std::size_t half = bytes.size() / 2;
  const auto dictionary =
      DictionaryToDecompress::of({static_cast<std::uint32_t>(claimed), bytes.substr(2, half)});
  if (dictionary) {
    (void)decompress_frame(Codec::zstd, as_bytes(bytes).subspan(half), as_writable_bytes(plain),
                           dictionary->get());
  }
  return 0;
}
