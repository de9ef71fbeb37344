// STORE[:PATH], as commands take it: a store, and a place in its tree. Paths hold colons, too, so (docs/BROWSING.md):
//  - an address in a pool ends where the first ":/" begins; what is behind that colon is the path;
//  - what is there under the whole text is the store itself, and no path was given;
//  - else the longest part before a colon where a store is; where none is, the longest where anything is.
// Who means a shorter one writes a slash before the colon: "a/:b" is never anything but "b" in "a".
#pragma once

#include <functional>
#include <string>

namespace cffs {

struct StorePlace {
  std::string store;
  std::string path;       // in its tree; "" is the root
  bool has_path = false;  // there was a colon
  // As it was written, but of this file below it (`below` relative to it; "" is itself): what can be given to a command again.
  std::string name_of(const std::string& below) const;
};

// What is at a path of this machine.
enum class PlaceKind { nothing, something, store };
StorePlace split_store_place(const std::string& text,
                             const std::function<PlaceKind(const std::string&)>& kind_of);
// As this machine has it.
StorePlace split_store_place(const std::string& text);

}  // namespace cffs
