#include <leveldb/cache.h>
#include <leveldb/db.h>

#include <charconv>
#include <string>

#include "core/base/undisturbed.h"
#include "core/object/leveldb_env.h"
#include "core/table/table.h"

namespace cffs {
namespace {

constexpr int kLevels = 7;  // LevelDB's

std::uint64_t number_of(leveldb::DB& db, const std::string& property) {
  std::string text;
  std::uint64_t value = 0;
  if (undisturbed([&] { return db.GetProperty(property, &text); }))
    (void)std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

std::string Table::library_log() const { return env_->own_log(); }

Table::Activity Table::activity() const {
  Activity a;
  for (int level = 0; level < kLevels; ++level)
    a.files.push_back(
        number_of(*db_, std::string("leveldb.num-files-at-level").append(std::to_string(level))));
  const LevelDbEnv::Traffic traffic = env_->traffic();
  a.block_reads = traffic.block_reads;
  a.block_read_bytes = traffic.block_read_bytes;
  a.file_bytes_written = traffic.table_bytes_written;
  a.log_bytes = env_->log_bytes();
  a.log_bytes_written = traffic.log_bytes_written;
  if (values_) a.value_bytes_written = values_->bytes_written();
  a.writes = writes_.load(std::memory_order_relaxed);
  a.block_cache_bytes = cache_->TotalCharge();
  // LevelDB counts its cache with the rows in memory, and a moment later.
  const std::uint64_t both = number_of(*db_, "leveldb.approximate-memory-usage");
  a.memtable_bytes = both > a.block_cache_bytes ? both - a.block_cache_bytes : 0;
  return a;
}

}  // namespace cffs
