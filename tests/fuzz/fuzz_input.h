// What the fuzz targets share. A target takes any bytes: it must not crash, read what is not there, run for long or take much
// memory, and what it could decode it must be able to write and read back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/checksum.h"
#include "core/base/error.h"
#include "core/object/memory_store.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace cffs::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// The checksum of all before `at`, at `at`: a fuzzer does not guess one. Nothing where it has no room.
inline void seal(std::string& bytes, std::size_t at, std::size_t from = 0) {
  if (at > bytes.size() || bytes.size() - at < 8 || from > at) return;
  std::string sum;
  ByteWriter(sum).u64(checksum(std::string_view(bytes).substr(from, at - from)));
  bytes.replace(at, 8, sum);
}

// The input of a decoder of small objects that end with their checksum: as it is, and with that made right.
inline void read_sealed(std::string bytes, void (*read)(std::string_view)) {
  read(bytes);
  constexpr std::size_t kSum = 8;
  if (bytes.size() > kSum) seal(bytes, bytes.size() - kSum);
  read(bytes);
}

inline void put(ObjectStore& store, std::string_view name, std::string_view bytes) {
  const auto object = store.create(name, ObjectStore::Create::truncate);
  CFFS_INVARIANT(object && (*object)->write_at(0, as_bytes(bytes)));
}

inline std::string get(ObjectStore& store, std::string_view name) {
  const auto object = store.open(name);
  CFFS_INVARIANT(object);
  return *read_whole(**object);
}

// Twice written, the same: what a reader forgives (a varint longer than needed) is gone after the first time.
template <typename Decode, typename Encode>
void check_round_trip(std::string_view bytes, Decode decode, Encode encode) {
  const auto decoded = decode(bytes);
  if (!decoded) return;
  const std::string written = encode(*decoded);
  const auto again = decode(written);
  CFFS_INVARIANT(again);
  CFFS_INVARIANT(encode(*again) == written);
}

}  // namespace cffs::fuzz
