#include "core/table/reference_rows.h"

#include "core/base/bytes.h"

namespace cffs {
namespace {

constexpr std::uint8_t kDocumentV1 = 1;  // first byte of a document's row; never renumber

void put_place(ByteWriter& w, const EntryName& place) {
  w.varint(place.parent.value);
  w.string(place.name);
}

EntryName take_place(ByteReader& r) {
  EntryName place;
  place.parent.value = r.varint();
  place.name = r.string();
  return place;
}

}  // namespace

std::string encode_document(const DocumentRow& row) {
  std::string out;
  ByteWriter w(out);
  w.u8(kDocumentV1);
  w.u8(row.html ? 1 : 0);
  put_place(w, row.place);
  w.varint(row.holders.size());
  for (const InodeId holder : row.holders) w.varint(holder.value);
  w.varint(row.stems.size());
  for (const std::uint64_t stem : row.stems) w.varint(stem);
  return out;
}

Result<DocumentRow> decode_document(std::string_view bytes) {
  ByteReader r(bytes);
  if (r.u8() != kDocumentV1) return fail(Error::corruption("a document's row of an unknown version"));
  DocumentRow row;
  row.html = r.u8() != 0;
  row.place = take_place(r);
  for (std::uint64_t n = r.varint(); n > 0 && r.ok(); --n) row.holders.push_back(InodeId{r.varint()});
  for (std::uint64_t n = r.varint(); n > 0 && r.ok(); --n) row.stems.push_back(r.varint());
  if (!r.ok() || !r.at_end()) return fail(Error::corruption("a document's row is malformed"));
  return row;
}

std::string encode_embedded(const std::vector<EmbeddedFile>& files) {
  std::string out;
  ByteWriter w(out);
  for (const EmbeddedFile& embedded : files) {
    w.varint(embedded.file.value);
    put_place(w, embedded.place);
  }
  return out;
}

Result<std::vector<EmbeddedFile>> decode_embedded(std::string_view bytes) {
  ByteReader r(bytes);
  std::vector<EmbeddedFile> files;
  while (r.ok() && !r.at_end()) {
    EmbeddedFile embedded;
    embedded.file.value = r.varint();
    embedded.place = take_place(r);
    files.push_back(std::move(embedded));
  }
  if (!r.ok()) return fail(Error::corruption("a row of embedded files is malformed"));
  return files;
}

}  // namespace cffs
