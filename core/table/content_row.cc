#include "core/table/content_row.h"

#include <limits>

#include "core/base/bytes.h"
#include "core/table/row.h"

namespace cffs {

Key content_key(std::uint64_t length, std::uint64_t checksum) {
  return Key::tagged(KeyTag::content, length & (kInodeLimit - 1), checksum);
}

std::string encode_content_row(const ContentRow& row) {
  std::string out;
  ByteWriter w(out);
  const Extent& e = row.extent;
  w.varint(e.composite.value);
  w.varint(e.slot);
  w.varint(e.offset);
  w.varint(e.capacity);
  w.varint(e.group_offset);
  w.varint(e.group_length);
  w.varint(row.owner.value);
  return out;
}

Result<ContentRow> decode_content_row(Key key, std::string_view bytes) {
  ByteReader r(bytes);
  ContentRow row;
  Extent& e = row.extent;
  e.composite.value = r.varint();
  const std::uint64_t slot = r.varint();
  e.slot = static_cast<std::uint32_t>(slot);
  e.offset = r.varint();
  e.capacity = r.varint();
  e.group_offset = r.varint();
  e.group_length = r.varint();
  row.owner.value = r.varint();
  e.length = key.number();
  e.checksum = key.lower;
  const bool possible = slot <= std::numeric_limits<std::uint32_t>::max() && is_possible(e) &&
                        row.owner.value >= kFirstInode && row.owner.value < kInodeLimit;
  if (!r.ok() || !r.at_end() || !possible) {
    return fail(Error::corruption("the row of a content is malformed"));
  }
  return row;
}

}  // namespace cffs
