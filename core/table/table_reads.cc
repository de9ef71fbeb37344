#include "core/table/table_reads.h"

#include <leveldb/db.h>

#include <algorithm>
#include <array>
#include <memory>

#include "core/base/undisturbed.h"

namespace cffs {
namespace {

std::string_view view(const leveldb::Slice& s) { return {s.data(), s.size()}; }

}  // namespace

Error to_error(const leveldb::Status& status) {
  if (status.IsCorruption()) return Error::corruption("table: " + status.ToString());
  // LevelDB keeps the text of an error, not its number; those that callers act on are recognised by it.
  const std::string text = status.ToString();
  const auto says = [&](const char* words) { return text.find(words) != std::string::npos; };
  const int errno_value = says("No space left")         ? ENOSPC
                          : says("Disk quota exceeded") ? EDQUOT
                          : says("Too many open files") ? EMFILE
                          : says("Cannot allocate")     ? ENOMEM
                          : says("timed out")           ? ETIMEDOUT
                          : says("endpoint shutdown")   ? ESHUTDOWN
                                                        : EIO;
  return Error::os(errno_value, "table: " + text);
}

Error read_error(const leveldb::Status& status) {
  Error error = to_error(status);
  if (error.errno_value != EIO) return error;
  // EIO, EUCLEAN, EBADMSG, ENODATA (Error::is_damage()); anything else that LevelDB tells of is not about what the block holds.
  constexpr std::array<std::string_view, 4> kNotGiven = {"Input/output error", "Structure needs cleaning",
                                                         "Bad message", "No data available"};
  const bool not_given = std::any_of(kNotGiven.begin(), kNotGiven.end(), [&](std::string_view words) {
    return error.context.find(words) != std::string::npos;
  });
  if (not_given) error.kind = ErrorKind::corruption;
  return error;
}

leveldb::ReadOptions checked_reads() {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  return options;
}

Status scan_rows(leveldb::DB& db, const leveldb::ReadOptions& reads, Key first, Key last, bool past_damage,
                 const std::function<bool(Key, std::string_view)>& visit) {
  const std::unique_ptr<leveldb::Iterator> it(undisturbed([&] { return db.NewIterator(reads); }));
  const auto begin = [&] { it->Seek(slice(EncodedKey(first).view())); };
  const auto next = [&] { it->Next(); };
  // LevelDB goes on behind a block that it cannot read, and tells at the end: who had enough by then would never know.
  for (undisturbed(begin); it->Valid() && (past_damage || it->status().ok()); undisturbed(next)) {
    if (it->key().size() != kKeyBytes) return fail(Error::corruption("table: a key of the wrong length"));
    const Key key = decode_key(view(it->key()));
    if (key > last || !visit(key, view(it->value()))) break;
    if (key == last) break;  // the next may lie behind the deletion marks of all that was removed there
  }
  if (!it->status().ok()) return fail(read_error(it->status()));
  return {};
}

Result<std::optional<std::string>> get_value(leveldb::DB& db, const leveldb::ReadOptions& reads, Key key) {
  std::string value;
  const EncodedKey encoded(key);
  const leveldb::Status status = undisturbed([&] { return db.Get(reads, slice(encoded.view()), &value); });
  if (status.IsNotFound()) return std::optional<std::string>();
  if (!status.ok()) return fail(read_error(status));
  return std::optional<std::string>(std::move(value));
}

}  // namespace cffs
