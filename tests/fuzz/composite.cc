// A composite: its header and records, as they are, and with their checksums made right.
#include <algorithm>

#include "core/composite/composite_store.h"
#include "core/composite/record.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

using namespace cffs;

constexpr CompositeId kId{3};

void scan(const std::string& bytes) {
  (void)check_composite_header(bytes, kId);
  MemoryStore store;
  fuzz::put(store, CompositeStore::object_name(kId), bytes);
  CompositeStore composites(store, 1, false);
  std::uint64_t last = 0;
  (void)composites.scan(kId, bytes.size(), [&](const RecordMeta& record, std::uint64_t data) {
    CFFS_INVARIANT(data >= last && data <= bytes.size());
    CFFS_INVARIANT(record.name.size() <= bytes.size());
    last = data;
  });
}

// Records follow each other as their lengths say; each that is whole gets the checksum that it should have.
void seal_records(std::string& bytes) {
  fuzz::seal(bytes, kCompositeHeaderBytes - 8);
  std::size_t at = kCompositeHeaderBytes;
  while (bytes.size() > at && bytes.size() - at >= kRecordHeaderBytes) {
    ByteReader r(std::string_view(bytes).substr(at));
    (void)r.u32();
    const std::size_t meta = r.u32();
    const std::uint64_t data = r.u64();
    const std::size_t left = bytes.size() - at - kRecordHeaderBytes;
    if (meta > left || data > left - meta) return;
    std::string covered = bytes.substr(at, kRecordHeaderBytes - 8);
    covered += bytes.substr(at + kRecordHeaderBytes, meta);
    std::string sum;
    ByteWriter(sum).u64(checksum(covered));
    bytes.replace(at + kRecordHeaderBytes - 8, 8, sum);
    at += kRecordHeaderBytes + ((meta + data + 7) & ~std::uint64_t{7});
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(fuzz::text_of(data, size));
  scan(bytes);
  seal_records(bytes);
  scan(bytes);
  return 0;
}
