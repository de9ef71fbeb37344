// What documents of a store embed, remembered in its table, so that a file that arrives, changes or goes regroups only
// those that it concerns.
//
// Rows (docs/ON_DISK_FORMAT.md, "References"): each document's links as they were when it was last looked at, by holder,
// by target, and by the stems of the names it refers to. They are hints: one that is missing or outdated costs a place
// in a group, never data. Places (directory and name) go with them, since an inode alone does not tell where it is.
//
// Used by the background work alone, one thread at a time.
#pragma once

#include <set>

#include "core/table/reference_rows.h"
#include "core/table/table.h"
#include "grouping/reference/graph.h"

namespace cffs {

class ReferenceIndex final : public grouping::ReferenceGraph {
 public:
  using FileId = grouping::FileId;

  ReferenceIndex(Table& table, const grouping::ReferenceOptions& options)
      : table_(table), options_(options) {}

  // Replaces what is known of a document. Adds to `touched` the files whose group may change by it.
  Status replace(FileId document, const EntryName& place, bool html, const grouping::DocumentLinks& links,
                 const std::function<std::optional<EntryName>(FileId)>& name_of, std::set<FileId>& touched);
  Status forget(FileId document, std::set<FileId>& touched);
  // Documents that refer to a name with this stem, at most `most`.
  Result<std::vector<std::pair<FileId, EntryName>>> mentioning(const std::string& stem,
                                                               std::size_t most) const;
  std::optional<EntryName> name_of(FileId file) const;
  Status clear();

  std::optional<Owner> owner(FileId target) override;
  std::vector<FileId> targets(FileId holder) override;
  bool is_html(FileId file) override;

 private:
  std::optional<DocumentRow> document(FileId file) const;
  std::vector<EmbeddedFile> embedded(FileId holder, std::optional<FileId> document) const;
  void leave_what_others_say(FileId holder, FileId document, std::set<FileId>& targets,
                             std::size_t& looks) const;

  Table& table_;
  const grouping::ReferenceOptions& options_;
};

}  // namespace cffs
