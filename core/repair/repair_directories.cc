// Directories that have lost their rows: those with entries get one, where the catalogue has their names or in /lost+found; empty ones
// where the catalogue says so and nothing else is there.
#include "core/fs/check_name.h"
#include "core/fs/rehousing.h"
#include "core/repair/repair.h"
#include "core/table/table.h"

namespace cffs {
namespace {

std::string decimal_of(std::uint64_t n) { return std::to_string(n); }

}  // namespace

// A directory with entries and no row gets one, where the catalogue has its name, or in /lost+found.
Status Repair::mend_directories() {
  const std::set<std::uint64_t> parents = met_->parents;
  for (const std::uint64_t ino : parents) {
    if (!met_->directories[ino].has_row) CFFS_TRY_VOID(give_row(InodeId{ino}));
  }
  if (what_ == Lost::rows) CFFS_TRY_VOID(bring_back_empty_directories());
  if (named_ > 0) mended("of these, " + decimal_of(named_) + " have their names from the catalogue");
  return {};
}

Status Repair::give_row(InodeId ino) {
  CFFS_TRY(const auto known, catalogued_place(ino));
  EntryName at;
  Inode inode;
  if (known) {
    at = *known;
    inode = catalogue().directory(ino)->inode;
    ++named_;
  } else {
    CFFS_TRY(at.parent, lost_and_found());
    at.name = "#" + decimal_of(ino.value);
    inode.mode = S_IFDIR | 0700;
    inode.atime_ns = inode.mtime_ns = inode.ctime_ns = inode.btime_ns = fs_.clock().now_ns();
  }
  mended(
      "directory " + decimal_of(ino.value) + " had entries and no row: it is " +
      (known ? "'" + at.name + "' of directory " + decimal_of(at.parent.value) : "/lost+found/" + at.name));
  return put_directory(ino, at, std::move(inode));
}

Status Repair::put_directory(InodeId ino, const EntryName& at, Inode inode) {
  RowSurvey::Directory& directory = met_->directories[ino.value];
  inode.ino = ino;
  inode.nlink = 2 + directory.subdirectories;
  const Key key = fs_.rehousing().entry_key(at);
  CFFS_TRY(Row row, fs_.table().get_row(key));
  if (row.find(at.name) == nullptr) row.insert(Entry{at.name, ino, S_IFDIR, inode});
  Batch batch;
  batch.put_row(key, row);
  CFFS_TRY_VOID(fs_.table().write(batch));
  directory.has_row = true;
  directory.row = key;
  directory.name = at.name;
  directory.counted = inode.nlink;
  ++met_->directories[at.parent.value].subdirectories;
  return {};
}

// Nothing but the catalogue tells of one. Whose name is taken by now had been replaced.
Status Repair::bring_back_empty_directories() {
  for (const auto& [ino, known] : catalogue().directories()) {
    const auto met = met_->directories.find(ino.value);
    const bool is_there = met != met_->directories.end() && met->second.has_row;
    if (is_there || met_->nameless.contains(ino.value) || ino >= fs_.next_inode()) continue;
    CFFS_TRY(const auto at, catalogued_place(ino));
    if (!at || met_->directories[ino.value].has_row) continue;
    mended("directory " + decimal_of(ino.value) + " had lost its row: it is '" + at->name +
           "' of directory " + decimal_of(at->parent.value) + " again, as the catalogue says");
    CFFS_TRY_VOID(put_directory(ino, *at, known.inode));
  }
  return {};
}

// A parent that has no row either comes first, from the catalogue too.
Result<std::optional<EntryName>> Repair::catalogued_place(InodeId ino) {
  CFFS_TRY_VOID(catalogue().looked());
  const LostNames::Directory* const known = catalogue().directory(ino);
  if (known == nullptr || !check_new_name(known->name)) return std::optional<EntryName>();
  const InodeId parent = known->parent;
  const bool has_row = parent == kRootInode || met_->directories[parent.value].has_row;
  if (!has_row) {
    const bool removed = met_->nameless.contains(parent.value) || catalogue().directory(parent) == nullptr;
    if (removed || !being_given_.insert(ino.value).second) return std::optional<EntryName>();
    CFFS_TRY_VOID(give_row(parent));
  }
  if (leads_to_itself(ino, parent)) return std::optional<EntryName>();
  EntryName at{parent, known->name};
  CFFS_TRY(const Row row, fs_.table().get_row(fs_.rehousing().entry_key(at)));
  return row.find(at.name) == nullptr ? std::optional(std::move(at)) : std::nullopt;
}

// A parent that the catalogue names may lie below the directory by now.
bool Repair::leads_to_itself(InodeId directory, InodeId parent) const {
  std::set<std::uint64_t> way{directory.value};
  for (std::uint64_t at = parent.value; at != kRootInode.value;) {
    if (!way.insert(at).second) return true;
    const auto above = met_->directories.find(at);
    if (above == met_->directories.end() || !above->second.has_row) return false;
    at = above->second.row.upper;
  }
  return false;
}

}  // namespace cffs
