// The note of a close, as it is, and with its checksum made right: what it says comes back.
#include "core/table/close_note.h"

#include "tests/fuzz/fuzz_input.h"

namespace {

using namespace cffs;

void read(std::string_view bytes) {
  const auto note = decode_close_note(bytes);
  if (!note) return;
  const auto again = decode_close_note(encode_close_note(*note));
  CFFS_INVARIANT(again);
  CFFS_INVARIANT(again->manifest == note->manifest && again->manifest_bytes == note->manifest_bytes &&
                 again->logs == note->logs);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::read_sealed(std::string(fuzz::text_of(data, size)), read);
  return 0;
}
