#include "core/object/table_file_check.h"

#include <snappy.h>

#include <optional>
#include <string>

#include "core/base/bytes.h"
#include "core/base/crc32c.h"

namespace cffs {
namespace {

constexpr std::size_t kTrailer = 5;   // type and checksum behind each block
constexpr std::size_t kFooter = 48;   // two places, padded, and a magic number
constexpr std::size_t kPlaces = 40;   // of these, the places
constexpr std::size_t kKeyTail = 8;   // sequence and type, behind each key but those of the index of filters
constexpr std::uint64_t kRatio = 22;  // snappy makes 64 bytes of three at most
constexpr std::string_view kFilter = "filter.leveldb.BuiltinBloomFilter2";

enum BlockCompression : std::uint8_t { none = 0, snappy_compressed = 1 };

struct Place {
  std::uint64_t offset = 0, bytes = 0;
};

Place read_place(ByteReader& r) {
  Place place;
  place.offset = r.varint();
  place.bytes = r.varint();
  return place;
}

// A varint of at most 32 bits; none: more than any block holds.
std::uint64_t length(const char*& at, const char* end) {
  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::uint64_t v = 0;
  for (unsigned shift = 0; shift < 35 && at < end; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(*at++);
    v |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return v <= 0xffffffffu ? v : kNone;
  }
  return kNone;
}

// Entries one behind the other, then the places where keys are whole, each the beginning of an entry, then their number. `visit` is
// given each value, and what of its key does not stand in the one before it. Every block that is read comes by here: no allocation.
template <typename Visit>
bool whole_block(std::string_view block, std::size_t least_key, Visit visit) {
  constexpr std::size_t kNumber = sizeof(std::uint32_t);
  if (block.size() < kNumber) return false;
  const std::uint64_t restarts = ByteReader(block.substr(block.size() - kNumber)).u32();
  if (restarts == 0 || restarts > (block.size() - kNumber) / kNumber) return false;
  const std::size_t entries = block.size() - (restarts + 1) * kNumber;
  ByteReader places(block.substr(entries));
  std::uint64_t left = restarts;
  std::uint64_t whole_at = places.u32();
  std::uint64_t key_bytes = 0;
  const char* const begin = block.data();
  const char* const end = begin + entries;
  for (const char* at = begin; at < end;) {
    const auto entry_at = static_cast<std::uint64_t>(at - begin);
    const std::uint64_t shared = length(at, end), rest = length(at, end), value = length(at, end);
    const auto room = static_cast<std::uint64_t>(end - at);
    if (shared > key_bytes || rest > room || value > room - rest) return false;
    if (left > 0 && whole_at == entry_at) {
      if (shared != 0) return false;
      whole_at = --left > 0 ? places.u32() : 0;
    }
    key_bytes = shared + rest;
    if (key_bytes < least_key || !visit(std::string_view(at, rest), std::string_view(at + rest, value))) {
      return false;
    }
    at += rest + value;
  }
  return left == 0 || (entries == 0 && restarts == 1 && whole_at == 0);
}

bool has_its_checksum(std::string_view read) {
  const std::size_t summed = read.size() - sizeof(std::uint32_t);
  return ByteReader(read.substr(summed)).u32() == masked_crc32c(read.substr(0, summed));
}

// What a block holds, uncompressed, in `buffer` where it has to be. nullopt: LevelDB refuses it by itself, without harm.
// False in `sane`: it must not try.
std::optional<std::string_view> contents_of(std::string_view read, std::string& buffer, bool& sane) {
  const std::string_view stored = read.substr(0, read.size() - kTrailer);
  switch (static_cast<std::uint8_t>(read[stored.size()])) {
    case none:
      return stored;
    case snappy_compressed: {
      std::size_t bytes = 0;
      if (!snappy::GetUncompressedLength(stored.data(), stored.size(), &bytes)) return {};
      sane = bytes <= kRatio * stored.size();
      if (!sane) return {};
      buffer.resize(bytes);
      if (!snappy::RawUncompress(stored.data(), stored.size(), buffer.data())) return {};
      return buffer;
    }
    default:
      return {};
  }
}

}  // namespace

bool TableFileCheck::inside(std::uint64_t offset, std::uint64_t bytes) const {
  return bytes <= most_ && offset <= most_ - bytes && most_ - bytes - offset >= kTrailer;
}

// The index's.
bool TableFileCheck::footer_passes(std::string_view read) {
  if (read.size() != kFooter) return false;
  ByteReader r(read.substr(0, kPlaces));
  const Place filters = read_place(r), index = read_place(r);
  next_ = Next::index;
  filters_at_ = filters.offset;
  return r.ok() && inside(filters.offset, filters.bytes) && inside(index.offset, index.bytes);
}

bool TableFileCheck::names_places(std::string_view contents) const {
  return whole_block(contents, kKeyTail, [this](std::string_view, std::string_view value) {
    ByteReader r(value);
    const Place place = read_place(r);
    return r.ok() && inside(place.offset, place.bytes);
  });
}

// One filter, ours, or none.
bool TableFileCheck::filters_pass(std::string_view contents) {
  std::optional<Place> filter;
  const bool whole = whole_block(contents, 0, [&](std::string_view key, std::string_view value) {
    ByteReader r(value);
    const bool first = !filter.has_value();
    filter = read_place(r);
    return first && key == kFilter && r.ok() && inside(filter->offset, filter->bytes);
  });
  next_ = filter ? Next::filter : Next::blocks;
  if (filter) filter_at_ = filter->offset;
  return whole;
}

bool TableFileCheck::passes(std::uint64_t offset, std::string_view read) {
  const Next now = next_.load(std::memory_order_relaxed);
  if (now == Next::footer) return footer_passes(read);
  if (read.size() < kTrailer) return false;
  const bool is_index = now == Next::index;
  const bool is_filters = now == Next::filters && offset == filters_at_;
  const bool is_filter = now == Next::filter && offset == filter_at_;
  if (now != Next::blocks) next_ = is_index ? Next::filters : Next::blocks;
  if (is_filter && static_cast<std::uint8_t>(read[read.size() - kTrailer]) == none) {
    return true;  // bits, whose readers have bounds of their own
  }
  thread_local std::string buffer;
  bool sane = true;
  const auto contents = contents_of(read, buffer, sane);
  if (contents && !is_filter) {
    sane = is_index ? names_places(*contents)
           : is_filters
               ? filters_pass(*contents)
               : whole_block(*contents, kKeyTail, [](std::string_view, std::string_view) { return true; });
  }
  return sane || !has_its_checksum(read);
}

}  // namespace cffs
