// How long the table's log and manifest were when the store was closed: beside them, so that one that was cut short is told from one that
// ends there.
//
// What it says stays true: logs and manifests only grow, and their numbers too, so nobody has to take it back, and whoever does not know it may
// change the table behind it. It is written after all that it names is durable, and not synced: one that did not reach the medium is the one
// before, or none, and then the table is judged by its own notes alone (core/table/replay_check.h).
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/object/object_store.h"

namespace cffs {

inline constexpr const char* kCloseNote = "closed";  // in the table's folder

struct CloseNote {
  std::uint64_t manifest = 0, manifest_bytes = 0;
  std::map<std::uint64_t, std::uint64_t> logs;  // number: bytes that were durable
};

std::string encode_close_note(const CloseNote& note);
// nullopt: not one, or torn.
std::optional<CloseNote> decode_close_note(std::string_view bytes);

// nullopt: there is none, or none that can be used. An error: memory or descriptors were short just then, and without it a log that was cut
// off looks whole.
Result<std::optional<CloseNote>> read_close_note(ObjectStore& store, const std::string& folder);
// Of a table that nobody has open any more, whose logs are durable up to `logs`.
Status write_close_note(ObjectStore& store, const std::string& folder,
                        const std::map<std::uint64_t, std::uint64_t>& logs);
// A table that is made anew begins its numbers again.
Status remove_close_note(ObjectStore& store, const std::string& folder);

// Of an object MANIFEST-000004 of the folder; 0: it is none.
std::uint64_t manifest_number(std::string_view name, std::string_view folder);

}  // namespace cffs
