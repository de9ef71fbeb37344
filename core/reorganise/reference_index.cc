#include "core/reorganise/reference_index.h"

#include <algorithm>
#include <iterator>

#include "core/base/checksum.h"

namespace cffs {
namespace {

constexpr std::uint64_t kLast = ~std::uint64_t{0};
std::uint64_t stem_number(const std::string& stem) { return checksum(stem) & (kInodeLimit - 1); }

}  // namespace

std::optional<DocumentRow> ReferenceIndex::document(FileId file) const {
  const auto value = table_.get(document_key(InodeId{file}));
  if (!value || !*value) return {};
  auto row = decode_document(**value);
  return row ? std::optional(std::move(*row)) : std::nullopt;
}

// By one document, or by whoever says so: then of as many files as one document names at most, however many documents there are.
std::vector<EmbeddedFile> ReferenceIndex::embedded(FileId holder, std::optional<FileId> by) const {
  constexpr std::size_t kMost = 4096;
  std::vector<EmbeddedFile> found;
  const Key first = embeds_key(InodeId{holder}, InodeId{by.value_or(0)});
  const Key last = embeds_key(InodeId{holder}, InodeId{by.value_or(kLast)});
  (void)table_.scan(first, last, [&](Key, std::string_view value) {
    if (auto files = decode_embedded(value))
      std::move(files->begin(), files->end(), std::back_inserter(found));
    return found.size() < kMost;
  });
  return found;
}

// Takes out of `targets` of a holder those that other documents name, too; all where there are more of these than `looks` is for.
void ReferenceIndex::leave_what_others_say(FileId holder, FileId document, std::set<FileId>& targets,
                                           std::size_t& looks) const {
  const Key first = embeds_key(InodeId{holder}, InodeId{0});
  const Key last = embeds_key(InodeId{holder}, InodeId{kLast});
  (void)table_.scan(first, last, [&](Key key, std::string_view value) {
    if (key.lower == document) return true;
    const auto files = decode_embedded(value);
    const std::size_t n = 1 + (files ? files->size() : 0);
    if (n > looks) targets.clear();
    looks -= std::min(looks, n);
    if (!targets.empty() && files) {
      for (const EmbeddedFile& other : *files) targets.erase(other.file.value);
    }
    return !targets.empty();
  });
}

Status ReferenceIndex::forget(FileId file, std::set<FileId>& touched) {
  const auto known = document(file);
  if (!known) return {};
  Batch batch;
  batch.erase(document_key(InodeId{file}));
  for (const std::uint64_t stem : known->stems) batch.erase(mention_key(stem, InodeId{file}));
  std::size_t looks = 1u << 16;  // a row that stays for want of them costs a place in a group
  for (const InodeId holder : known->holders) {
    std::set<FileId> alone;
    for (const EmbeddedFile& target : embedded(holder.value, file)) alone.insert(target.file.value);
    touched.insert(alone.begin(), alone.end());
    leave_what_others_say(holder.value, file, alone, looks);
    for (const FileId target : alone) {
      batch.erase(embedded_key(InodeId{target}, true, holder));
      batch.erase(embedded_key(InodeId{target}, false, holder));
    }
    batch.erase(embeds_key(holder, InodeId{file}));
    touched.insert(holder.value);
  }
  return table_.write(batch);
}

Status ReferenceIndex::replace(FileId file, const EntryName& place, bool html,
                               const grouping::DocumentLinks& links,
                               const std::function<std::optional<EntryName>(FileId)>& name_of,
                               std::set<FileId>& touched) {
  CFFS_TRY_VOID(forget(file, touched));
  const InodeId document{file};
  Batch batch;
  DocumentRow row{html, place, {}, {}};
  std::map<FileId, std::vector<EmbeddedFile>> lists;
  for (const grouping::Edge& edge : links.edges) {
    auto where = name_of(edge.target);
    if (!where) continue;
    const auto [it, fresh] = lists.try_emplace(edge.holder);
    if (fresh) row.holders.push_back(InodeId{edge.holder});
    const InodeId target{edge.target};
    it->second.push_back({target, std::move(*where)});
    batch.put(embedded_key(target, html && edge.holder == file, InodeId{edge.holder}), {});
    touched.insert(edge.target);
  }
  for (const InodeId holder : row.holders) {
    batch.put(embeds_key(holder, document), encode_embedded(lists[holder.value]));
    touched.insert(holder.value);
  }
  std::set<std::uint64_t> stems;
  for (const std::string& stem : links.stems) stems.insert(stem_number(stem));
  for (const std::uint64_t stem : stems) batch.put(mention_key(stem, document), {});
  row.stems.assign(stems.begin(), stems.end());
  batch.put(document_key(document), encode_document(row));
  return table_.write(batch);
}

Result<std::vector<std::pair<ReferenceIndex::FileId, EntryName>>> ReferenceIndex::mentioning(
    const std::string& stem, std::size_t most) const {
  std::vector<FileId> documents;
  const std::uint64_t number = stem_number(stem);
  CFFS_TRY_VOID(table_.scan(mention_key(number, InodeId{0}), mention_key(number, InodeId{kLast}),
                            [&](Key key, std::string_view) {
                              documents.push_back(key.lower);
                              return documents.size() < most;
                            }));
  std::vector<std::pair<FileId, EntryName>> found;
  for (const FileId file : documents) {
    if (auto d = document(file)) found.emplace_back(file, std::move(d->place));
  }
  return found;
}

std::optional<EntryName> ReferenceIndex::name_of(FileId file) const {
  if (auto d = document(file)) return std::move(d->place);
  std::optional<EntryName> found;
  FileId holder = 0;
  (void)table_.scan(embedded_key(InodeId{file}, true, InodeId{0}),
                    embedded_key(InodeId{file}, false, InodeId{kInodeLimit - 1}),
                    [&](Key key, std::string_view) {
                      holder = holder_of(key).value;
                      return false;
                    });
  if (holder == 0) return found;
  for (EmbeddedFile& target : embedded(holder, std::nullopt)) {
    if (target.file.value == file) found = std::move(target.place);
  }
  return found;
}

Status ReferenceIndex::clear() {
  for (const KeyTag tag : {KeyTag::document, KeyTag::embeds, KeyTag::embedded_by, KeyTag::mentions}) {
    for (;;) {
      constexpr std::size_t kAtOnce = 10'000;
      Batch batch;
      std::size_t n = 0;
      CFFS_TRY_VOID(table_.scan_tag(tag, [&](Key key, std::string_view) {
        batch.erase(key);
        return ++n < kAtOnce;
      }));
      if (n == 0) break;
      CFFS_TRY_VOID(table_.write(batch));
    }
  }
  return {};
}

std::optional<grouping::ReferenceGraph::Owner> ReferenceIndex::owner(FileId target) {
  std::optional<Owner> found;
  (void)table_.scan(embedded_key(InodeId{target}, true, InodeId{0}),
                    embedded_key(InodeId{target}, false, InodeId{kInodeLimit - 1}),
                    [&](Key key, std::string_view) {
                      if (!found) found = Owner{holder_of(key).value, 0};
                      return ++found->holders < options_.shared;
                    });
  return found;
}

std::vector<grouping::FileId> ReferenceIndex::targets(FileId holder) {
  std::vector<FileId> found;
  for (const EmbeddedFile& target : embedded(holder, std::nullopt)) found.push_back(target.file.value);
  return found;
}

bool ReferenceIndex::is_html(FileId file) {
  const auto d = document(file);
  return d && d->html;
}

}  // namespace cffs
