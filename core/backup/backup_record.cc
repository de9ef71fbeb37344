#include "core/backup/backup_record.h"

#include "core/base/bytes.h"
#include "core/base/checksum.h"
#include "core/base/sealed_bytes.h"

namespace cffs {
namespace {

constexpr std::string_view kMagic = "cffs.backup\n";
constexpr std::uint32_t kFormat = 1;
constexpr const char* kTableFolder = "table";
constexpr const char* kCurrent = "table/CURRENT";

tl::unexpected<Error> malformed() { return fail(Error::corruption("the record of this backup is damaged")); }

}  // namespace

std::string encode_backup_record(const BackupRecord& record) {
  std::string bytes = begin_sealed(kMagic, kFormat);
  ByteWriter w(bytes);
  w.string(record.store);
  w.u64(static_cast<std::uint64_t>(record.at_ns));
  w.u64(record.unclean_ends);
  w.u64(record.table);
  w.varint(record.damaged.size());
  for (const std::string& name : record.damaged) w.string(name);
  seal(bytes);
  return bytes;
}

Result<BackupRecord> decode_backup_record(std::string_view bytes) {
  const auto body = unsealed(bytes, kMagic);
  if (!body) return malformed();
  ByteReader r(*body);
  if (r.u32() != kFormat) {
    return fail(Error::usage("a newer cffs made this backup: use that, or name another place"));
  }
  BackupRecord record;
  record.store = r.string();
  record.at_ns = static_cast<std::int64_t>(r.u64());
  record.unclean_ends = r.u64();
  record.table = r.u64();
  const std::uint64_t damaged = r.varint();
  if (!r.ok() || damaged > r.remaining()) return malformed();
  for (std::uint64_t i = 0; i < damaged; ++i) record.damaged.emplace_back(r.string());
  if (!r.ok() || !r.at_end()) return malformed();
  return record;
}

Result<std::optional<BackupRecord>> read_backup_record(ObjectStore& store) {
  const auto object = store.open(kBackupObject);
  if (!object && object.error().errno_value == ENOENT) return std::optional<BackupRecord>();
  if (!object) return fail(object.error());
  CFFS_TRY(const std::string bytes, read_whole(**object));
  CFFS_TRY(BackupRecord record, decode_backup_record(bytes));
  return std::optional<BackupRecord>(std::move(record));
}

Result<std::uint64_t> table_fingerprint(ObjectStore& store) {
  CFFS_TRY(const auto names, store.list(kTableFolder));
  std::string text;
  for (const std::string& name : names) {
    CFFS_TRY(const auto object, store.open(name));
    CFFS_TRY(const ObjectInfo info, object->info());
    text += name;
    text += ' ';
    text += std::to_string(info.size);
    text += '\n';
  }
  CFFS_TRY(const auto current, store.open(kCurrent));
  CFFS_TRY(const std::string manifest, read_whole(*current));
  text += manifest;
  return checksum(text);
}

}  // namespace cffs
