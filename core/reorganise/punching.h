// Punching: gives back the room of members that are gone, where they are, as holes. It takes no room itself, but for composites that are packed, which
// are written anew with zeros where there is room for that (docs/COMPRESSION.md): it is for a medium that is nearly full, where a compaction may find none. Composites stay as wasteful as they were, and are compacted when there is room.
//
// What is punched must never be wanted again:
//   - by its row: none names it in one snapshot of the table, in which the members that are found add up to what the composite's
//     row counts; and that is durable before anything is punched, or a power cut would bring the row back;
//   - by who has a file without a name open: no node is at this place;
//   - by a backup: none holds a moment.
// Headers and meta of records stay, so that composites can be followed from record to record.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "core/fs/file_system.h"
#include "core/fs/freed_composites.h"
#include "core/packed/compression.h"

namespace cffs {

class TableSnapshot;

class Punching {
 public:
  // Holes begin and end at multiples of this. Bytes.
  static constexpr std::uint64_t kBlockBytes = 4096;
  // So many composites are a turn: each is open until the table is synced.
  static constexpr std::size_t kAtOnce = 16;

  explicit Punching(FileSystem& fs, std::uint64_t block_bytes = kBlockBytes)
      : fs_(fs), block_bytes_(block_bytes) {}

  // Composites of which a block or more is freed that was not when run() last was through with them, by one scan of the namespace,
  // as long as `go_on` says so.
  Result<std::vector<FreedComposites::Freed>> find(const std::function<bool()>& go_on) const;
  struct Done {
    std::uint64_t read = 0, punched = 0;  // bytes
    std::vector<CompositeId> later;       // of these, something may be punched another time
    bool held = false;                    // by a moment or by who follows: nothing can be, of any
  };
  static std::vector<CompositeId> ids_of(const std::vector<FreedComposites::Freed>& freed) {
    std::vector<CompositeId> ids;
    for (const auto& [id, bytes] : freed) ids.push_back(id);
    return ids;
  }
  // A turn. One composite that cannot be followed or punched keeps no other from it.
  Result<Done> run(std::span<const CompositeId> ids);
  // Where the backend knows no holes, nothing is done any more.
  bool useless() const { return useless_; }

 private:
  struct Range {
    std::uint64_t offset = 0, length = 0;  // bytes
  };
  struct Holes {
    CompositeId id;
    std::uint64_t read = 0, freed = 0;  // bytes; the composite's, and of it what its row counts as freed
    std::shared_ptr<Object> object;
    std::vector<Range> ranges;
    bool all = true;  // nobody uses what no row names
    Compression packed;
  };
  // Of a packed composite's plain bytes so many, one part of this many, are worth writing it anew.
  static constexpr std::uint64_t kLeastOfPacked = 16;
  Result<Holes> look_packed(Holes holes, const std::vector<Range>& dead) const;
  Result<std::uint64_t> write_without(const Holes& holes);
  Result<Holes> look(CompositeId id, const TableSnapshot& rows) const;
  std::uint64_t seen(CompositeId id) const;
  Range blocks_of(std::uint64_t offset, std::uint64_t length) const;
  Result<std::uint64_t> punch(const Holes& holes);

  FileSystem& fs_;
  const std::uint64_t block_bytes_;
  bool useless_ = false;
  std::map<CompositeId, std::uint64_t>
      seen_;  // how much was freed of those that run() was through with, bytes
};

}  // namespace cffs
