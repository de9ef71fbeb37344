// What a store's next user does about how the last one ended.
//
// A row says "in use since this boot". Found at open, it means that nobody closed the store: the daemon died, and the
// table's log has all it acknowledged; or, where the boot is another one, the machine did, and rows may be durable whose
// blobs are not.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "core/blob/blob_store.h"
#include "core/table/table.h"

namespace cffs {

class Recovery {
 public:
  Recovery(ObjectStore& store, Table& table, BlobStore& blobs, std::string boot_id,
           std::function<void(const std::string&)> log)
      : store_(store), table_(table), blobs_(blobs), boot_id_(std::move(boot_id)), log_(std::move(log)) {}

  // Mends what a power cut left, where there was one, and marks the store as open, unless it is only looked at.
  Status begin(bool looks_only);
  // To join the batch that closes the store.
  static void mark_closed(Batch& batch);

 private:
  Status after_power_cut();
  Status compare_with_blob(Entry& entry, bool& differs, std::set<std::string>& wanted);
  Status mark_open();

  ObjectStore& store_;
  Table& table_;
  BlobStore& blobs_;
  const std::string boot_id_;
  const std::function<void(const std::string&)> log_;
};

}  // namespace cffs
