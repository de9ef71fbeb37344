#include "core/table/checkpoint.h"

#include <algorithm>

#include "core/base/checksum.h"
#include "core/object/log_filler.h"
#include "core/table/table_files.h"
#include "core/table/table_log.h"

namespace cffs {
namespace {

constexpr std::string_view kCheckpointMagic = "cffsCKPT";
constexpr std::uint32_t kCheckpointVersion = 1;
constexpr std::size_t kCheckpointHeader = 8 + 4 + 4 + 8;  // magic, version, bytes of the body, its checksum
constexpr std::uint64_t kMostSequence = std::uint64_t{1} << 56;  // beyond all that count up to it
constexpr std::uint32_t kLongestBody = 64u << 10;
constexpr std::string_view kCheckpointFolder = "table";

}  // namespace

std::string encode_checkpoint(const Checkpoint& checkpoint) {
  std::string body;
  ByteWriter w(body);
  w.varint(checkpoint.sequence);
  w.varint(checkpoint.oldest);
  w.u8(checkpoint.kept ? 1 : 0);
  w.varint(checkpoint.keep_ms);
  w.svarint(checkpoint.at_ns);
  w.varint(checkpoint.interval_ms);
  w.varint(checkpoint.files ? *checkpoint.files + 1 : 0);
  w.string(checkpoint.table.manifest);
  w.varint(checkpoint.table.manifest_bytes);
  w.varint(checkpoint.table.logs.size());
  for (const auto& [name, bytes] : checkpoint.table.logs) {
    w.string(name);
    w.varint(bytes);
  }
  std::string whole(kCheckpointMagic);
  ByteWriter head(whole);
  head.u32(kCheckpointVersion);
  head.u32(static_cast<std::uint32_t>(body.size()));
  head.u64(checksum(body));
  return whole + body;
}

Result<Checkpoint> decode_checkpoint(std::string_view bytes) {
  const auto damaged = [] { return fail(Error::corruption("checkpoint is damaged")); };
  if (!bytes.starts_with(kCheckpointMagic) || bytes.size() < kCheckpointHeader) return damaged();
  ByteReader head(bytes.substr(kCheckpointMagic.size()));
  if (head.u32() != kCheckpointVersion) {
    return fail(
        Error::usage("checkpoint: its format is that of a later version of cffs; follow with that one"));
  }
  const std::uint32_t length = head.u32();
  const std::uint64_t sum = head.u64();
  if (length > bytes.size() - kCheckpointHeader) return damaged();
  const std::string_view body = bytes.substr(kCheckpointHeader, length);
  if (checksum(body) != sum) return damaged();
  ByteReader r(body);
  Checkpoint c;
  c.sequence = r.varint();
  c.oldest = r.varint();
  c.kept = r.u8() != 0;
  c.keep_ms = r.varint();
  c.at_ns = r.svarint();
  c.interval_ms = r.varint();
  if (const std::uint64_t files = r.varint(); files > 0) c.files = files - 1;
  c.table.manifest = r.string();
  c.table.manifest_bytes = r.varint();
  for (std::uint64_t left = r.varint(); left > 0 && r.ok(); --left) {
    std::string name(r.string());
    c.table.logs.emplace_back(std::move(name), r.varint());
  }
  if (!r.ok() || !r.at_end() || c.sequence > kMostSequence) return damaged();
  if (!c.table.manifest.starts_with("table/MANIFEST-")) return damaged();
  for (const auto& log : c.table.logs) {
    if (table_file_number(log.first, kCheckpointFolder, kLogEnding) == 0) return damaged();
  }
  return c;
}

Result<Checkpoint> read_checkpoint(ObjectStore& store) {
  constexpr int kTries = 3;  // one is being written
  for (int attempt = 0;; ++attempt) {
    CFFS_TRY_VOID(store.look_again_at(kCheckpointObject));
    const auto object = store.open(kCheckpointObject);
    if (!object && (object.error().errno_value == ENOENT || object.error().is_damage())) return Checkpoint();
    if (!object) return fail(object.error());
    std::string bytes(kCheckpointHeader + kLongestBody, '\0');
    const auto n = (*object)->read_at(0, as_writable_bytes(bytes));
    if (!n && n.error().is_damage()) return Checkpoint();
    if (!n) return fail(n.error());
    bytes.resize(*n);
    auto checkpoint = decode_checkpoint(bytes);
    if (checkpoint || checkpoint.error().kind != ErrorKind::corruption) return checkpoint;
    if (attempt == kTries) return Checkpoint();
  }
}

Status write_checkpoint(ObjectStore& store, const Checkpoint& checkpoint) {
  CFFS_TRY(const auto object, store.create(kCheckpointObject, ObjectStore::Create::keep));
  CFFS_TRY_VOID(object->write_at(0, as_bytes(encode_checkpoint(checkpoint))));
  return object->sync();
}

Result<TableState> table_state(ObjectStore& store, std::vector<std::pair<std::string, std::uint64_t>> logs) {
  TableState state;
  state.logs = std::move(logs);
  CFFS_TRY(const auto current, store.open(std::string(kCheckpointFolder) + "/CURRENT"));
  CFFS_TRY(std::string name, read_whole(*current));
  if (!name.ends_with('\n')) return fail(Error::corruption("table/CURRENT names no manifest"));
  name.pop_back();
  state.manifest = std::string(kCheckpointFolder) + "/" + name;
  CFFS_TRY(const auto manifest, store.open(state.manifest));
  CFFS_TRY(const ObjectInfo info, manifest->info());
  state.manifest_bytes = info.size;
  return state;
}

Result<std::uint64_t> table_sign(ObjectStore& store) {
  CFFS_TRY(const TableState table, table_state_at_rest(store));
  std::string sign = table.manifest + std::to_string(table.manifest_bytes);
  std::string block(kLogBlock, '\0');
  for (const auto& [name, bytes] : table.logs) {
    sign += name;
    // Each block of a log begins with the head of a record, and each of the room behind the last one with the room's text: so the last
    // block that was written to is found by halves.
    CFFS_TRY(const auto log, store.open(name));
    std::uint64_t written = 0, beyond = (bytes + kLogBlock - 1) / kLogBlock;
    while (beyond - written > 1) {
      const std::uint64_t middle = written + (beyond - written) / 2;
      std::string head(kLogFiller.size(), '\0');
      CFFS_TRY(const std::size_t n, log->read_at(middle * kLogBlock, as_writable_bytes(head)));
      const bool used = n == head.size() && head != kLogFiller;
      (used ? written : beyond) = middle;
    }
    CFFS_TRY(const std::size_t n, log->read_at(written * kLogBlock, as_writable_bytes(block)));
    sign += std::to_string(written);
    sign.append(block, 0, n);
  }
  return checksum(sign);
}

Result<TableState> table_state_at_rest(ObjectStore& store) {
  CFFS_TRY(const auto names, store.list(kCheckpointFolder));
  std::vector<std::pair<std::string, std::uint64_t>> logs;
  for (const std::string& name : names) {
    if (table_file_number(name, kCheckpointFolder, kLogEnding) == 0) continue;
    CFFS_TRY(const auto log, store.open(name));
    CFFS_TRY(const ObjectInfo info, log->info());
    logs.emplace_back(name, info.size);
  }
  return table_state(store, std::move(logs));
}

}  // namespace cffs
