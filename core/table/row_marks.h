// What a check keeps of a file's row to hold it against the record and against other rows: a few bits, where the row itself would take
// memory for each file of the store. Two that differ have the same mark once in 2^28 or less often.
#pragma once

#include <cstdint>

#include "core/table/inode.h"
#include "core/table/key.h"

namespace cffs {

inline std::uint64_t mixed(std::uint64_t number) {
  number *= 0x9E3779B97F4A7C15;
  return number ^ (number >> 32);
}

// Of an entry's place: its key, which says directory and name.
inline std::uint32_t place_mark(Key key) {
  return static_cast<std::uint32_t>(mixed(mixed(key.upper) ^ key.lower) >> 32);
}

// Of the room and the group that a row gives a member.
inline constexpr unsigned kRoomMarkBits = 28;
inline std::uint32_t room_mark(const Extent& extent) {
  const std::uint64_t group = mixed(mixed(extent.group_offset) ^ extent.group_length);
  return static_cast<std::uint32_t>(mixed(group ^ extent.capacity) >> (64 - kRoomMarkBits));
}

// How much room a record has for the data that lies there: up to the next one, which begins at a multiple of 8.
inline std::uint64_t room_of_record(std::uint64_t offset, std::uint64_t length) {
  constexpr std::uint64_t kAlignment = 8;
  return (offset + length + kAlignment - 1) / kAlignment * kAlignment - offset;
}

// Whether the group that the row names holds the member.
inline bool is_in_its_group(const Extent& e) {
  return e.group_offset <= e.offset && e.offset + e.length <= e.group_offset + e.group_length;
}

}  // namespace cffs
