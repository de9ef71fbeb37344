// Where a backup is made: a new store beside the former one, which takes its place when it is whole. So whatever ends a backup
// early leaves the former one as it was.
#pragma once

#include <string>

#include "core/object/object_store.h"

namespace cffs {

class BackupPlace {
 public:
  virtual ~BackupPlace() = default;
  // Empty when the backup begins.
  virtual ObjectStore& fresh() = 0;
  // Null: this is the first one. Nothing in it is changed.
  virtual ObjectStore* former() = 0;
  // The new store has the former's object under the same name, as its own: the former one is about to go. EOPNOTSUPP where the
  // place cannot, and it has to be copied.
  virtual Status keep(const std::string& name) = 0;
  // The new store, which is durable, takes the former's place, at once and durably.
  virtual Status switch_over() = 0;
  // For messages.
  virtual std::string description() const = 0;
};

}  // namespace cffs
