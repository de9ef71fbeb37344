// The catalogue: a copy, beside the table, of what the table says about files, for whoever has lost the table (cffs salvage).
//
// Records of composites tell names, attributes and data of their members, as they were when the records were written, and nobody
// tells the names of directories and blobs, or of symbolic links, devices and empty files at all. So all rows with entries are copied, as
// they stand, and a little of inline data. It is a hint: nothing that a store does depends on it, and an older one is worth
// having. It is as old as it says, and whole or named as damaged.
//
// An object of chunks (docs/ON_DISK_FORMAT.md, "The catalogue"). Each says what it is, how long, and of which catalogue, and has checksums of
// its own, so that damage costs what it hit: a reader goes on with the next chunk. It is written under another name, synced, and renamed;
// the last chunk says that it is the last. A reader takes every byte for a stranger's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/object/object_store.h"
#include "core/table/row.h"

namespace cffs {

inline constexpr const char* kCatalogueObject = "catalogue";
inline constexpr const char* kUnfinishedCatalogue = "catalogue.unfinished";

// What it is a copy of. Files that were made later are not in it; so are none that were removed before.
struct CatalogueMoment {
  std::int64_t at_ns = 0;        // when it was begun, by the store's clock
  std::uint64_t next_inode = 0;  // numbers from here on were given later
  std::uint64_t inodes = 0;      // of the store then; 0: not known
  friend bool operator==(const CatalogueMoment&, const CatalogueMoment&) = default;
};

class CatalogueWriter {
 public:
  // `to` is empty, and the caller's alone.
  CatalogueWriter(Object& to, const CatalogueMoment& moment) : to_(to), moment_(moment) {}

  // A row with entries, as the table has it: of this directory, or of this inode where its entry has no name. Rows come first.
  Status add_row(InodeId upper, std::string_view row);
  // A chunk of a file's inline data, as the table has it.
  Status add_data(InodeId file, std::uint64_t chunk, std::string_view bytes);
  // Durable on return, by the name that the object has.
  Status finish();
  std::uint64_t bytes() const { return bytes_; }  // written so far

 private:
  enum class Kind : std::uint32_t;
  Status begin_item(Kind kind, std::size_t bytes);
  Status flush();
  Status write_chunk(Kind kind, std::string_view payload);

  Object& to_;
  const CatalogueMoment moment_;
  std::string payload_;
  Kind kind_{};
  std::uint64_t chunks_ = 0, bytes_ = 0, synced_ = 0;

  friend class CatalogueReader;
};

// Either may be null.
struct CatalogueVisitor {
  std::function<void(InodeId upper, Row& row)> row;
  std::function<void(InodeId file, std::uint64_t chunk, std::string_view bytes)> data;
};

struct CatalogueReading {
  CatalogueMoment moment;
  bool whole = false;  // nothing is missing
  std::vector<std::string>
      damage;  // a sentence for each run of bytes that is no chunk, each row that makes no sense
};

// nullopt: there is none. An error: it cannot be opened, or no byte of it read; or memory or
// descriptors were short.
Result<std::optional<CatalogueReading>> read_catalogue(ObjectStore& store, const CatalogueVisitor& visitor);
// Of the first chunk alone; nullopt too where that is damaged.
Result<std::optional<CatalogueMoment>> catalogue_moment(ObjectStore& store);

}  // namespace cffs
