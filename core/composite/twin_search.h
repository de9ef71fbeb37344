// Finds who has a content already, so that it is shared rather than written again (docs/DEDUPLICATION.md).
#pragma once

#include <optional>
#include <string_view>

#include "core/composite/composite_store.h"
#include "core/table/table.h"

namespace cffs {

class TwinSearch {
 public:
  TwinSearch(const Table& table, CompositeStore& composites) : table_(table), composites_(composites) {}

  // By which a content is found; nullopt: contents like this are not shared.
  std::optional<Key> key_of(std::string_view content) const;
  // A member with the same bytes, compared one by one. Holds nothing: by the time of a batch it may be gone, as CompositeAccounts::share()
  // then says. What cannot be read is shared by nobody.
  std::optional<Extent> find(std::string_view content) const;
  // The same for who has its key already.
  std::optional<Extent> find(Key key, std::string_view content) const;

 private:
  const Table& table_;
  CompositeStore& composites_;
};

}  // namespace cffs
