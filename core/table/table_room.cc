// What the table takes of its medium: how much it is, how much it may need at once, and giving back what erased rows hold.
#include <leveldb/db.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "core/base/undisturbed.h"
#include "core/object/leveldb_env.h"
#include "core/table/table.h"
#include "core/table/table_reads.h"

namespace cffs {
namespace {

constexpr std::uint64_t kLastUpper = ~std::uint64_t{0};  // of a key

}  // namespace

void Table::compact() {
  if (read_only_.load(std::memory_order_acquire)) return;
  undisturbed([&] { db_->CompactRange(nullptr, nullptr); });
}

void Table::shorten_log(std::uint64_t most) {
  constexpr std::uint64_t kTimes = 8;  // what is there beside the log: its failure would end all writing
  const std::uint64_t log = env_->log_bytes();
  if (log <= most || !writable()) return;
  const auto space = env_->space();
  if (!space || space->available_bytes < kTimes * log) return;
  const EncodedKey nobody(
      Key{kLastUpper, ~std::uint64_t{0}});  // LevelDB writes what is in memory first, whatever the range
  const leveldb::Slice range = slice(nobody.view());
  undisturbed([&] { db_->CompactRange(&range, &range); });
}

std::uint64_t Table::approximate_bytes(std::uint64_t first_upper, std::uint64_t end_upper) const {
  const EncodedKey first(Key{first_upper, 0});
  const EncodedKey end(Key{end_upper, 0});
  const leveldb::Range range(slice(first.view()), slice(end.view()));
  std::uint64_t bytes = 0;
  undisturbed([&] { db_->GetApproximateSizes(&range, 1, &bytes); });
  return bytes;
}

std::uint64_t Table::files_at_level(int level) const {
  std::string text;
  undisturbed([&] { db_->GetProperty("leveldb.num-files-at-level" + std::to_string(level), &text); });
  std::uint64_t files = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), files);
  return files;
}

std::uint64_t Table::room_needed() const {
  constexpr std::uint64_t kUsualFiles = 6;  // at level 0: a compaction begins at 4, while others come
  constexpr std::uint64_t kExpanded = 25;   // files of other levels that one compaction may take in
  const std::uint64_t level0 = std::max(files_at_level(0), kUsualFiles) * write_buffer_bytes_;
  const std::uint64_t compaction =
      std::max(level0 + files_at_level(1) * file_bytes_, kExpanded * file_bytes_);
  return 2 * write_buffer_bytes_ + std::min(approximate_bytes(0, kLastUpper), compaction);
}

// The largest part that is compacted in one go ends here.
std::uint64_t Table::end_of_part(std::uint64_t first_upper) const {
  constexpr std::uint64_t kPartBytes = 64u << 20;
  std::uint64_t low = first_upper;
  std::uint64_t high = kLastUpper;
  while (high - low > 1 && approximate_bytes(first_upper, high) > kPartBytes) {
    const std::uint64_t middle = low + (high - low) / 2;
    (approximate_bytes(first_upper, middle) > kPartBytes ? high : low) = middle;
  }
  return high;
}

bool Table::compact_garbage(std::uint64_t least, const std::function<bool()>& go_on) {
  if (garbage_.load(std::memory_order_relaxed) < least || failed() || read_only_.load()) return false;
  const std::uint64_t garbage = garbage_.exchange(0);  // whoever else asks meanwhile has nothing to do
  if (garbage < std::max(least, approximate_bytes(0, kLastUpper) / 2)) {
    garbage_.fetch_add(garbage);
    return false;
  }
  for (std::uint64_t first = 0; first < kLastUpper;) {
    if (!go_on()) {
      garbage_.fetch_add(garbage);
      return false;
    }
    const std::uint64_t end = end_of_part(first);
    const EncodedKey begin_key(Key{first, 0});
    const EncodedKey end_key(Key{end, ~std::uint64_t{0}});
    const leveldb::Slice from = slice(begin_key.view());
    const leveldb::Slice to = slice(end_key.view());
    undisturbed([&] { db_->CompactRange(&from, &to); });
    first = end;
  }
  return true;
}

}  // namespace cffs
