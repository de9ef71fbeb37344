// A table file of LevelDB (leveldb/doc/table_format.md) that cannot be opened, since its footer or its index is damaged. Its rows lie in
// blocks, one behind the other, each with a checksum of its own: those that are whole are found without an index, and LevelDB's
// repair, which finds nothing without one, is given a file that has them. Whoever wrote the file is not trusted.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cffs {

struct WholeBlocks {
  std::string
      table;  // a table file of their rows, with their sequences; it has no filter, which what LevelDB writes anew has
  bool all =
      false;  // no row is missing: they reach from the first byte to where the filter says that rows end
};
// nullopt: none is whole.
std::optional<WholeBlocks> whole_blocks(std::string_view damaged);

}  // namespace cffs
