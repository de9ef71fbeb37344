#include "core/table/files_of_records.h"

#include <string_view>
#include <utility>

#include "core/table/key.h"
#include "core/table/row.h"
#include "core/table/table.h"

namespace cffs {

Result<std::map<std::uint32_t, MemberFiles>> files_of_records(const Table& table, CompositeId id) {
  std::map<std::uint32_t, MemberFiles> rows;
  const auto note = [&rows](Key key, std::string_view value) {
    if (row_kind(key, value) != RowKind::member_files) return true;
    if (auto row = decode_member_files(value))
      rows.emplace(static_cast<std::uint32_t>(key.lower - 1), std::move(*row));
    return true;
  };
  CFFS_TRY_VOID(table.scan(Key::member_files(id, 0), {id.value, ~std::uint64_t{0}}, note));
  return rows;
}

}  // namespace cffs
