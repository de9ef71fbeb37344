#include "core/table/table_log.h"

#include <algorithm>
#include <optional>

#include "core/base/bytes.h"
#include "core/base/crc32c.h"
#include "core/object/log_filler.h"

namespace cffs {
namespace {

constexpr std::size_t kHeader = 7;  // checksum, length, type

enum class Piece : std::uint8_t { full = 1, first = 2, middle = 3, last = 4 };

std::size_t room_in_block(std::size_t at) { return kLogBlock - at % kLogBlock; }
// What is left of a block that has no room for a header is nobody's.
std::size_t next_header(std::size_t at) { return room_in_block(at) < kHeader ? at + room_in_block(at) : at; }

// Bytes that may still be summed.
struct Work {
  std::uint64_t left;
};

struct Header {
  std::uint32_t sum;
  std::size_t length;
  std::uint8_t type;
};

// nullopt: what is at `at` cannot be one.
std::optional<Header> header_at(std::string_view log, std::size_t at) {
  if (at + kHeader > log.size()) return {};
  ByteReader bytes(log.substr(at, kHeader));
  Header header{bytes.u32(), 0, 0};
  header.length = bytes.u8();
  header.length |= static_cast<std::size_t>(bytes.u8()) << 8;
  header.type = bytes.u8();
  if (header.type < 1 || header.type > 4) return {};
  if (kHeader + header.length > room_in_block(at) || at + kHeader + header.length > log.size()) return {};
  return header;
}

// Where behind damage something whole begins again: at any byte, since a length may be what is damaged. In rows many bytes look like a
// type, and what is before them like a length.
class Search {
 public:
  explicit Search(std::string_view log) : log_(log), sums_(kLogBlock) {}

  bool may_begin(std::size_t at) {
    const auto header = header_at(log_, at);
    if (!header) return false;
    const std::size_t block = at - at % kLogBlock, body = at - block + kHeader - 1;
    if (block_ != block) sums_.take(log_.substr(block, kLogBlock));
    block_ = block;
    return sums_.masked_crc32c(body, body + 1 + header->length) == header->sum;
  }

 private:
  const std::string_view log_;
  RangeSums sums_;
  std::optional<std::size_t> block_;  // that they are of
};

struct PhysicalRecord {
  Piece piece;
  std::string_view data;
  std::size_t end;
};

// nullopt: no whole record begins at `at`.
std::optional<PhysicalRecord> physical_at(std::string_view log, std::size_t at, Work& work) {
  const auto header = header_at(log, at);
  if (!header) return {};
  const std::size_t length = header->length;
  work.left -= std::min(work.left, std::uint64_t{length});
  if (masked_crc32c(log.substr(at + kHeader - 1, length + 1)) != header->sum) return {};
  return PhysicalRecord{static_cast<Piece>(header->type), log.substr(at + kHeader, length),
                        at + kHeader + length};
}

// A record as it was written, in one piece or in several.
std::optional<LogRecord> record_at(std::string_view log, std::size_t at, Work& work) {
  auto physical = physical_at(log, at, work);
  if (!physical || (physical->piece != Piece::full && physical->piece != Piece::first)) return {};
  LogRecord record{at, physical->end, std::string(physical->data)};
  for (bool whole = physical->piece == Piece::full; !whole;) {
    physical = physical_at(log, next_header(record.end), work);
    if (!physical || (physical->piece != Piece::middle && physical->piece != Piece::last)) return {};
    record.bytes.append(physical->data);
    record.end = physical->end;
    whole = physical->piece == Piece::last;
  }
  return record;
}

}  // namespace

// Behind damage every byte may begin a record, and a log made for it has many that do and have no end: when this many bytes were summed for each of the log's, only the beginnings of blocks, where LevelDB begins anew, are tried.
constexpr std::uint64_t kWorkPerByte = 64;

LogContent read_log(std::string_view log) {
  Work work{kWorkPerByte * log.size()};
  LogContent content;
  content.size = content.intact = log.size();
  const std::size_t room = begin_of_log_filler(log);
  bool intact = true;
  std::optional<Search> search;
  for (std::size_t at = next_header(0); at < log.size();) {
    if (!intact && !search) search.emplace(log);
    const bool may_begin = intact || search->may_begin(at);
    if (auto record = may_begin ? record_at(log, at, work) : std::nullopt) {
      at = next_header(record->end);
      (intact ? content.before : content.behind).push_back(std::move(*record));
      continue;
    }
    if (at >= room) {
      content.size = at;
      content.has_room = true;
      if (intact) content.intact = at;
      break;
    }
    if (intact) content.intact = at;
    intact = false;
    // A length may be what is damaged: the next record begins anywhere.
    at = work.left > 0 ? next_header(at + 1) : at + room_in_block(at);
  }
  content.summed = kWorkPerByte * log.size() - work.left;
  return content;
}

std::string write_log(const std::vector<const LogRecord*>& records) {
  std::string log;
  for (const LogRecord* record : records) {
    std::string_view left = record->bytes;
    for (bool first = true; first || !left.empty(); first = false) {
      log.resize(next_header(log.size()), '\0');
      const std::string_view data = left.substr(0, room_in_block(log.size()) - kHeader);
      left.remove_prefix(data.size());
      const Piece piece = left.empty() ? (first ? Piece::full : Piece::last)
                          : first      ? Piece::first
                                       : Piece::middle;
      std::string body(1, static_cast<char>(piece));
      body += data;
      ByteWriter header(log);
      header.u32(masked_crc32c(body));
      header.u8(static_cast<std::uint8_t>(data.size()));
      header.u8(static_cast<std::uint8_t>(data.size() >> 8));
      log += body;
      if (left.empty()) break;
    }
  }
  return log;
}

bool visit_changes(std::string_view record,
                   const std::function<bool(std::string_view, std::optional<std::string_view>)>& visit) {
  constexpr std::uint8_t kPut = 1;
  ByteReader r(record);
  (void)r.u64();  // sequence
  (void)r.u32();  // count
  while (r.ok() && !r.at_end()) {
    const bool puts = r.u8() == kPut;
    const std::string_view key = r.string();
    const std::string_view value = puts ? r.string() : std::string_view();
    if (!r.ok() || !visit(key, puts ? std::optional(value) : std::nullopt)) return false;
  }
  return r.ok();
}

}  // namespace cffs
