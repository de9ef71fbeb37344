// System rows and pending removals: 16 bytes of key, then the value.
#include "core/inspect/row_names.h"
#include "core/table/pending_removal.h"
#include "core/table/system_rows.h"
#include "tests/fuzz/fuzz_input.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cffs;
  if (size < kKeyBytes) return 0;
  const std::string_view bytes = fuzz::text_of(data, size);
  Key key = decode_key(bytes.substr(0, kKeyBytes));
  const std::string_view value = bytes.substr(kKeyBytes);
  for (const KeyTag tag : {key.tag(), KeyTag::system, KeyTag::pending_removal}) {
    key = Key::tagged(tag, key.number(), key.lower);
    (void)check_row(key, value);
    if (const auto removal = decode_pending_removal(key)) CFFS_INVARIANT(removal->key() == key);
    if (const auto field = system_field(key)) {
      CFFS_INVARIANT(system_key(*field) == key);
      (void)system_field_name(*field);
      fuzz::check_round_trip(
          value, [&](std::string_view v) { return decode_system_number(*field, v); }, encode_system_number);
    }
  }
  fuzz::check_round_trip(value, decode_log_synced, encode_log_synced);
  fuzz::check_round_trip(value, decode_scrub_progress, encode_scrub_progress);
  return 0;
}
