#include "core/inspect/statistics_json.h"

#include <nlohmann/json.hpp>
#include <string>

#include "grouping/policy.h"

namespace cffs {

std::string statistics_json(const Statistics& s, const std::string& transport) {
  nlohmann::ordered_json json = {
      {"files", s.files},
      {"directories", s.directories},
      {"symlinks", s.symlinks},
      {"specials", s.specials},
      {"names", s.names},
      {"file_bytes", s.file_bytes},
      {"empty_files", s.empty_files},
      {"inline_files", s.inline_files},
      {"inline_bytes", s.inline_bytes},
      {"member_files", s.member_files},
      {"member_bytes", s.member_bytes},
      {"sharing_files", s.sharing_files},
      {"shared_bytes", s.shared_bytes()},
      {"composites", s.composites},
      {"compression", s.compression},
      {"stored_bytes", s.stored_bytes},
      {"composite_bytes", s.composite_bytes},
      {"live_bytes", s.live_bytes},
      {"freed_bytes", s.freed_bytes},
      {"blobs", s.blobs},
      {"sealed_blobs", s.sealed_blobs},
      {"blob_bytes", s.blob_bytes},
      {"objects", s.objects},
      {"object_bytes", s.object_bytes},
      {"reserve_bytes", s.reserve_bytes},
      {"value_log_bytes", s.value_log_bytes},
      {"staged_directories", s.staged_directories},
      {"pending_removals", s.pending_removals},
      {"known_inodes", s.known_inodes},
      {"read_ahead_bytes", s.read_ahead.asked},
      {"read_ahead_used_bytes", s.read_ahead.used},
      {"break_even_bytes", s.read_ahead.break_even},
      {"frames_decompressed", s.frames.decompressed},
      {"frames_decompressed_bytes", s.frames.plain_bytes},
      {"frames_decompressed_ns", s.frames.nanoseconds},
      {"frames_in_memory", s.frames.found},
      {"backing_total_bytes", s.backing.total_bytes},
      {"backing_free_bytes", s.backing.free_bytes},
      {"backing_available_bytes", s.backing.available_bytes},
      {"backing_total_inodes", s.backing.total_inodes},
      {"backing_free_inodes", s.backing.free_inodes},
  };
  for (const auto& [policy, of] : s.by_policy) {
    json["composites_by_policy"][std::string(grouping::name_of(grouping::PolicyId{policy}))] = {
        {"composites", of.composites}, {"bytes", of.bytes}, {"stored_bytes", of.stored_bytes}};
  }
  for (const RoomKind& room : s.layout.rooms) {
    json["regions"].push_back({{"kind", room.kind},
                               {"regions", room.regions},
                               {"bytes", room.bytes},
                               {"free_bytes", room.free_bytes},
                               {"free_runs", room.free_runs}});
  }
  if (!s.layout.rooms.empty()) json["extents"] = s.layout.extents;
  if (s.near_copies) {
    json["local_cache"] = {{"directory", s.near_copies->directory}, {"in_use", s.near_copies->is_ours},
                           {"bytes", s.near_copies->bytes},         {"most_bytes", s.near_copies->most_bytes},
                           {"pages_found", s.near_copies->found},   {"pages_missed", s.near_copies->missed},
                           {"damaged", s.near_copies->damaged}};
  }
  if (!transport.empty()) json["transport"] = transport;
  return json.dump(2);
}

}  // namespace cffs
