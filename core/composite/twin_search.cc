#include "core/composite/twin_search.h"

#include <algorithm>

#include "core/base/checksum.h"
#include "core/composite/large_member.h"
#include "core/table/content_row.h"

namespace cffs {

std::optional<Key> TwinSearch::key_of(std::string_view content) const {
  if (table_.sharing() != Sharing::on || content.size() < kLeastShared) return {};
  return content_key(content.size(), checksum(content));
}

std::optional<Extent> TwinSearch::find(std::string_view content) const {
  const auto key = key_of(content);
  return key ? find(*key, content) : std::nullopt;
}

std::optional<Extent> TwinSearch::find(Key key, std::string_view content) const {
  const auto value = table_.get(key);
  if (!value || !*value) return {};
  const auto row = decode_content_row(key, **value);
  if (!row || row->extent.length != content.size()) return {};
  const auto object = composites_.open(row->extent.composite);
  if (!object) return {};
  bool same = true;
  const Status read = visit_member(**object, row->extent, [&](std::uint64_t at, ConstBytes piece) {
    const ConstBytes here = as_bytes(content.substr(at, piece.size()));
    same = same && std::equal(piece.begin(), piece.end(), here.begin(), here.end());
    return Status();
  });
  if (!read || !same) return {};
  return row->extent;
}

}  // namespace cffs
