// The system rows: one field of the whole store each, under (0xff tag, 0, field). Typed keys and codecs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/table/key.h"

namespace cffs {

// Lower half of a system row's key. Never renumber: on disk.
enum class SystemField : std::uint64_t {
  first_unreserved = 1,  // u64: the first inode number that is not reserved (core/table/inode_counter.h)
  open_boot = 2,         // text: boot id of the machine that changes the store; absent where it was closed
  file_count = 3,        // u64: inodes of the store; only while it is closed, and only where it is known
  log_synced =
      4,      // u64, u64: a log of the table's, and the bytes of it known durable (core/table/replay_check.h)
  scrub = 5,  // ScrubProgress: how far the last scrub came (core/inspect/scrub.h)
  unclean_ends = 6,  // u64: how often nobody had closed the store; absent: never
  values =
      7,  // what the value log holds, and how much of it is named; true only where the store was closed (value_log.h)
  compression = 8,  // how composites are compressed (core/packed/compression.h); absent: not at all
  sharing =
      9,  // whether files share members of composites (Sharing, core/table/table.h); absent: they never did
};

inline Key system_key(SystemField field) {
  return Key::tagged(KeyTag::system, 0, static_cast<std::uint64_t>(field));
}
// nullopt: not a system row, or a field that this program does not know.
std::optional<SystemField> system_field(Key key);
// For messages: "the first unreserved number".
const char* system_field_name(SystemField field);

// first_unreserved and file_count: a u64, 8 bytes. open_boot is its text as it stands.
std::string encode_system_number(std::uint64_t number);
Result<std::uint64_t> decode_system_number(SystemField field, std::string_view bytes);

struct LogSynced {
  std::uint64_t log = 0;  // number of its object
  std::uint64_t bytes = 0;
};
std::string encode_log_synced(LogSynced synced);
Result<LogSynced> decode_log_synced(std::string_view bytes);

struct ScrubProgress {
  bool finished = false;
  Key next;                                // the first row that was not looked at
  std::int64_t began_ns = 0, seen_ns = 0;  // when it began, when this was written
  std::uint64_t files = 0, bytes = 0;      // read
  std::uint64_t sealed = 0;                // files that got checksums
  std::uint64_t damaged = 0;
  std::uint64_t bytes_in_all = 0;  // to be read, about; 0: not known. Not in the row
};
std::string encode_scrub_progress(const ScrubProgress& progress);
Result<ScrubProgress> decode_scrub_progress(std::string_view bytes);

// sharing: a byte, 1 where more files may come to share, 0 where no more do.
std::string encode_sharing(bool on);
Result<bool> decode_sharing(std::string_view bytes);

}  // namespace cffs
