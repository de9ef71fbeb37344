// What lies in a log of the table behind its last record, up to the object's end: room that was written before it is needed.
//
// A file that grows has a new size with each sync, which the file system below makes durable through its journal: three writes
// and two flushes of the device for one record. Where the record lies in bytes that were there already, it is one of each
// (docs/PERFORMANCE.md). The room is text and not zeros, so that rot and sectors that a power cut left unwritten, which read as
// zeros, are still told from a log's end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cffs {

// No record: where a record has its type, this has a letter.
inline constexpr std::string_view kLogFiller = "cffs: no record\n";

// For the bytes [at, at + length) of an object.
inline std::string log_filler(std::uint64_t at, std::uint64_t length) {
  std::string bytes(length, '\0');
  for (std::uint64_t i = 0; i < length; ++i) bytes[i] = kLogFiller[(at + i) % kLogFiller.size()];
  return bytes;
}

// Where it begins in an object of these bytes, if what lies before says that it does: a record may end with a letter of it.
inline std::uint64_t begin_of_log_filler(std::string_view object) {
  std::uint64_t at = object.size();
  while (at > 0 && object[at - 1] == kLogFiller[(at - 1) % kLogFiller.size()]) --at;
  return at;
}

}  // namespace cffs
