#include "core/follow/changed_keys.h"

#include <algorithm>
#include <map>

#include "core/table/table_files.h"
#include "core/table/table_log.h"

namespace cffs {
namespace {

using Ends = std::map<std::uint64_t, std::uint64_t>;  // number of a log: bytes

std::uint64_t log_number(std::string_view name) { return table_file_number(name, "table", kLogEnding); }

Ends ends_of(const TableState& state) {
  Ends ends;
  for (const auto& [name, bytes] : state.logs) ends[log_number(name)] = bytes;
  return ends;
}

// False: it is no batch of this table's.
bool collect(std::string_view record, std::set<Key>& keys) {
  return visit_changes(record, [&](std::string_view key, std::optional<std::string_view>) {
    if (key.size() != kKeyBytes) return false;
    keys.insert(decode_key(key));
    return true;
  });
}

}  // namespace

Result<std::optional<std::set<Key>>> changed_keys(ObjectStore& store, const TableState& from,
                                                  const TableState& to) {
  const Ends before = ends_of(from), after = ends_of(to);
  if (before.empty()) return std::optional<std::set<Key>>();
  std::set<Key> keys;
  CFFS_TRY(const auto names, store.list("table"));
  std::set<std::uint64_t> there;
  for (const std::string& name : names) {
    if (const std::uint64_t number = log_number(name); number > 0) there.insert(number);
  }
  for (const auto& [number, bytes] : before) {
    if (!there.contains(number)) return std::optional<std::set<Key>>();
  }
  const std::uint64_t last = after.empty() ? ~std::uint64_t{0} : after.rbegin()->first;
  for (const std::uint64_t number : there) {
    if (number < before.begin()->first || number > last) continue;
    const auto old = before.find(number);
    const auto now = after.find(number);
    const std::uint64_t begin = old == before.end() ? 0 : old->second;
    if (now != after.end() && now->second <= begin) continue;
    auto log = store.open(table_file_name("table", number, kLogEnding));
    if (!log && log.error().errno_value == ENOENT) return std::optional<std::set<Key>>();
    if (!log) return fail(log.error());
    CFFS_TRY(std::string bytes, read_whole(**log));
    if (now != after.end() && bytes.size() > now->second) bytes.resize(now->second);
    const LogContent content = read_log(bytes);
    if (content.damaged()) return std::optional<std::set<Key>>();  // behind that there may be others
    for (const LogRecord& record : content.before) {
      if (record.end > begin && !collect(record.bytes, keys)) return std::optional<std::set<Key>>();
    }
  }
  return std::optional(std::move(keys));
}

}  // namespace cffs
