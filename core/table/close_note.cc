#include "core/table/close_note.h"

#include <cerrno>
#include <charconv>

#include "core/base/bytes.h"
#include "core/base/sealed_bytes.h"

namespace cffs {
namespace {

constexpr std::string_view kNoteMagic = "cffsCLSD";
constexpr std::uint32_t kNoteFormat = 1;
constexpr std::string_view kManifestPrefix = "MANIFEST-";

std::string note_name(const std::string& folder) { return folder + "/" + kCloseNote; }

}  // namespace

std::string encode_close_note(const CloseNote& note) {
  std::string bytes = begin_sealed(kNoteMagic, kNoteFormat);
  ByteWriter w(bytes);
  w.u64(note.manifest);
  w.u64(note.manifest_bytes);
  w.varint(note.logs.size());
  for (const auto& [number, end] : note.logs) {
    w.u64(number);
    w.u64(end);
  }
  seal(bytes);
  return bytes;
}

std::optional<CloseNote> decode_close_note(std::string_view bytes) {
  const auto body = unsealed(bytes, kNoteMagic);
  if (!body) return {};
  ByteReader r(*body);
  if (r.u32() != kNoteFormat) return {};
  CloseNote note;
  note.manifest = r.u64();
  note.manifest_bytes = r.u64();
  for (std::uint64_t logs = r.varint(); logs > 0 && r.ok(); --logs) {
    const std::uint64_t number = r.u64();
    note.logs[number] = r.u64();
  }
  if (!r.ok() || !r.at_end()) return {};
  return note;
}

Result<std::optional<CloseNote>> read_close_note(ObjectStore& store, const std::string& folder) {
  const auto object = store.open(note_name(folder));
  const auto bytes = object ? read_whole(**object) : Result<std::string>(fail(object.error()));
  if (!bytes && bytes.error().is_shortage()) return fail(bytes.error());
  return bytes ? decode_close_note(*bytes) : std::nullopt;
}

Status write_close_note(ObjectStore& store, const std::string& folder,
                        const std::map<std::uint64_t, std::uint64_t>& logs) {
  CFFS_TRY(const auto current, store.open(folder + "/CURRENT"));
  CFFS_TRY(std::string name, read_whole(*current));
  if (name.ends_with('\n')) name.pop_back();
  CloseNote note;
  note.logs = logs;
  note.manifest = manifest_number(folder + "/" + name, folder);
  CFFS_TRY(const auto manifest, store.open(folder + "/" + name));
  CFFS_TRY(const ObjectInfo info, manifest->info());
  note.manifest_bytes = info.size;
  CFFS_TRY(const auto object, store.create(note_name(folder), ObjectStore::Create::truncate));
  return object->write_at(0, as_bytes(encode_close_note(note)));
}

Status remove_close_note(ObjectStore& store, const std::string& folder) {
  Status done = store.remove(note_name(folder));
  return !done && done.error().errno_value == ENOENT ? Status() : done;
}

std::uint64_t manifest_number(std::string_view name, std::string_view folder) {
  if (!name.starts_with(folder)) return 0;
  name.remove_prefix(std::min(folder.size() + 1, name.size()));
  if (!name.starts_with(kManifestPrefix)) return 0;
  name.remove_prefix(kManifestPrefix.size());
  std::uint64_t number = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
  return read.ec == std::errc() && read.ptr == name.data() + name.size() ? number : 0;
}

}  // namespace cffs
