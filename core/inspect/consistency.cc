#include "core/inspect/consistency.h"

#include <algorithm>
#include <atomic>
#include <tuple>
#include <unordered_set>

#include "core/base/mutex.h"
#include "core/base/parallel.h"
#include "core/blob/blob_store.h"
#include "core/composite/composite_store.h"
#include "core/fs/recovery.h"
#include "core/fs/removals.h"
#include "core/inspect/row_names.h"
#include "core/reorganise/plan_object.h"
#include "core/table/catalogue.h"
#include "core/table/system_rows.h"
#include "core/table/table.h"

namespace cffs {

Result<std::vector<std::string>> ConsistencyCheck::run() {
  CFFS_TRY_VOID(fs_.sync());
  progress({"reading the table"});
  CFFS_TRY_VOID(check_table());
  // Damage in a file of the table is named by now; a scan goes on behind it and tells of it at its end.
  const auto goes_on = [&](const Status& scanned) -> Status {
    if (scanned || scanned.error().kind != ErrorKind::corruption) return scanned;
    if (!rows_missing_) report(scanned.error().message());
    rows_missing_ = true;
    return {};
  };
  progress({"reading rows"});
  CFFS_TRY_VOID(goes_on(collect()));
  CFFS_TRY_VOID(goes_on(collect_nameless()));
  sort();
  check_groups();
  check_inodes();
  if (!rows_missing_) {
    check_count();
    check_directories();
    check_hard_links();
    check_accounts();
    CFFS_TRY_VOID(goes_on(check_sharing()));
  }
  CFFS_TRY_VOID(check_contents());
  progress({"reading data rows"});
  CFFS_TRY_VOID(goes_on(check_data_rows()));
  CFFS_TRY_VOID(goes_on(check_other_rows()));
  if (!rows_missing_) CFFS_TRY_VOID(goes_on(check_values()));
  CFFS_TRY_VOID(goes_on(check_packing()));
  CFFS_TRY_VOID(check_objects());
  CFFS_TRY_VOID(check_hints());
  CFFS_TRY_VOID(goes_on(check_counter()));
  return sentences();
}

Status ConsistencyCheck::check_table() {
  for (const LogDamage& damage : fs_.table().dropped()) {
    if (damage.was_durable) report(damage.sentence());
  }
  const auto damaged = fs_.table().find_damaged_files();
  if (!damaged) return report(damaged.error());
  for (const std::string& sentence : *damaged) report(sentence);
  rows_missing_ = !damaged->empty();
  return {};
}

Status ConsistencyCheck::collect() {
  NamespaceVisitor visitor;
  visitor.entries = [&](Key key, const Row& row) {
    for (const Entry& entry : row.entries) note_entry(key, entry);
    return true;
  };
  visitor.composite = [&](CompositeId id, const CompositeRow& row) {
    rows_[id] = row;
    return true;
  };
  visitor.member_files = [&](CompositeId id, std::uint32_t slot, const MemberFiles& row) {
    sharing_.note(id, slot, row);
    return true;
  };
  visitor.damaged = [&](Key key, const Error& error) {
    report("row " + key_text(key) + ": " + error.message());
    return true;
  };
  visitor.past_damage = true;
  return fs_.table().scan_namespace(visitor);
}

void ConsistencyCheck::note_entry(Key key, const Entry& entry) {
  if (!entry.name.empty() && (parents_.empty() || parents_.back() != key.upper))
    parents_.push_back(key.upper);
  numbers_.note(entry);
  check_key(key, entry);
  if (!entry.inode) {
    ++linked_[entry.ino.value].found;
    return;
  }
  inodes_.push_back(entry.ino.value);
  if (entry.name.empty() && entry.ino != kRootInode) {
    linked_[entry.ino.value].counted = entry.inode->nlink;
    linked_[entry.ino.value].has_row = true;
  }
  if (entry.inode->is_directory() && !entry.name.empty()) {
    ++directories_[key.upper].found;
    directories_[entry.ino.value].parent = key.upper;
  }
  if (!entry.inode->is_directory() && !entry.name.empty() && entry.inode->nlink != 1) {
    report(entry.ino.value, " counts " + std::to_string(entry.inode->nlink) + " links, has 1");
  }
  note_inode(key, *entry.inode);
}

void ConsistencyCheck::note_inode(Key key, const Inode& inode) {
  const std::uint64_t ino = inode.ino.value;
  if (inode.is_directory()) {
    directories_[ino].counted = inode.nlink;
    directories_[ino].has_row = true;
  }
  const Extent& extent = inode.extent;
  switch (inode.home) {
    case Home::none:
      if (inode.is_regular() && inode.size > 0)
        report(ino, " has " + std::to_string(inode.size) + " bytes and no home");
      break;
    case Home::inline_:
      inline_.push_back({ino, inode.size});
      break;
    case Home::composite:
      if (extent.length != inode.size) report(ino, ": size and extent differ");
      note_member(key, inode);
      break;
    case Home::blob:
      blobs_.push_back({inode.ino, inode.size, inode.sealed});
      break;
  }
}

void ConsistencyCheck::sort() {
  std::sort(inodes_.begin(), inodes_.end());
  std::sort(inline_.begin(), inline_.end(),
            [](const InlineFile& a, const InlineFile& b) { return a.ino < b.ino; });
  const auto twice = std::unique(inline_.begin(), inline_.end(),
                                 [](const InlineFile& x, const InlineFile& y) { return x.ino == y.ino; });
  inline_.erase(twice, inline_.end());
  std::sort(members_.begin(), members_.end(), [](const CheckedMember& a, const CheckedMember& b) {
    return std::tie(a.composite, a.slot, a.ino) < std::tie(b.composite, b.slot, b.ino);
  });
  sharing_.mark(members_);
  auto row = rows_.begin();
  for (std::size_t i = 0; i < members_.size() || row != rows_.end();) {
    const bool by_row = i == members_.size() || (row != rows_.end() && row->first <= members_[i].composite);
    Composite composite;
    composite.id = by_row ? row->first : members_[i].composite;
    if (by_row) composite.row = &(row++)->second;
    std::size_t end = i;
    while (end < members_.size() && members_[end].composite == composite.id) ++end;
    composite.members = std::span(members_).subspan(i, end - i);
    composites_.push_back(composite);
    i = end;
  }
}

void ConsistencyCheck::check_inodes() {
  for (auto twice = inodes_.begin();; ++twice) {
    twice = std::adjacent_find(twice, inodes_.end());
    if (twice == inodes_.end()) break;
    report(*twice, " has two rows");
  }
  inodes_.erase(std::unique(inodes_.begin(), inodes_.end()), inodes_.end());
}

void ConsistencyCheck::check_count() {
  const auto counted = fs_.file_count();
  if (counted && *counted != inodes_.size()) {
    report("the store counts " + std::to_string(*counted) + " files, has " + std::to_string(inodes_.size()));
  }
}

void ConsistencyCheck::check_directories() {
  for (const std::uint64_t parent : parents_) {
    const auto it = directories_.find(parent);
    if (it == directories_.end() || !it->second.has_row)
      report("directory " + std::to_string(parent) + " has entries but no row");
  }
  for (const auto& [ino, links] : directories_) {
    if (links.has_row && links.counted != 2 + links.found) {
      report("directory " + std::to_string(ino) + " has " + std::to_string(links.counted) +
             " links, should have " + std::to_string(2 + links.found));
    }
  }
  check_circles();
}

// Upwards from each directory to one that is known to lead to the root; a directory without a row is reported as that.
void ConsistencyCheck::check_circles() {
  std::unordered_set<std::uint64_t> good{kRootInode.value};
  for (const auto& [ino, links] : directories_) {
    std::unordered_set<std::uint64_t> way;
    std::uint64_t at = ino;
    for (auto it = directories_.find(at);
         it != directories_.end() && it->second.has_row && !good.contains(at); it = directories_.find(at)) {
      if (!way.insert(at).second) {
        report("directory " + std::to_string(at) + " is below itself, and no path leads to it");
        break;
      }
      at = it->second.parent;
    }
    good.merge(way);
  }
}

void ConsistencyCheck::check_hard_links() {
  for (const auto& [ino, links] : linked_) {
    if (!links.has_row) {
      report("hard links to inode " + std::to_string(ino) + " lead nowhere");
    } else if (links.counted != links.found) {
      report("inode " + std::to_string(ino) + " counts " + std::to_string(links.counted) + " links, has " +
             std::to_string(links.found));
    }
  }
}

void ConsistencyCheck::check_accounts() {
  for (const Composite& c : composites_) {
    if (c.row == nullptr) continue;
    const std::uint64_t live = live_bytes(c.members);
    if (c.members.size() != c.row->members || live != c.row->live_bytes) {
      report(CompositeStore::object_name(c.id) + " counts " + std::to_string(c.row->members) + " members, " +
             std::to_string(c.row->live_bytes) + " bytes; has " + std::to_string(c.members.size()) + ", " +
             std::to_string(live));
    }
  }
}

Status ConsistencyCheck::check_sharing() {
  CFFS_TRY(Findings found, sharing_.run(members_));
  std::move(found.begin(), found.end(), std::back_inserter(found_));
  return {};
}

// Several objects at a time; what is found comes in their order all the same.
Status ConsistencyCheck::check_contents() {
  for (const Composite& c : composites_) {
    if (c.row != nullptr || rows_missing_) continue;
    for (const CheckedMember& member : c.members) report(member.ino.value, ": its composite has no row");
  }
  const ObjectCheck check(fs_);
  const std::size_t count = composites_.size() + blobs_.size();
  std::vector<Result<Findings>> found(count);
  std::uint64_t read = 0, all = 0;  // bytes
  for (const Composite& c : composites_) all += c.row != nullptr ? c.row->size : 0;
  for (const CheckedBlob& blob : blobs_) all += blob.size;
  Mutex one_tells;
  in_parallel(count, options_.workers, [&](std::size_t i) {
    std::uint64_t bytes = 0;
    if (i < composites_.size()) {
      const Composite& c = composites_[i];
      found[i] = check.composite(c.id, c.row, c.members, rows_missing_);
      bytes = c.row != nullptr ? c.row->size : 0;
    } else {
      const CheckedBlob& blob = blobs_[i - composites_.size()];
      found[i] = check.blob(blob);
      bytes = blob.size;
    }
    const MutexLock lock(one_tells);
    read += bytes;
    progress({"reading objects", read, all, WorkStep::kBytes});
  });
  for (Result<Findings>& some : found) {
    if (!some) return fail(some.error());
    std::move(some->begin(), some->end(), std::back_inserter(found_));
  }
  return {};
}

// Files in use that have lost their name, or a killed daemon's, may have chunks until nobody uses them.
Status ConsistencyCheck::collect_nameless() {
  return fs_.table().scan_tag(KeyTag::pending_removal, [&](Key key, std::string_view value) {
    const auto removal = decode_pending_removal(key);
    if (!removal || removal->is_object()) return true;
    nameless_.push_back(removal->number);
    const auto inode = decode_inode(value);
    if (!inode) {
      report("row " + key_text(key) + ": " + inode.error().message());
    } else if (inode->home == Home::inline_) {
      inline_.push_back({removal->number, inode->size});
    }
    return true;
  });
}

// In a store that is not dense_inline a chunk that is missing reads as zeros, as a hole does: nothing tells the two apart.
Status ConsistencyCheck::check_data_rows() {
  std::unordered_set<std::uint64_t> nobody;  // told already
  CFFS_TRY_VOID(fs_.table().scan_tag(KeyTag::file_data, [&](Key key, std::string_view value) {
    const std::uint64_t ino = key.number();
    const auto file =
        std::lower_bound(inline_.begin(), inline_.end(), ino,
                         [](const InlineFile& f, std::uint64_t wanted) { return f.ino < wanted; });
    if (file == inline_.end() || file->ino != ino) {
      if (!rows_missing_ && nobody.insert(ino).second)
        report("data rows of inode " + std::to_string(ino) + " belong to nobody");
      return true;
    }
    file->stored += value.size();
    const bool fits = key.lower <= file->size / kChunkBytes && value.size() <= kChunkBytes &&
                      key.lower * kChunkBytes + value.size() <= file->size;
    if (!fits && !std::exchange(file->told, true))
      report("data rows of inode " + std::to_string(ino) + " reach beyond its end");
    return true;
  }));
  if (!fs_.store_format().dense_inline) return {};
  for (const InlineFile& file : inline_) {
    if (file.stored < file.size) {
      report("inode " + std::to_string(file.ino) + ": " + std::to_string(file.stored) + " of its " +
             std::to_string(file.size) + " bytes are in the table");
    }
  }
  return {};
}

Status ConsistencyCheck::check_other_rows() {
  return fs_.table().scan(Key::namespace_end(), {~std::uint64_t{0}, ~std::uint64_t{0}},
                          [&](Key key, std::string_view value) {
                            if (key.tag() == KeyTag::file_data) return true;
                            if (const auto removal = decode_pending_removal(key)) {
                              if (removal->is_object()) pending_.insert(object_name(*removal));
                            } else if (const Status known = check_row(key, value); !known) {
                              report("row " + key_text(key) + ": " + known.error().message());
                            }
                            return true;
                          });
}

// Where the table does not say so, no mount looks whether a composite is packed.
Status ConsistencyCheck::check_packing() {
  const Key key = system_key(SystemField::compression);
  CFFS_TRY(const auto said, fs_.table().get(key));
  if (said) return {};
  for (const auto& [id, row] : rows_) {
    const auto object = fs_.composites().open(id);
    if (!object && object.error().is_shortage()) return fail(object.error());
    if (!object || CompositeStore::compression_of(**object) == Compression{}) continue;
    report(CompositeStore::object_name(id) + " is packed, and the table does not say that there are such");
    break;
  }
  return {};
}

Status ConsistencyCheck::check_objects() {
  CFFS_TRY(const Layout layout, fs_.objects().layout());
  for (const std::string& sentence : layout.damaged) report("object " + sentence);
  CFFS_TRY(const auto names, fs_.objects().list(""));
  const std::set<std::string> present(names.begin(), names.end());
  std::set<std::string> wanted;
  for (const CheckedBlob& file : blobs_) wanted.insert(BlobStore::object_name(file.ino));
  for (const auto& [id, row] : rows_) wanted.insert(CompositeStore::object_name(id));
  for (const std::string& name : wanted) {
    if (!present.contains(name)) report("object " + name + " is missing");
  }
  check_removals(wanted);
  for (const std::string& name : names) {
    const bool data = name.starts_with("blobs/") || name.starts_with("composites/");
    if (data && !rows_missing_ && !wanted.contains(name) && !pending_.contains(name))
      report("object " + name + " belongs to nobody");
  }
  return {};
}

Status ConsistencyCheck::check_hints() {
  if (fs_.objects().exists(Recovery::kUnfinishedRepair).value_or(false))
    report("a repair was begun and not finished: cffs fsck --repair goes on with it");
  if (const Status copy = check_format_copy(fs_.objects()); !copy) CFFS_TRY_VOID(report(copy.error()));
  if (const auto plan = read_plan_object(fs_.objects()); !plan) CFFS_TRY_VOID(report(plan.error()));
  const auto catalogue = read_catalogue(fs_.objects(), {});
  if (!catalogue) return report(catalogue.error());
  if (!*catalogue) return {};
  for (const std::string& sentence : (*catalogue)->damage) report(sentence);
  return {};
}

// Names are looked up now that it is known whose are needed. No name where rows cannot be read any more.
std::vector<std::string> ConsistencyCheck::sentences() {
  std::unordered_map<std::uint64_t, std::string> names;
  for (const Finding& finding : found_) {
    if (finding.ino.value != 0) names.try_emplace(finding.ino.value);
  }
  if (!names.empty()) {
    (void)fs_.table().scan_entries([&](Key, const Row& row) {
      for (const Entry& entry : row.entries) {
        if (!entry.inode) continue;
        if (const auto it = names.find(entry.ino.value); it != names.end())
          it->second = printable(entry.name);
      }
      return true;
    });
  }
  std::vector<std::string> all;
  for (Finding& finding : found_) {
    if (finding.ino.value != 0) {
      std::string who = "inode " + std::to_string(finding.ino.value) + " '";
      who += names[finding.ino.value];
      who += "'";
      finding.what.insert(0, who);
    }
    all.push_back(std::move(finding.what));
  }
  return all;
}

}  // namespace cffs
