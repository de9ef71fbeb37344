// A store is mended as a whole: its superblock, its table, then what the rows are about. What shows that rows are missing goes with the first writes;
// an object remembers it until all of it is done.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/fs/recovery.h"
#include "core/fs/space_guard.h"
#include "core/object/store_use.h"
#include "core/repair/lost_names.h"
#include "core/repair/repair.h"
#include "core/repair/second_reads.h"
#include "core/table/close_note.h"
#include "core/table/replay_check.h"
#include "core/table/system_rows.h"
#include "core/table/table.h"

namespace cffs {
namespace {

Result<bool> has_root(const Table& table) {
  CFFS_TRY(const auto there, table.get(Key::null_name(kRootInode)));
  const auto row = there ? decode_row(*there) : Result<Row>(fail(ENOENT));
  const Entry* const entry = row ? row->find("") : nullptr;
  return entry != nullptr && entry->inode.has_value();
}

// All paths begin at its row, and without it nothing opens the store.
Result<std::optional<std::string>> restore_root(ObjectStore& store, const StoreFormat& format,
                                                const std::function<bool()>& when_full) {
  TableOptions options;
  options.values_apart = format.values_apart;
  options.when_full = when_full;
  CFFS_TRY(const auto table, Table::open(store, options));
  CFFS_TRY(const bool there, has_root(*table));
  if (there) return std::optional<std::string>();
  const LostNames catalogue(store);
  CFFS_TRY_VOID(catalogue.looked());
  const Inode* const known = catalogue.root();
  Inode root = known != nullptr ? *known : Inode();
  if (known == nullptr) {
    root.mode = S_IFDIR | 0700;
    root.uid = ::geteuid();
    root.gid = ::getegid();
    root.atime_ns = root.mtime_ns = root.ctime_ns = root.btime_ns = format.created_ns;
  }
  root.ino = kRootInode;
  root.nlink = 2;
  Batch batch;
  batch.put(Key::null_name(kRootInode), encode_single_row("", root));
  CFFS_TRY_VOID(table->write(batch));
  CFFS_TRY_VOID(table->sync());
  return std::optional<std::string>(
      known != nullptr
          ? "the root had no row: it has its owner and mode from the catalogue"
          : "the root had no row: it is its owner's alone now, until somebody gives it the mode that it had");
}

// Why a table is to be made anew of which `error` says that its store cannot be opened; empty: rows are not why. An object beside the table
// is no reason, and what had been removed would be taken for lost.
Result<std::vector<std::string>> damage_of_table(ObjectStore& store, const Error& error) {
  CFFS_TRY(const auto lock, use_alone(store, "cffs fsck"));
  CFFS_TRY(const StoreFormat format, read_format(store));
  TableOptions options;
  options.values_apart = format.values_apart;
  options.keep_what_is_whole = true;
  const auto looked = [&]() -> Result<std::vector<std::string>> {
    CFFS_TRY(const auto table, Table::open(store, options));
    CFFS_TRY(auto files, table->find_damaged_files());
    if (!files.empty()) return files;
    CFFS_TRY_VOID(table->scan({0, 0}, {~std::uint64_t{0}, ~std::uint64_t{0}},
                              [](Key, std::string_view) { return true; }));
    CFFS_TRY(const bool root, has_root(*table));
    return root ? std::vector<std::string>() : std::vector<std::string>{error.message()};
  }();
  if (!looked && looked.error().kind == ErrorKind::corruption)
    return std::vector<std::string>{error.message()};
  return looked;
}

struct RebuiltTable {
  std::vector<std::string> sentences;
  bool rows_are_missing = false;
};

// A table is made anew from what can be read of its files; the old ones stay, in table/lost. `damaged`: a sentence for each file that is, or why
// the table is made anew otherwise.
Result<RebuiltTable> rebuild_damaged_table(ObjectStore& store, std::vector<std::string> damaged) {
  CFFS_TRY(const auto lock, use_alone(store, "cffs fsck"));
  CFFS_TRY(const StoreFormat format, read_format(store));
  SpaceGuard space(store);
  const auto when_full = [&space] { return space.give(); };
  CFFS_TRY(const auto complete, Table::rebuild(store, format.values_apart, when_full));
  RebuiltTable rebuilt;
  for (std::string& sentence : damaged) {
    const std::size_t tail = sentence.rfind(Table::kRowsMissing);
    const bool is_complete =
        tail != std::string::npos && complete.contains(sentence.substr(0, sentence.find(':')));
    if (is_complete) sentence.replace(tail, std::string::npos, "; all its rows were found");
    rebuilt.rows_are_missing = rebuilt.rows_are_missing || !is_complete;
  }
  rebuilt.sentences = std::move(damaged);
  rebuilt.sentences.emplace_back(
      "the table was made anew from the rows that can be read; the damaged files are kept in table/lost");
  CFFS_TRY(auto root, restore_root(store, format, when_full));
  if (root) rebuilt.sentences.push_back(std::move(*root));
  return rebuilt;
}

// What the note of a repair says where no durable row is missing. Else it says nothing, as of older programs.
constexpr std::string_view kTailOnly = "tail";

// Written before the first write that takes away what shows that rows are missing; whoever repairs next goes on as this one.
Status note_unfinished(ObjectStore& store, Repair::Lost what) {
  CFFS_TRY(const auto lock, use_alone(store, "cffs fsck"));
  CFFS_TRY(const auto object, store.create(Recovery::kUnfinishedRepair, ObjectStore::Create::truncate));
  if (what == Repair::Lost::tail) CFFS_TRY_VOID(object->write_at(0, as_bytes(kTailOnly)));
  return object->sync();
}

// What a repair that was not finished knew to be missing.
Result<Repair::Lost> noted_loss(ObjectStore& store) {
  CFFS_TRY(const bool noted, store.exists(Recovery::kUnfinishedRepair));
  if (!noted) return Repair::Lost::nothing;
  CFFS_TRY(const auto object, store.open(Recovery::kUnfinishedRepair));
  const auto text = read_whole(*object);
  if (!text && text.error().is_shortage()) return fail(text.error());
  return text && *text == kTailOnly ? Repair::Lost::tail : Repair::Lost::rows;
}

Status note_finished(ObjectStore& store) {
  CFFS_TRY(const bool noted, store.exists(Recovery::kUnfinishedRepair));
  if (!noted) return {};
  CFFS_TRY(const auto lock, use_alone(store, "cffs fsck"));
  CFFS_TRY_VOID(store.remove(Recovery::kUnfinishedRepair));
  return store.sync_names();
}

// What opening the table leaves out. What is no log or manifest at all, opening it tells.
Result<Repair::Lost> will_drop(ObjectStore& store) {
  CFFS_TRY(const auto lock, use_alone(store, "cffs fsck"));
  CFFS_TRY(const StoreFormat format, read_format(store));
  CFFS_TRY(const auto note, read_close_note(store, "table"));
  const auto plan = check_replay(store, "table", true, format.values_apart, note);
  if (!plan && plan.error().kind != ErrorKind::corruption) return fail(plan.error());
  if (!plan || plan->dropped.empty()) return Repair::Lost::nothing;
  const bool durable = std::any_of(plan->dropped.begin(), plan->dropped.end(),
                                   [](const LogDamage& damage) { return damage.was_durable; });
  return durable ? Repair::Lost::rows : Repair::Lost::tail;
}

// What was put aside because no row names it.
Result<std::set<std::string>> kept_objects(ObjectStore& store) {
  CFFS_TRY(const auto names, store.list(Recovery::kLostAndFound));
  return std::set<std::string>(names.begin(), names.end());
}

}  // namespace

Result<std::vector<std::string>> repair_store(ObjectStore& medium, FileSystemOptions options,
                                              std::vector<std::string>* lost) {
  SecondReads store(medium);
  std::vector<std::string> mended;
  CFFS_TRY(const Repair::Lost noted, noted_loss(store));
  bool rows_were_lost = noted != Repair::Lost::nothing;
  bool durable_rows_were_lost = noted == Repair::Lost::rows;
  if (rows_were_lost) mended.emplace_back("a repair that was not finished is gone on with");
  CFFS_TRY(const std::set<std::string> kept_before, kept_objects(store));
  options.keep_what_is_whole = true;
  options.background = false;
  options.read_only = false;
  CFFS_TRY(const bool restored, restore_format(store));
  if (restored) mended.emplace_back("the superblock, or its copy, was damaged: put back from the other");
  CFFS_TRY(const Repair::Lost drops, will_drop(store));
  const bool is_news = drops != Repair::Lost::nothing && noted != Repair::Lost::rows;
  if (is_news) CFFS_TRY_VOID(note_unfinished(store, drops));
  auto opened = FileSystem::open(store, options);
  if (!opened && opened.error().kind == ErrorKind::corruption) {  // files of the table are missing, perhaps
    CFFS_TRY(const auto names, store.list("table"));
    if (names.empty()) return fail(opened.error());
    CFFS_TRY(auto damage, damage_of_table(store, opened.error()));
    if (damage.empty()) return fail(opened.error());
    CFFS_TRY_VOID(note_unfinished(store, Repair::Lost::rows));
    CFFS_TRY(const auto rebuilt, rebuild_damaged_table(store, std::move(damage)));
    mended.insert(mended.end(), rebuilt.sentences.begin(), rebuilt.sentences.end());
    if (rebuilt.rows_are_missing) rows_were_lost = durable_rows_were_lost = true;
    if (!rows_were_lost) CFFS_TRY_VOID(note_finished(store));  // nor would the next repair miss any
    opened = FileSystem::open(store, options);
  }
  if (!opened) return fail(opened.error());
  auto fs = std::move(*opened);
  // The end that a power cut tore is no damage: to leave it out is what opening the store does, and mends nothing.
  for (const LogDamage& damage : fs->table().dropped()) {
    if (damage.was_durable) mended.push_back(damage.sentence());
    durable_rows_were_lost = durable_rows_were_lost || damage.was_durable;
  }
  rows_were_lost = rows_were_lost || !fs->table().dropped().empty();
  CFFS_TRY(auto damaged, fs->table().find_damaged_files());
  if (!damaged.empty()) {
    CFFS_TRY_VOID(fs->close());
    CFFS_TRY_VOID(note_unfinished(store, Repair::Lost::rows));
    CFFS_TRY(const auto rebuilt, rebuild_damaged_table(store, std::move(damaged)));
    mended.insert(mended.end(), rebuilt.sentences.begin(), rebuilt.sentences.end());
    if (rebuilt.rows_are_missing) rows_were_lost = durable_rows_were_lost = true;
    if (!rows_were_lost) CFFS_TRY_VOID(note_finished(store));  // nor would the next repair miss any
    CFFS_TRY(fs, FileSystem::open(store, options));
  }
  Repair repair(*fs, durable_rows_were_lost ? Repair::Lost::rows
                     : rows_were_lost       ? Repair::Lost::tail
                                            : Repair::Lost::nothing);
  CFFS_TRY(const auto sentences, repair.run());
  if (lost != nullptr) *lost = repair.lost();
  mended.insert(mended.end(), sentences.begin(), sentences.end());
  CFFS_TRY_VOID(fs->close());
  fs.reset();
  if (lost != nullptr && durable_rows_were_lost) {
    CFFS_TRY(const std::set<std::string> kept, kept_objects(store));
    for (const std::string& name : kept) {
      if (!kept_before.contains(name))
        lost->push_back(name + " is of a file whose row is lost: it is kept in the store");
    }
  }
  CFFS_TRY_VOID(note_finished(store));
  return mended;
}

}  // namespace cffs
