// The access record: blocks, as they are, and with their checksums made right.
#include "core/fs/access_record.h"

#include "tests/fuzz/fuzz_input.h"

namespace {

using namespace cffs;

void read(std::string_view bytes) {
  MemoryStore store;
  fuzz::put(store, "accesses/1", bytes);
  fuzz::put(store, "accesses/2", bytes);
  std::size_t count = 0;
  CFFS_INVARIANT(AccessRecord::visit(store, [&](const AccessRecord::Access&) { ++count; }));
  CFFS_INVARIANT(count <= 2 * bytes.size());
}

void seal_blocks(std::string& bytes) {
  constexpr std::size_t kHeader = 16;
  for (std::size_t at = 0; at + kHeader <= bytes.size();) {
    ByteReader r(std::string_view(bytes).substr(at + 4));
    const std::size_t length = r.u32();
    if (length > bytes.size() - at - kHeader) return;
    std::string sum;
    ByteWriter(sum).u64(checksum(std::string_view(bytes).substr(at + kHeader, length)));
    bytes.replace(at + 8, 8, sum);
    at += kHeader + length;
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(fuzz::text_of(data, size));
  read(bytes);
  seal_blocks(bytes);
  read(bytes);
  return 0;
}
