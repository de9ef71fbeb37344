#include "core/reorganise/repacking.h"

#include <string>
#include <utility>
#include <vector>

#include "core/base/pace.h"
#include "core/fs/rehousing.h"
#include "core/reorganise/readable_rows.h"
#include "core/table/table.h"

namespace cffs {

Result<Repacking::Done> Repacking::run() {
  if (fs_.rehousing().is_followed()) {
    return fail(
        EBUSY,
        "somebody follows the store, and no object of it is replaced: what comes is compressed as asked; "
        "ask again for what is there when nobody does");
  }
  std::vector<std::pair<CompositeId, std::uint64_t>> composites;
  NamespaceVisitor visitor;
  visitor.composite = [&](CompositeId id, const CompositeRow& row) {
    composites.emplace_back(id, row.size);
    return !stopped();
  };
  visitor.entries = [this](Key, const Row&) { return !stopped(); };
  CFFS_TRY_VOID(scan_readable(fs_.table(), visitor));
  Done done;
  Pace pace(options_.bytes_per_second);
  std::uint64_t looked = 0, all = 0;
  for (const auto& [id, bytes] : composites) all += bytes;
  for (const auto& [id, bytes] : composites) {
    if (stopped()) break;
    const CompositeId composite = id;
    const auto packed =
        reorganiser_.exclusively([&] { return fs_.rehousing().pack(composite, *options_.compression); });
    const bool unreadable = !packed && (packed.error().is_damage() || packed.error().errno_value == ENOENT);
    if (!packed && !unreadable) return fail(packed.error());
    if (!packed) {
      fs_.log("composite " + std::to_string(id.value) + " stays as it is: " + packed.error().message());
    }
    if (packed && *packed) ++done.composites;
    looked += bytes;
    if (options_.on_progress) options_.on_progress({"packing", looked, all, WorkStep::kBytes});
    if (packed && *packed) pace.spent(bytes, [this] { return !stopped(); });
  }
  done.stopped = stopped();
  CFFS_TRY_VOID(fs_.sync());
  return done;
}

}  // namespace cffs
