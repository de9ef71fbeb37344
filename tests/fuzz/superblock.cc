// The superblock, as it is, and with its three checksums made right.
#include "core/fs/store_format.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

using namespace cffs;

void read(std::string_view bytes) {
  MemoryStore store;
  fuzz::put(store, "superblock", bytes);
  const auto format = read_format(store);
  if (!format) {
    const std::string said = format.error().message();
    CFFS_INVARIANT(said.find('\x1b') == std::string::npos && said.find('\n') == std::string::npos);
    return;
  }
  (void)check_changeable(*format, "store");
  if (!check_format(*format)) return;
  MemoryStore copy;
  CFFS_INVARIANT(write_format(copy, *format));
  const auto again = read_format(copy);
  CFFS_INVARIANT(again);
  CFFS_INVARIANT(again->unknown == format->unknown && again->name_hash->key() == format->name_hash->key());
  CFFS_INVARIANT(again->uuid == format->uuid && again->dense_inline == format->dense_inline);
}

// Where the checksums are follows from the lengths of the strings.
void seal_all(std::string& bytes) {
  constexpr std::size_t kUuidAt = 11 + 4 + 4 + 4 * 8;
  if (bytes.size() <= kUuidAt) return;
  ByteReader r(std::string_view(bytes).substr(kUuidAt));
  const auto here = [&] { return bytes.size() - r.remaining(); };
  (void)r.string();
  fuzz::seal(bytes, here());
  (void)r.u64();
  (void)r.u32();
  fuzz::seal(bytes, here());
  (void)r.u64();
  (void)r.string();
  for (int i = 0; i < 16 + 4 + 4; ++i) (void)r.u8();
  for (std::uint64_t left = r.varint(); left > 0 && r.ok(); --left) {
    (void)r.u8();
    (void)r.u8();
    (void)r.string();
  }
  if (r.ok()) fuzz::seal(bytes, here());
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(fuzz::text_of(data, size));
  read(bytes);
  seal_all(bytes);
  read(bytes);
  return 0;
}
