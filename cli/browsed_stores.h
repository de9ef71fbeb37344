// Stores that are looked into without a mount: by one place after the other, each store opened once (docs/BROWSING.md).
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "core/backend/store_place.h"

namespace cffs::cli {

// A store for who only reads: by itself, or beside its writer, at its last checkpoint.
struct ReadStore {
  std::unique_ptr<ObjectStore> objects;
  std::unique_ptr<FileSystem> fs;
  std::shared_ptr<FileSystem> state;  // of one beside a writer: for who uses the parts of a FileSystem
  FileSystem& parts() const { return state ? *state : *fs; }
};
// Waits for the writer's checkpoint so long at most; where its mount can be seen from here it is asked for one. EBUSY: it is in use, and
// cannot be read beside its writer.
Result<ReadStore> open_store_to_read(const StoreName& store,
                                     std::chrono::milliseconds longest = std::chrono::seconds(30));

class BrowsedStores {
 public:
  struct Place {
    StorePlace place;
    FileSystem* fs = nullptr;
  };
  explicit BrowsedStores(bool foreign_owner) : foreign_owner_(foreign_owner) {}
  // `usage`: it is in a mount, where the ordinary `tool` does.
  Result<Place> at(const std::string& text, const std::string& tool);

 private:
  const bool foreign_owner_;
  std::map<std::string, ReadStore> open_;
};

// Names that a terminal gets have nothing in them that it would obey; others get them as they are.
class ShownNames {
 public:
  ShownNames();
  std::string operator()(const std::string& name) const;
  bool on_terminal() const { return terminal_; }
  std::size_t width() const;  // columns of the terminal

 private:
  const bool terminal_;
};

}  // namespace cffs::cli
