// How a store is made: table, root and superblock; and what a place says that a store was to be, where one was begun.
#include <unistd.h>

#include <random>

#include "core/fs/file_count.h"
#include "core/fs/file_system.h"
#include "core/fs/store_format.h"
#include "core/fs/unfinished_format.h"
#include "core/object/store_use.h"
#include "core/table/system_rows.h"
#include "core/table/table.h"

namespace cffs {

Status FileSystem::format(ObjectStore& store, const StoreFormat& wanted, const Clock& clock) {
  StoreFormat format = wanted;
  format.created_ns = clock.now_ns();
  std::random_device random;
  format.uuid.clear();
  for (int i = 0; i < 32; ++i) format.uuid += "0123456789abcdef"[random() % 16];

  if (!format.name_hash) {
    CFFS_TRY(const SipKey key, random_sip_key());
    format.name_hash = NameHash::keyed(key);
  }
  CFFS_TRY_VOID(check_format(format));
  CFFS_TRY_VOID(
      check_formattable(store));  // a place that is refused is left as it is, without a lock of ours
  CFFS_TRY(const auto lock, use_alone(store, this_process()));
  CFFS_TRY_VOID(begin_format(store));
  // The table first: a store without a superblock is no store, and what a crash in between leaves the next format takes away.
  TableOptions options;
  options.create = true;
  options.values_apart = format.values_apart;
  CFFS_TRY(const auto table, Table::open(store, options));
  Inode root;
  root.ino = kRootInode;
  root.mode = S_IFDIR | 0755;
  root.uid = ::geteuid();
  root.gid = ::getegid();
  root.nlink = 2;
  root.atime_ns = root.mtime_ns = root.ctime_ns = root.btime_ns = format.created_ns;
  Batch batch;
  batch.put(Key::null_name(kRootInode), encode_single_row("", root));
  FileCount::format(batch);
  if (format.compression != Compression{})
    batch.put(system_key(SystemField::compression), encode_compression(format.compression));
  if (format.dedupe) batch.put(system_key(SystemField::sharing), encode_sharing(true));
  CFFS_TRY_VOID(table->write(batch));
  CFFS_TRY_VOID(table->sync());
  return write_format(store, format);
}

// Of rows: the superblock does not say it.
Result<std::optional<StoreFormat>> FileSystem::begun_format(ObjectStore& store) {
  CFFS_TRY(const bool is_begun, store.exists(kUnfinishedSuperblock));
  if (!is_begun) return std::optional<StoreFormat>();
  CFFS_TRY(const auto lock, use_alone(store, this_process()));
  auto format = read_begun_format(store);
  if (!format) return std::optional<StoreFormat>();
  TableOptions options;
  options.values_apart = format->values_apart;
  const auto table = Table::open(store, options);
  if (!table) return std::optional<StoreFormat>();
  if (const auto row = (*table)->get(system_key(SystemField::compression)); row && *row)
    format->compression = decode_compression(**row).value_or(Compression{});
  if (const auto row = (*table)->get(system_key(SystemField::sharing)); row && *row)
    format->dedupe = decode_sharing(**row).value_or(false);
  format->name_hash.reset();
  return format;
}

}  // namespace cffs
