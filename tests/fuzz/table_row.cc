// Rows of the namespace, of composites and of references: 16 bytes of key, then the value.
#include "core/inspect/row_names.h"
#include "core/table/content_row.h"
#include "core/table/member_files.h"
#include "core/table/reference_rows.h"
#include "core/table/row.h"
#include "tests/fuzz/fuzz_input.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cffs;
  if (size < kKeyBytes) return 0;
  const std::string_view bytes = fuzz::text_of(data, size);
  const Key key = decode_key(bytes.substr(0, kKeyBytes));
  CFFS_INVARIANT(EncodedKey(key).view() == bytes.substr(0, kKeyBytes));
  const std::string_view value = bytes.substr(kKeyBytes);
  (void)check_row(key, value);
  (void)key_text(key);
  switch (row_kind(key, value)) {
    case RowKind::entries:
      fuzz::check_round_trip(value, decode_row, encode_row);
      break;
    case RowKind::composite:
      fuzz::check_round_trip(value, decode_composite_row, encode_composite_row);
      break;
    case RowKind::member_files:
      fuzz::check_round_trip(value, decode_member_files, encode_member_files);
      break;
  }
  const auto decode_content = [key](std::string_view row) { return decode_content_row(key, row); };
  fuzz::check_round_trip(value, decode_content, encode_content_row);
  fuzz::check_round_trip(value, decode_document, encode_document);
  fuzz::check_round_trip(value, decode_embedded, encode_embedded);
  (void)printable(value);
  return 0;
}
