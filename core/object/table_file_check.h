// What LevelDB reads of a table file, judged before LevelDB acts on it (leveldb/doc/table_format.md).
//
// LevelDB holds a block against its checksum, and believes what has the right one: lengths that add up to more than 32 bits, keys
// without their eight bytes of sequence and type, blocks of 2^64 bytes, which it makes room for before it reads them. Checksums keep
// rot out, not a file that was written to do harm. So this holds every block against its own bounds, and every place that a block
// names against the file's. What has a wrong checksum passes: that LevelDB tells better.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace cffs {

// One file that was opened; its reads, in the order in which LevelDB makes them: the footer, the index, then, where there are any, the
// index of filters and the filter; and from then on blocks, from any thread.
class TableFileCheck {
 public:
  // `most`: the bytes that reads of the file may end at, which is its size.
  explicit TableFileCheck(std::uint64_t most) : most_(most) {}

  // False: LevelDB must not see it. `read`: all that was asked for at `offset`.
  bool passes(std::uint64_t offset, std::string_view read);

 private:
  enum class Next : std::uint8_t { footer, index, filters, filter, blocks };
  bool footer_passes(std::string_view read);
  bool filters_pass(std::string_view contents);
  bool names_places(std::string_view contents) const;
  bool inside(std::uint64_t offset, std::uint64_t bytes) const;

  const std::uint64_t most_;
  // Changes while the file is opened, by one thread; where that broke off, whoever reads first moves on.
  std::atomic<Next> next_{Next::footer};
  std::uint64_t filters_at_ = 0;
  std::uint64_t filter_at_ = 0;
};

}  // namespace cffs
