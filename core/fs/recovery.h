// What a store's next user does about how the last one ended.
//
// A row says that the store is being changed: it is durable before the first change (Table::before_first_change()), and goes with the batch
// that closes the store. Found at open, it means that nobody closed it: the daemon died, the machine did, or the
// device lost what it had not written. The boot that the row names tells nothing: a daemon leaves data that only the kernel has,
// and a device may reset while the machine lives. So everything that was written is made durable first, and every row is held
// against its objects.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "core/blob/blob_store.h"
#include "core/table/table.h"

namespace cffs {

class Recovery {
 public:
  // Where a log could not be replayed whole, what no row names goes here instead of away: its row may be what is missing.
  static constexpr const char* kLostAndFound = "lost+found";
  // An object that is there while a repair goes on that knows of missing rows. What showed that they are missing (a log cut short, a
  // damaged file of the table) is gone with the first of its writes, so until it has finished nobody else uses the store: his files would get the
  // numbers of those that are to come back.
  static constexpr const char* kUnfinishedRepair = "repair.unfinished";
  // Objects with data that are not among these.
  static Result<std::vector<std::string>> objects_beside(ObjectStore& store,
                                                         const std::set<std::string>& wanted);
  // Moves the object there; returns what it is called then.
  static Result<std::string> keep_aside(ObjectStore& store, const std::string& name);

  Recovery(ObjectStore& store, Table& table, BlobStore& blobs, std::string boot_id,
           std::function<void(const std::string&)> log)
      : store_(store), table_(table), blobs_(blobs), boot_id_(std::move(boot_id)), log_(std::move(log)) {}

  // Mends what an end without close() left, where there was one, and sees to it that the first change marks the store as open, unless it
  // is only looked at.
  // `followed`: somebody reads an earlier checkpoint, and what waits for its removal goes with the others.
  // `keeps_all`: rows may be missing (a repair), so what no row names is kept aside.
  Status begin(bool looks_only, bool followed, bool keeps_all = false);
  // To join the batch that closes the store.
  static void mark_closed(Batch& batch);

 private:
  struct Found {
    std::set<std::string> wanted;  // objects that rows name
    std::set<InodeId> named;       // files of which a row says that they have no name, although one has them
    std::vector<std::pair<Key, Row>> shortened;  // rows of files that have less than they say
  };
  Status after_unclean_end(bool followed);
  Status count_end(Batch& batch) const;
  Result<Found> compare_rows_with_objects();
  Status compare_with_blob(Entry& entry, bool& differs, std::set<std::string>& wanted);
  Status note_damage(const Entry& entry, const char* what) const;
  Status drop_sums_of_unsealed();
  Result<std::set<InodeId>> nameless() const;
  Status want_what_waits(std::set<std::string>& wanted) const;
  Status drop_removals_of(const Found& found);
  Status clear_away(const std::set<std::string>& wanted);
  void mark_open_at_first_change();

  ObjectStore& store_;
  Table& table_;
  BlobStore& blobs_;
  bool keeps_all_ = false;
  const std::string boot_id_;
  const std::function<void(const std::string&)> log_;
  std::set<InodeId> sealed_;  // blobs whose row says so
};

}  // namespace cffs
