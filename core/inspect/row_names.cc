#include "core/inspect/row_names.h"

#include "core/packed/compression.h"
#include "core/table/block_sums.h"
#include "core/table/content_row.h"
#include "core/table/pending_removal.h"
#include "core/table/reference_rows.h"
#include "core/table/system_rows.h"
#include "core/table/value_log.h"

namespace cffs {

Status check_row(Key key, std::string_view value) {
  const auto known = [](const auto& decoded) { return decoded ? Status() : Status(fail(decoded.error())); };
  switch (key.tag()) {
    case KeyTag::document:
      return known(decode_document(value));
    case KeyTag::embeds:
      return known(decode_embedded(value));
    case KeyTag::pending_removal:
      if (decode_pending_removal(key)) return {};
      return fail(Error::corruption("an object of an unknown kind waits for its removal"));
    case KeyTag::system:
      if (const auto field = system_field(key)) {
        if (*field == SystemField::open_boot) return {};
        if (*field == SystemField::log_synced) return known(decode_log_synced(value));
        if (*field == SystemField::scrub) return known(decode_scrub_progress(value));
        if (*field == SystemField::compression) return known(decode_compression(value));
        if (*field == SystemField::sharing) return known(decode_sharing(value));
        if (*field == SystemField::values) return known(decode_values(value));
        return known(decode_system_number(*field, value));
      }
      return fail(Error::corruption("an unknown system field"));
    case KeyTag::content:
      return known(decode_content_row(key, value));
    case KeyTag::block_sums:
      if (decode_block_sums(value)) return {};
      return fail(Error::corruption("checksums of a blob that are no such row"));
    case KeyTag::namespace_:
    case KeyTag::namespace_end:
    case KeyTag::staged_directory:
    case KeyTag::wasteful_composite:
    case KeyTag::embedded_by:
    case KeyTag::mentions:
    case KeyTag::file_data:
      return {};
  }
  return fail(Error::corruption("a row of an unknown kind"));
}

}  // namespace cffs
