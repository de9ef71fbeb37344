// Rows about what documents embed (docs/ON_DISK_FORMAT.md, "References"): hints, by document, by holder, by the file that
// is embedded, and by the stems of the names that a document refers to. Typed keys and codecs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/table/key.h"
#include "core/table/row.h"

namespace cffs {

// What one document was when it was last looked at.
struct DocumentRow {
  bool html = false;
  EntryName place;
  std::vector<InodeId> holders;
  std::vector<std::uint64_t> stems;  // numbers of stems, see mention_key
};
// A file that a holder embeds.
struct EmbeddedFile {
  InodeId file;
  EntryName place;
};

inline Key document_key(InodeId document) { return Key::tagged(KeyTag::document, document.value, 0); }
inline Key embeds_key(InodeId holder, InodeId document) {
  return Key::tagged(KeyTag::embeds, holder.value, document.value);
}
// HTML holders come first in key order, then the lower numbers: the first row is the owner.
inline Key embedded_key(InodeId file, bool html, InodeId holder) {
  return Key::tagged(KeyTag::embedded_by, file.value, (std::uint64_t{html ? 0u : 1u} << 56) | holder.value);
}
inline InodeId holder_of(Key embedded) { return InodeId{embedded.lower & (kInodeLimit - 1)}; }
inline bool is_html_holder(Key embedded) { return embedded.lower >> 56 == 0; }
// `stem`: the low 56 bits of the stem's XXH3-64.
inline Key mention_key(std::uint64_t stem, InodeId document) {
  return Key::tagged(KeyTag::mentions, stem, document.value);
}

std::string encode_document(const DocumentRow& row);
Result<DocumentRow> decode_document(std::string_view bytes);
std::string encode_embedded(const std::vector<EmbeddedFile>& files);
Result<std::vector<EmbeddedFile>> decode_embedded(std::string_view bytes);

}  // namespace cffs
