#include "core/fs/reference_index.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/checksum.h"

namespace cffs {
namespace {

constexpr std::uint64_t kLast = ~std::uint64_t{0};
constexpr std::uint8_t kVersion = 1;

Key document_key(grouping::FileId document) { return Key::tagged(KeyTag::document, document, 0); }
Key embeds_key(grouping::FileId holder, grouping::FileId document) {
  return Key::tagged(KeyTag::embeds, holder, document);
}
// HTML holders come first in key order, then the lower numbers: the first row is the owner.
Key embedded_key(grouping::FileId target, bool html, grouping::FileId holder) {
  return Key::tagged(KeyTag::embedded_by, target, (std::uint64_t{html ? 0u : 1u} << 56) | holder);
}
std::uint64_t stem_number(const std::string& stem) { return checksum(stem) & (kInodeLimit - 1); }
Key mention_key(std::uint64_t stem, grouping::FileId document) {
  return Key::tagged(KeyTag::mentions, stem, document);
}

void put_place(ByteWriter& w, const StoreTree::Place& place) {
  w.varint(place.parent.value);
  w.string(place.name);
}
StoreTree::Place take_place(ByteReader& r) {
  StoreTree::Place place;
  place.parent.value = r.varint();
  place.name = r.string();
  return place;
}

}  // namespace

std::optional<ReferenceIndex::Document> ReferenceIndex::document(FileId file) const {
  const auto value = table_.get(document_key(file));
  if (!value || !*value) return {};
  ByteReader r(**value);
  Document d;
  if (r.u8() != kVersion) return {};
  d.html = r.u8() != 0;
  d.place = take_place(r);
  for (std::uint64_t n = r.varint(); n > 0 && r.ok(); --n) d.holders.push_back(r.varint());
  for (std::uint64_t n = r.varint(); n > 0 && r.ok(); --n) d.stems.push_back(r.varint());
  return r.ok() ? std::optional(std::move(d)) : std::nullopt;
}

std::vector<ReferenceIndex::Target> ReferenceIndex::embedded(FileId holder, FileId of) const {
  std::vector<Target> found;
  const Key first = embeds_key(holder, of == 0 ? 0 : of), last = embeds_key(holder, of == 0 ? kLast : of);
  (void)table_.scan(first, last, [&](Key, std::string_view value) {
    ByteReader r(value);
    while (!r.at_end() && r.ok()) {
      Target target;
      target.file = r.varint();
      target.place = take_place(r);
      if (r.ok()) found.push_back(std::move(target));
    }
    return true;
  });
  return found;
}

Status ReferenceIndex::forget(FileId file, std::set<FileId>& touched) {
  const auto known = document(file);
  if (!known) return {};
  Batch batch;
  batch.erase(document_key(file));
  for (const std::uint64_t stem : known->stems) batch.erase(mention_key(stem, file));
  for (const FileId holder : known->holders) {
    const auto all = embedded(holder, 0);
    for (const Target& target : embedded(holder, file)) {
      touched.insert(target.file);
      // Another document may say the same of this holder.
      const auto same =
          std::count_if(all.begin(), all.end(), [&](const Target& t) { return t.file == target.file; });
      if (same > 1) continue;
      batch.erase(embedded_key(target.file, true, holder));
      batch.erase(embedded_key(target.file, false, holder));
    }
    batch.erase(embeds_key(holder, file));
    touched.insert(holder);
  }
  return table_.write(batch);
}

Status ReferenceIndex::replace(FileId file, const Place& place, bool html,
                               const grouping::DocumentLinks& links,
                               const std::function<std::optional<Place>(FileId)>& place_of,
                               std::set<FileId>& touched) {
  CFFS_TRY_VOID(forget(file, touched));
  Batch batch;
  std::vector<FileId> holders;
  std::map<FileId, std::string> lists;
  for (const grouping::Edge& edge : links.edges) {
    const auto where = place_of(edge.target);
    if (!where) continue;
    const auto [it, fresh] = lists.try_emplace(edge.holder);
    if (fresh) holders.push_back(edge.holder);
    ByteWriter w(it->second);
    w.varint(edge.target);
    put_place(w, *where);
    batch.put(embedded_key(edge.target, html && edge.holder == file, edge.holder), {});
    touched.insert(edge.target);
  }
  std::string value;
  ByteWriter w(value);
  w.u8(kVersion);
  w.u8(html ? 1 : 0);
  put_place(w, place);
  w.varint(holders.size());
  for (const FileId holder : holders) {
    w.varint(holder);
    batch.put(embeds_key(holder, file), lists[holder]);
    touched.insert(holder);
  }
  std::set<std::uint64_t> stems;
  for (const std::string& stem : links.stems) stems.insert(stem_number(stem));
  w.varint(stems.size());
  for (const std::uint64_t stem : stems) {
    w.varint(stem);
    batch.put(mention_key(stem, file), {});
  }
  batch.put(document_key(file), value);
  return table_.write(batch);
}

Result<std::vector<std::pair<ReferenceIndex::FileId, ReferenceIndex::Place>>> ReferenceIndex::mentioning(
    const std::string& stem, std::size_t most) const {
  std::vector<FileId> documents;
  const std::uint64_t number = stem_number(stem);
  CFFS_TRY_VOID(
      table_.scan(mention_key(number, 0), mention_key(number, kLast), [&](Key key, std::string_view) {
        documents.push_back(key.lower);
        return documents.size() < most;
      }));
  std::vector<std::pair<FileId, Place>> found;
  for (const FileId file : documents) {
    if (auto d = document(file)) found.emplace_back(file, std::move(d->place));
  }
  return found;
}

std::optional<ReferenceIndex::Place> ReferenceIndex::place(FileId file) const {
  if (auto d = document(file)) return d->place;
  std::optional<Place> found;
  FileId holder = 0;
  (void)table_.scan(embedded_key(file, true, 0), embedded_key(file, false, kInodeLimit - 1),
                    [&](Key key, std::string_view) {
                      holder = key.lower & (kInodeLimit - 1);
                      return false;
                    });
  if (holder == 0) return found;
  for (Target& target : embedded(holder, 0)) {
    if (target.file == file) found = std::move(target.place);
  }
  return found;
}

Status ReferenceIndex::clear() {
  for (const KeyTag tag : {KeyTag::document, KeyTag::embeds, KeyTag::embedded_by, KeyTag::mentions}) {
    for (;;) {
      constexpr std::size_t kAtOnce = 10'000;
      Batch batch;
      std::size_t n = 0;
      CFFS_TRY_VOID(table_.scan(Key::tagged(tag, 0, 0), Key::tagged(tag, kInodeLimit - 1, kLast),
                                [&](Key key, std::string_view) {
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
  (void)table_.scan(embedded_key(target, true, 0), embedded_key(target, false, kInodeLimit - 1),
                    [&](Key key, std::string_view) {
                      if (!found) found = Owner{key.lower & (kInodeLimit - 1), 0};
                      return ++found->holders < options_.shared;
                    });
  return found;
}

std::vector<grouping::FileId> ReferenceIndex::targets(FileId holder) {
  std::vector<FileId> found;
  for (const Target& target : embedded(holder, 0)) found.push_back(target.file);
  return found;
}

bool ReferenceIndex::is_html(FileId file) {
  const auto d = document(file);
  return d && d->html;
}

}  // namespace cffs
