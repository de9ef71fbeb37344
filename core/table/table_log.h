// The format of LevelDB's logs (its write-ahead log and its manifest; leveldb/doc/log_format.md), read to judge it.
//
// LevelDB's own reader passes over what it cannot read and goes on behind it, and takes a page of zeros for nothing at all. This
// one tells what is whole up to the first damage, and what is whole again behind it. Cost: a checksum of every byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cffs {

inline constexpr std::size_t kLogBlock = 32768;  // bytes; each begins with the head of a record

struct LogRecord {
  std::uint64_t begin = 0;  // bytes, in the log
  std::uint64_t end = 0;
  std::string bytes;
};

struct LogContent {
  std::vector<LogRecord> before;  // in order, without a gap from the log's beginning
  std::vector<LogRecord> behind;  // whole records behind the first damage
  std::uint64_t intact = 0;       // where the first damage begins; `size` where there is none
  std::uint64_t size = 0;         // without the room that was made for records to come
  bool has_room = false;          // behind `size`, to the object's end: core/object/log_filler.h
  std::uint64_t summed = 0;       // bytes that were summed to judge it: at most 65 times its size

  bool damaged() const { return intact < size; }
};

LogContent read_log(std::string_view bytes);
// A log of these records, in this order.
std::string write_log(const std::vector<const LogRecord*>& records);

// The changes of a batch (leveldb/db/write_batch.cc), as a log has it, in order: keys as LevelDB has them; no value: the row is erased. False:
// it is none, or `visit` said no.
bool visit_changes(
    std::string_view record,
    const std::function<bool(std::string_view key, std::optional<std::string_view> value)>& visit);

}  // namespace cffs
