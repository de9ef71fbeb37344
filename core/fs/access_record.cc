#include "core/fs/access_record.h"

#include <algorithm>
#include <charconv>
#include <new>

#include "core/base/checksum.h"

namespace cffs {
namespace {

constexpr std::uint32_t kBlockMagic = 0x31636341;  // "Acc1"
constexpr std::size_t kBlockHeader = 16;           // magic, length, checksum

std::string segment_name(std::uint64_t number) { return "accesses/" + std::to_string(number); }

Result<std::vector<std::uint64_t>> segments(ObjectStore& store) {
  CFFS_TRY(const auto names, store.list("accesses"));
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : names) {
    std::uint64_t number = 0;
    const char* const from = name.data() + name.rfind('/') + 1;
    const auto [end, error] = std::from_chars(from, name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size()) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// Multiplication spreads process numbers, which are dense.
std::uint64_t spread(std::uint64_t stream) { return (stream * 0x9e3779b97f4a7c15u) >> 40; }

using Accesses = std::vector<AccessRecord::Access>;

// As many of them as `most` bytes hold, but one at least; `next` goes behind them.
std::string take_block(Accesses::const_iterator& next, Accesses::const_iterator end, std::uint64_t most) {
  constexpr std::size_t kCountMost = 5;  // of its varint
  std::string list;
  ByteWriter w(list);
  std::int64_t time = 0;
  std::int64_t file = 0;
  std::size_t count = 0;
  for (; next != end; ++next, ++count) {
    const std::size_t before = list.size();
    w.svarint(next->time_ms - time);
    w.svarint(static_cast<std::int64_t>(next->file.value) - file);
    w.varint(next->stream);
    if (count > 0 && kBlockHeader + kCountMost + list.size() > most) {
      list.resize(before);
      break;
    }
    time = next->time_ms;
    file = static_cast<std::int64_t>(next->file.value);
  }
  std::string payload;
  ByteWriter(payload).varint(count);
  payload += list;
  std::string block;
  ByteWriter head(block);
  head.u32(kBlockMagic);
  head.u32(static_cast<std::uint32_t>(payload.size()));
  head.u64(checksum(payload));
  return block + payload;
}

}  // namespace

void AccessRecord::note(const Access& access) noexcept {
  const MutexLock guard(mutex_);
  if (sampling_ > 0 && (spread(access.stream) & ((1u << sampling_) - 1)) != 0) return;
  try {
    noted_.push_back(access);
  } catch (const std::bad_alloc&) {
    return;  // a hint
  }
  if (noted_.size() < kMostPerFlush || sampling_ >= 16) return;
  ++sampling_;
  const unsigned mask = (1u << sampling_) - 1;
  std::erase_if(noted_, [mask](const Access& a) { return (spread(a.stream) & mask) != 0; });
}

Status AccessRecord::open_segment() {
  CFFS_TRY(const auto numbers, segments(store_));
  const std::uint64_t next = numbers.empty() ? 1 : std::max(numbers.back(), segment_number_) + 1;
  for (std::size_t i = 0; i + kSegments <= numbers.size(); ++i)
    CFFS_TRY_VOID(store_.remove(segment_name(numbers[i])));
  CFFS_TRY(segment_, store_.create(segment_name(next), ObjectStore::Create::truncate));
  segment_number_ = next;
  segment_bytes_ = 0;
  return {};
}

Status AccessRecord::flush() {
  const MutexLock one_at_a_time(flush_mutex_);
  std::vector<Access> accesses;
  {
    const MutexLock guard(mutex_);
    accesses.swap(noted_);
    if (sampling_ > 0 && accesses.size() < kMostPerFlush / 4) --sampling_;
  }
  if (accesses.empty()) return {};
  for (auto next = accesses.cbegin(); next != accesses.cend();)
    CFFS_TRY_VOID(append(take_block(next, accesses.cend(), bytes_ / kSegments)));
  return {};
}

Status AccessRecord::append(const std::string& block) {
  if (!segment_ || (segment_bytes_ > 0 && segment_bytes_ + block.size() > bytes_ / kSegments)) {
    CFFS_TRY_VOID(open_segment());
  }
  CFFS_TRY_VOID(segment_->write_at(segment_bytes_, as_bytes(block)));
  segment_bytes_ += block.size();
  return {};
}

Status AccessRecord::visit(ObjectStore& store, const std::function<void(const Access&)>& visit) {
  CFFS_TRY(const auto numbers, segments(store));
  std::int64_t shift = 0, latest = 0;  // a later mount's clock may be behind: it continues a minute after
  for (const std::uint64_t number : numbers) {
    const auto object = store.open(segment_name(number));
    if (!object) continue;
    CFFS_TRY(const ObjectInfo info, (*object)->info());
    std::string bytes(std::min(info.size, kWholeMax), '\0');
    const auto n = (*object)->read_at(0, as_writable_bytes(bytes));
    if (!n) continue;
    bytes.resize(*n);
    for (std::size_t at = 0; at + kBlockHeader <= bytes.size();) {
      ByteReader head(std::string_view(bytes).substr(at, kBlockHeader));
      const std::uint32_t magic = head.u32();
      const std::uint32_t length = head.u32();
      const std::uint64_t wanted = head.u64();
      if (magic != kBlockMagic || length > bytes.size() - at - kBlockHeader) break;
      const std::string_view payload = std::string_view(bytes).substr(at + kBlockHeader, length);
      at += kBlockHeader + length;
      if (checksum(payload) != wanted) continue;
      ByteReader r(payload);
      std::int64_t time = 0, file = 0;
      for (std::uint64_t left = r.varint(); left > 0 && r.ok(); --left) {
        const bool sums = !__builtin_add_overflow(time, r.svarint(), &time) &&
                          !__builtin_add_overflow(file, r.svarint(), &file);
        const std::uint64_t stream = r.varint();
        // What no mount noted is not taken from a block that somebody else wrote.
        constexpr std::int64_t kLatest = std::int64_t{1} << 52;  // 140,000 years
        const bool possible = sums && time >= 0 && time <= kLatest && shift <= kLatest && file >= 0 &&
                              file < static_cast<std::int64_t>(kInodeLimit);
        if (!r.ok() || !possible) break;
        constexpr std::int64_t kMinute = 60'000;
        if (time + shift + kMinute < latest) shift = latest + kMinute - time;
        latest = std::max(latest, time + shift);
        visit({time + shift, InodeId{static_cast<std::uint64_t>(file)}, stream});
      }
    }
  }
  return {};
}

}  // namespace cffs
