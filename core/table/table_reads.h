// How the table reads: every block verified, LevelDB's errors as ours. Private to the folder.
#pragma once

#include <leveldb/options.h>
#include <leveldb/slice.h>
#include <leveldb/status.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/table/key.h"

namespace leveldb {
class DB;
}

namespace cffs {

inline leveldb::Slice slice(std::string_view s) { return {s.data(), s.size()}; }
Error to_error(const leveldb::Status& status);
// The same of a read: `corruption` also where the medium does not give the block. A shortage never is.
Error read_error(const leveldb::Status& status);
leveldb::ReadOptions checked_reads();
// Calls visit for the rows from `first` to `last` until it returns false. A block that cannot be read ends it; with `past_damage`
// it goes on behind that, and the error comes at the end.
Status scan_rows(leveldb::DB& db, const leveldb::ReadOptions& reads, Key first, Key last, bool past_damage,
                 const std::function<bool(Key, std::string_view)>& visit);
Result<std::optional<std::string>> get_value(leveldb::DB& db, const leveldb::ReadOptions& reads, Key key);

}  // namespace cffs
