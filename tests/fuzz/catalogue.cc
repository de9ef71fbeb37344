// The catalogue of a store, as it is, and with its checksums made right.
#include "core/table/catalogue.h"

#include "tests/fuzz/fuzz_input.h"

namespace {

using namespace cffs;

constexpr std::size_t kHeaderBytes = 72;
constexpr std::size_t kLengthAt = 48;
constexpr std::size_t kAlignment = 4096;

void read(std::string_view bytes) {
  MemoryStore store;
  fuzz::put(store, kCatalogueObject, bytes);
  std::uint64_t seen = 0;
  const auto object = *store.create("again", ObjectStore::Create::truncate);
  CatalogueMoment moment;
  if (const auto first = catalogue_moment(store); first && *first) moment = **first;
  CatalogueWriter writer(*object, moment);
  CatalogueVisitor visitor;
  visitor.row = [&](InodeId upper, const Row& row) {
    for (const Entry& entry : row.entries) seen += entry.name.size();
    CFFS_INVARIANT(writer.add_row(upper, encode_row(row)));
  };
  visitor.data = [&](InodeId file, std::uint64_t chunk, std::string_view data) {
    seen += data.size();
    CFFS_INVARIANT(writer.add_data(file, chunk, data));
  };
  CFFS_INVARIANT(read_catalogue(store, visitor));
  CFFS_INVARIANT(seen <= bytes.size());
  CFFS_INVARIANT(writer.finish());
  fuzz::put(store, kCatalogueObject, fuzz::get(store, "again"));
  std::uint64_t again = 0;
  visitor.row = [&](InodeId, const Row& row) {
    for (const Entry& entry : row.entries) again += entry.name.size();
  };
  visitor.data = [&](InodeId, std::uint64_t, std::string_view data) { again += data.size(); };
  const auto reading = read_catalogue(store, visitor);
  CFFS_INVARIANT(reading && *reading && (*reading)->whole && again == seen);
}

// Chunks follow each other as their lengths say.
void seal_chunks(std::string& bytes) {
  for (std::size_t at = 0; bytes.size() > at && bytes.size() - at >= kHeaderBytes;) {
    ByteReader r(std::string_view(bytes).substr(at + kLengthAt));
    const std::size_t length = std::min<std::size_t>(r.u32(), bytes.size() - at - kHeaderBytes);
    std::string sums;
    ByteWriter w(sums);
    w.u64(checksum(std::string_view(bytes).substr(at + kHeaderBytes, length)));
    bytes.replace(at + kHeaderBytes - 16, 8, sums);
    fuzz::seal(bytes, at + kHeaderBytes - 8, at);
    at += (kHeaderBytes + length + kAlignment - 1) / kAlignment * kAlignment;
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(fuzz::text_of(data, size));
  read(bytes);
  seal_chunks(bytes);
  read(bytes);
  return 0;
}
