#include "core/table/whole_blocks.h"

#include <leveldb/comparator.h>
#include <leveldb/env.h>
#include <leveldb/options.h>
#include <leveldb/table_builder.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/crc32c.h"
#include "core/base/undisturbed.h"
#include "core/object/table_block.h"
#include "core/table/key.h"
#include "core/table/table_reads.h"

namespace cffs {
namespace {

constexpr std::size_t kRowKey = sizeof(Key) + kBlockKeyTail;
constexpr std::size_t kLongestBlock = 1u << 20;  // a row of the longest kind, many times over
// Bytes looked at for each of the file's, in the mean: of one that was made to look like the beginnings of blocks all would be, each time.
constexpr std::uint64_t kEffort = 256;

std::string_view user_part(std::string_view key) { return key.substr(0, key.size() - kBlockKeyTail); }
std::uint64_t sequence_and_type(std::string_view key) {
  return ByteReader(key.substr(key.size() - kBlockKeyTail)).u64();
}

// Of a row, LevelDB has the newest first (leveldb/db/dbformat.cc).
class RowOrder final : public leveldb::Comparator {
 public:
  int Compare(const leveldb::Slice& a, const leveldb::Slice& b) const override {
    const std::string_view left(a.data(), a.size()), right(b.data(), b.size());
    if (const int order = user_part(left).compare(user_part(right)); order != 0) return order;
    const std::uint64_t l = sequence_and_type(left), r = sequence_and_type(right);
    return l == r ? 0 : l > r ? -1 : 1;
  }
  const char* Name() const override { return "cffs.RowOrder"; }
  void FindShortestSeparator(std::string*, const leveldb::Slice&) const override {}
  // The index ends with a key that is no row's, as LevelDB's does: it cannot be taken for a block of rows.
  void FindShortSuccessor(std::string* key) const override {
    constexpr std::uint64_t kBeforeAll = ~std::uint64_t{0xff} | 1;  // the highest sequence, of a value
    std::string shorter(user_part(*key));
    leveldb::BytewiseComparator()->FindShortSuccessor(&shorter);
    if (shorter.size() >= user_part(*key).size()) return;
    ByteWriter(shorter).u64(kBeforeAll);
    *key = std::move(shorter);
  }
};

// In memory.
class MadeTable final : public leveldb::WritableFile {
 public:
  leveldb::Status Append(const leveldb::Slice& data) override {
    bytes_.append(data.data(), data.size());
    return leveldb::Status::OK();
  }
  leveldb::Status Close() override { return leveldb::Status::OK(); }
  leveldb::Status Flush() override { return leveldb::Status::OK(); }
  leveldb::Status Sync() override { return leveldb::Status::OK(); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Whether a block of rows may begin here: with a key of which nothing stands before. Where it is compressed, a length and the tag of its
// first bytes come first.
bool may_begin(std::string_view bytes) {
  constexpr std::size_t kLongestBefore = 6;
  const auto key_at = [&](std::size_t at) {
    return at + 2 <= bytes.size() && bytes[at] == 0 && static_cast<std::uint8_t>(bytes[at + 1]) == kRowKey;
  };
  if (key_at(0)) return true;
  for (std::size_t at = 2; at <= kLongestBefore; ++at) {
    if (key_at(at)) return true;
  }
  return false;
}

// The bytes of the block that begins here, with its trailer; 0: none that is whole.
std::size_t length_of_block(std::string_view bytes, std::uint64_t& effort) {
  constexpr std::size_t kSum = sizeof(std::uint32_t);
  RunningSum sum;
  const std::size_t most = std::min(bytes.size(), kLongestBlock);
  for (std::size_t n = 1; n + kSum <= most && effort > 0; ++n, --effort) {
    sum.take(bytes[n - 1]);
    if (n < kBlockTrailer) continue;
    if (ByteReader(bytes.substr(n, kSum)).u32() == sum.masked_crc32c()) return n + kSum;
  }
  return 0;
}

struct StoredRow {
  std::string key;
  std::string value;
};

// In order, and behind `last`; empty: it is no block of rows, as an index is none.
std::vector<StoredRow> rows_of(std::string_view block, std::string_view last) {
  std::string buffer;
  bool sane = true;
  const auto contents = block_contents(block, buffer, sane);
  if (!contents || !sane) return {};
  const RowOrder order;
  std::vector<StoredRow> rows;
  std::string key(last);
  const auto take = [&](std::size_t shared, std::string_view rest, std::string_view value) {
    std::string next = rows.empty() ? std::string() : key.substr(0, shared);
    next.append(rest);
    constexpr std::uint64_t kTypes = 2;  // a value, or that there is none
    if (next.size() != kRowKey || (sequence_and_type(next) & 0xff) >= kTypes) return false;
    if (!key.empty() && order.Compare(slice(key), slice(next)) >= 0) return false;
    key = next;
    rows.push_back({std::move(next), std::string(value)});
    return true;
  };
  if (!visit_entries(*contents, kBlockKeyTail, take)) rows.clear();
  return rows;
}

// Where rows end: the filter begins there, says the block that names it. 0: nobody knows.
std::uint64_t end_of_rows(std::string_view file, std::uint64_t effort) {
  constexpr std::size_t kBefore =
      3;  // lengths of what of its key is the last one's, of the rest, and of its value
  const std::size_t key_at = file.rfind(kFilterKey);
  if (key_at == std::string_view::npos || key_at < kBefore) return 0;
  const std::string_view block = file.substr(key_at - kBefore);
  const std::size_t bytes = length_of_block(block, effort);
  if (bytes < kBefore + kFilterKey.size() + kBlockTrailer) return 0;
  return ByteReader(block.substr(0, bytes - kBlockTrailer).substr(kBefore + kFilterKey.size())).varint();
}

}  // namespace

std::optional<WholeBlocks> whole_blocks(std::string_view damaged) {
  const RowOrder order;
  leveldb::Options options;
  options.comparator = &order;
  MadeTable made;
  leveldb::TableBuilder table(options, &made);
  const Undisturbed whole;  // LevelDB's
  std::string last;
  std::uint64_t effort = kEffort * damaged.size();
  std::size_t gapless = 0;
  for (std::size_t at = 0; at + kBlockTrailer < damaged.size() && effort > 0;) {
    const std::string_view left = damaged.substr(at);
    const std::size_t bytes = may_begin(left) ? length_of_block(left, effort) : 0;
    const auto rows = bytes > 0 ? rows_of(left.substr(0, bytes), last) : std::vector<StoredRow>();
    for (const StoredRow& row : rows) table.Add(slice(row.key), slice(row.value));
    if (!rows.empty()) last = rows.back().key;
    if (!rows.empty() && gapless == at) gapless += bytes;
    at += rows.empty() ? 1 : bytes;
  }
  if (last.empty()) {
    table.Abandon();
    return {};
  }
  if (!table.Finish().ok()) return {};
  return WholeBlocks{made.take(), gapless == end_of_rows(damaged, kLongestBlock)};
}

}  // namespace cffs
