#include "core/table/system_rows.h"

#include "core/base/bytes.h"

namespace cffs {
namespace {

tl::unexpected<Error> malformed(SystemField field) {
  std::string said("table: ");
  said += system_field_name(field);
  said += " is malformed";
  return fail(Error::corruption(std::move(said)));
}

}  // namespace

std::optional<SystemField> system_field(Key key) {
  if (key.tag() != KeyTag::system || key.number() != 0) return {};
  switch (const auto field = static_cast<SystemField>(key.lower)) {
    case SystemField::first_unreserved:
    case SystemField::open_boot:
    case SystemField::file_count:
    case SystemField::log_synced:
    case SystemField::scrub:
    case SystemField::unclean_ends:
    case SystemField::values:
    case SystemField::compression:
    case SystemField::sharing:
      return field;
  }
  return {};
}

const char* system_field_name(SystemField field) {
  switch (field) {
    case SystemField::first_unreserved:
      return "the first unreserved number";
    case SystemField::open_boot:
      return "the boot that has the store open";
    case SystemField::file_count:
      return "the count of files";
    case SystemField::log_synced:
      return "how far the log is durable";
    case SystemField::scrub:
      return "how far the last scrub came";
    case SystemField::unclean_ends:
      return "how often nobody had closed the store";
    case SystemField::values:
      return "what the value log holds";
    case SystemField::compression:
      return "how composites are compressed";
    case SystemField::sharing:
      return "whether files share members";
  }
  return "an unknown field";
}

std::string encode_system_number(std::uint64_t number) {
  std::string bytes;
  ByteWriter(bytes).u64(number);
  return bytes;
}

Result<std::uint64_t> decode_system_number(SystemField field, std::string_view bytes) {
  ByteReader r(bytes);
  const std::uint64_t number = r.u64();
  if (!r.ok() || !r.at_end()) {
    return malformed(field);
  }
  return number;
}

std::string encode_log_synced(LogSynced synced) {
  std::string bytes;
  ByteWriter w(bytes);
  w.u64(synced.log);
  w.u64(synced.bytes);
  return bytes;
}

Result<LogSynced> decode_log_synced(std::string_view bytes) {
  ByteReader r(bytes);
  const LogSynced synced{r.u64(), r.u64()};
  if (!r.ok() || !r.at_end()) {
    return malformed(SystemField::log_synced);
  }
  return synced;
}

std::string encode_scrub_progress(const ScrubProgress& progress) {
  std::string bytes;
  ByteWriter w(bytes);
  w.u8(progress.finished ? 1 : 0);
  w.u64(progress.next.upper);
  w.u64(progress.next.lower);
  w.u64(static_cast<std::uint64_t>(progress.began_ns));
  w.u64(static_cast<std::uint64_t>(progress.seen_ns));
  for (const std::uint64_t n : {progress.files, progress.bytes, progress.sealed, progress.damaged}) w.u64(n);
  return bytes;
}

Result<ScrubProgress> decode_scrub_progress(std::string_view bytes) {
  ByteReader r(bytes);
  ScrubProgress progress;
  progress.finished = r.u8() != 0;
  progress.next.upper = r.u64();
  progress.next.lower = r.u64();
  progress.began_ns = static_cast<std::int64_t>(r.u64());
  progress.seen_ns = static_cast<std::int64_t>(r.u64());
  for (std::uint64_t* n : {&progress.files, &progress.bytes, &progress.sealed, &progress.damaged})
    *n = r.u64();
  if (!r.ok() || !r.at_end()) return malformed(SystemField::scrub);
  return progress;
}

std::string encode_sharing(bool on) {
  std::string bytes;
  ByteWriter(bytes).u8(on ? 1 : 0);
  return bytes;
}

Result<bool> decode_sharing(std::string_view bytes) {
  ByteReader r(bytes);
  const std::uint8_t on = r.u8();
  if (!r.ok() || !r.at_end() || on > 1) return malformed(SystemField::sharing);
  return on == 1;
}

}  // namespace cffs
