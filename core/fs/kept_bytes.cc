#include "core/fs/kept_bytes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <vector>

#include "core/base/checksum.h"

namespace cffs {
namespace {

constexpr std::uint32_t kRecordMagic = 0x7470656b;  // "kept"
constexpr std::uint64_t kKeptBlock = 64u << 10;         // saved whole, so that few records speak of many small changes
constexpr std::size_t kEpochDigits = 16;

std::string header_fields(const KeptRecord& record) {
  std::string head;
  ByteWriter w(head);
  w.u32(kRecordMagic);
  w.u32(static_cast<std::uint32_t>(record.bytes.size()));
  w.u64(record.ino.value);
  w.u64(record.offset);
  return head;
}

std::uint64_t sum_of(std::string_view fields, std::string_view bytes) {
  return checksum(fields) ^ (checksum(bytes) * 0x9e3779b97f4a7c15u);
}

}  // namespace

std::string kept_object_name(std::uint64_t epoch) {
  std::array<char, kEpochDigits + 1> digits{};
  (void)std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(epoch));
  return std::string(kKeptFolder) + "/" + digits.data();
}

std::optional<std::uint64_t> kept_epoch(std::string_view name) {
  const std::string prefix = std::string(kKeptFolder) + "/";
  if (!name.starts_with(prefix) || name.size() != prefix.size() + kEpochDigits) return {};
  name.remove_prefix(prefix.size());
  std::uint64_t epoch = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), epoch, 16);
  if (problem != std::errc() || end != name.data() + name.size()) return {};
  return epoch;
}

std::string encode_kept(const KeptRecord& record) {
  std::string out = header_fields(record);
  const std::uint64_t sum = sum_of(out, record.bytes);
  ByteWriter(out).u64(sum);
  return out.append(record.bytes);
}

std::optional<KeptHead> kept_head(std::string_view bytes) {
  ByteReader r(bytes);
  if (r.u32() != kRecordMagic) return {};
  KeptHead head;
  head.length = r.u32();
  head.ino = InodeId{r.u64()};
  head.offset = r.u64();
  if (!r.ok() || head.length > kKeptPiece) return {};
  return head;
}

std::optional<std::pair<KeptRecord, std::size_t>> decode_kept(std::string_view bytes) {
  if (bytes.size() < kKeptHeader) return {};
  const auto head = kept_head(bytes);
  if (!head || bytes.size() - kKeptHeader < head->length) return {};
  const std::string_view fields = bytes.substr(0, kKeptHeader - 8);
  const KeptRecord record{head->ino, head->offset, bytes.substr(kKeptHeader, head->length)};
  if (sum_of(fields, record.bytes) != ByteReader(bytes.substr(fields.size())).u64()) return {};
  return std::pair(record, kKeptHeader + static_cast<std::size_t>(head->length));
}

Status KeptBytes::load() {
  CFFS_TRY(const auto names, store_.list(kKeptFolder));
  const MutexLock guard(mutex_);
  for (const std::string& name : names) {
    if (const auto epoch = kept_epoch(name)) epochs_.insert(*epoch);
  }
  return {};
}

void KeptBytes::begin_epoch(std::uint64_t epoch) {
  const MutexLock guard(mutex_);
  epoch_ = epoch;
  given_up_ = false;
  bytes_ = end_ = 0;
  object_.reset();
  files_.clear();
}

bool KeptBytes::empty() const {
  const MutexLock guard(mutex_);
  return epochs_.empty();
}

std::set<std::uint64_t> KeptBytes::epochs() const {
  const MutexLock guard(mutex_);
  return epochs_;
}

std::uint64_t KeptBytes::last() const {
  const MutexLock guard(mutex_);
  return epochs_.empty() ? 0 : *epochs_.rbegin();
}

void KeptBytes::remove(const std::function<bool(std::uint64_t)>& may_go) {
  const MutexLock guard(mutex_);
  for (auto it = epochs_.begin(); it != epochs_.end();) {
    const bool goes = may_go(*it);
    if (goes && *it == epoch_) {  // nobody can want what changes until the next checkpoint
      given_up_ = true;
      object_.reset();
      files_.clear();
    }
    const Status removed = goes ? store_.remove(kept_object_name(*it)) : Status();
    it = goes && (removed || removed.error().errno_value == ENOENT) ? epochs_.erase(it) : std::next(it);
  }
}

Status KeptBytes::append(const KeptRecord& record) {
  if (!object_) {
    CFFS_TRY(object_, store_.create(kept_object_name(epoch_), ObjectStore::Create::keep));
    epochs_.insert(epoch_);
    CFFS_TRY(const ObjectInfo info, object_->info());
    end_ = info.size;
  }
  const std::string encoded = encode_kept(record);
  if (Status written = object_->write_at(end_, as_bytes(encoded)); !written) {
    (void)object_->truncate(end_);  // part of a record would hide those behind it
    return written;
  }
  end_ += encoded.size();
  bytes_ += record.bytes.size();
  // Where a write is seen by others only when it is durable, the blob's must not overtake it.
  return store_.outlives_the_process() ? Status() : object_->sync();
}

Status KeptBytes::save(InodeId ino, const Object& object, std::uint64_t begin, std::uint64_t end) {
  std::string bytes;
  for (std::uint64_t at = begin; at < end; at += bytes.size()) {
    bytes.resize(std::min(kKeptPiece, end - at));
    CFFS_TRY(const std::size_t n, object.read_at(at, as_writable_bytes(bytes)));
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(n), bytes.end(), '\0');
    CFFS_TRY_VOID(append({ino, at, bytes}));
  }
  return {};
}

void KeptBytes::keep(InodeId ino, const std::shared_ptr<Object>& object, std::uint64_t size,
                     std::uint64_t offset, std::uint64_t length) {
  if (offset >= size || length == 0) return;
  bool lost = false;
  {
    const MutexLock guard(mutex_);
    if (given_up_) return;
    File& file = files_[ino];
    if (file.lost) return;
    const std::uint64_t end = std::min(size, length > size - offset ? size : offset + length);
    Status done;
    for (std::uint64_t block = offset / kKeptBlock; done && block * kKeptBlock < end;) {
      if (file.blocks.contains(block)) {
        ++block;
        continue;
      }
      std::uint64_t behind = block;
      const std::uint64_t most = std::min(end, block * kKeptBlock + kMost + kKeptBlock);  // more is given up
      while (behind * kKeptBlock < most && !file.blocks.contains(behind)) ++behind;
      const std::uint64_t from = block * kKeptBlock, to = std::min(size, behind * kKeptBlock);
      if (bytes_ + (to - from) > kMost) {
        done = fail(EFBIG);
      } else {
        done = save(ino, *object, from, to);
      }
      for (; done && block < behind; ++block) file.blocks.insert(block);
    }
    if (!done) {
      file.lost = true;
      file.blocks.clear();
      lost = !append({ino, 0, {}});
    }
  }
  if (lost && lost_) lost_();
}

}  // namespace cffs
