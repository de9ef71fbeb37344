#include "core/composite/twin_search.h"

#include "core/base/checksum.h"
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
  std::string there(content.size(), '\0');
  const auto n = CompositeStore::read(**object, row->extent, 0, as_writable_bytes(there));
  if (!n || *n != content.size() || there != content) return {};
  return row->extent;
}

}  // namespace cffs
