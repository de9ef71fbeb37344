// The record of a backup, as it is, and with its checksum made right.
#include "core/backup/backup_record.h"

#include "tests/fuzz/fuzz_input.h"

namespace {

using namespace cffs;

void read(std::string_view bytes) {
  const auto record = decode_backup_record(bytes);
  if (!record) return;
  const auto again = decode_backup_record(encode_backup_record(*record));
  CFFS_INVARIANT(again);
  CFFS_INVARIANT(again->store == record->store && again->at_ns == record->at_ns &&
                 again->unclean_ends == record->unclean_ends && again->table == record->table &&
                 again->damaged == record->damaged);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::read_sealed(std::string(fuzz::text_of(data, size)), read);
  return 0;
}
