// The calls that the crash explorer combines, over a small fixed tree: small files in the table and in a composite, a large one
// in place, directories, and names that are free at first.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/model/library_surface.h"
#include "tests/model/reference.h"

namespace cffs::test {

struct Call {
  enum class Kind {
    change,
    fsync,
    sync,
    consolidate,
    compact,
    punch,
    regroup_none,
    regroup_directory,
    pack,
    unpack,
    import,
    close,
    kill
  };
  std::string name;
  Kind kind = Kind::change;
  std::function<int(Surface&)> change;  // of Kind::change
  std::string file;                     // fsync: of this; change: a rename of this over an existing name
};

// Every one of them; a number says which, so they keep their order.
const std::vector<Call>& calls();
// Bytes of a file that no two places share.
std::string pattern(std::size_t length, int version);
// The tree that every workload begins with.
void build(Surface& tree);
// How the small store is made: a few KB are staged in the table, up to 16 KiB go to composites.
StoreFormat small_format();
// Two files at once, as an import brings them.
Status import_two(FileSystem& fs);
void import_two(Reference& reference);

}  // namespace cffs::test
