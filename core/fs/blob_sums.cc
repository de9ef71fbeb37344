#include "core/fs/blob_sums.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace cffs {
namespace {

constexpr std::size_t kRowsInABatch = 256;  // 256 KiB of sums
constexpr std::uint64_t kRowsByKey = 4;

Key row_key(InodeId ino, std::uint64_t row) { return Key::tagged(KeyTag::block_sums, ino.value, row); }

std::uint64_t block_bytes(std::uint64_t block, std::uint64_t size) {
  return std::min(kSumBlockBytes, size - block * kSumBlockBytes);
}

Error differs(InodeId ino, std::uint64_t block, std::uint64_t size) {
  const std::uint64_t at = block * kSumBlockBytes;
  std::string said = "the blob of inode ";
  said += std::to_string(ino.value);
  said += " differs from its checksum in bytes ";
  said += std::to_string(at);
  said += " to ";
  said += std::to_string(at + block_bytes(block, size) - 1);
  return Error::corruption(std::move(said));
}

// The sums of one row, as far as the file reaches; of zeros where the row is not there.
class SumRow {
 public:
  static Result<SumRow> load(const Table& table, InodeId ino, std::uint64_t row, std::uint64_t size) {
    SumRow loaded;
    loaded.first_ = row * kSumsPerRow;
    loaded.size_ = size;
    CFFS_TRY(loaded.bytes_, table.get(row_key(ino, row)));
    const std::uint64_t blocks = (size + kSumBlockBytes - 1) / kSumBlockBytes;
    const std::uint64_t wanted = std::min(kSumsPerRow, blocks - loaded.first_);
    if (loaded.bytes_ && loaded.bytes_->size() != wanted * 4) {
      return fail(Error::corruption("the checksums of inode " + std::to_string(ino.value) + ", row " +
                                    std::to_string(row) + ", are not as long as its blob"));
    }
    return loaded;
  }
  std::uint32_t of(std::uint64_t block) const {
    if (!bytes_) return zero_block_sum(block_bytes(block, size_));
    return ByteReader(std::string_view(*bytes_).substr((block - first_) * 4, 4)).u32();
  }

 private:
  std::optional<std::string> bytes_;
  std::uint64_t first_ = 0, size_ = 0;
};

// Reads all of `out`; an object that ends before is as damaged as one that differs.
Status read_fully(const Object& object, InodeId ino, std::uint64_t offset, Bytes out) {
  CFFS_TRY(const std::size_t n, object.read_at(offset, out));
  if (n == out.size()) return {};
  return fail(Error::corruption("the blob of inode " + std::to_string(ino.value) + " ends at byte " +
                                std::to_string(offset + n)));
}

// The first row at or after byte `at` whose bytes are not all in a hole; nullopt: there is none.
Result<std::optional<std::uint64_t>> next_row(const Object& object, std::uint64_t at, std::uint64_t size) {
  if (at >= size) return std::optional<std::uint64_t>();
  CFFS_TRY(const std::uint64_t data, object.next_data(at));
  if (data < at || data >= size) return std::optional<std::uint64_t>();  // before `at`: it ends there
  return std::optional<std::uint64_t>(data / kSumRowSpan);
}

}  // namespace

Result<bool> BlobSums::write(InodeId ino, const Object& object, std::uint64_t size,
                             const std::function<bool()>& go_on) {
  Batch batch;
  CFFS_TRY_VOID(erase(batch, ino));  // what an attempt left that was cut short
  std::size_t rows = 0;
  std::string piece;
  for (std::uint64_t at = 0;;) {
    if (!go_on()) return false;
    CFFS_TRY(const auto row, next_row(object, at, size));
    if (!row) break;
    const std::uint64_t begin = *row * kSumRowSpan;
    piece.resize(std::min(kSumRowSpan, size - begin));
    CFFS_TRY_VOID(read_fully(object, ino, begin, as_writable_bytes(piece)));
    at = begin + piece.size();
    std::vector<std::uint32_t> sums;
    bool zeros = true;
    for (std::uint64_t within = 0; within < piece.size(); within += kSumBlockBytes) {
      const auto block = as_bytes(piece).subspan(within, std::min(kSumBlockBytes, piece.size() - within));
      sums.push_back(block_sum(block));
      zeros = zeros && sums.back() == zero_block_sum(block.size());
    }
    if (zeros) continue;
    batch.put(row_key(ino, *row), encode_block_sums(sums));
    if (++rows % kRowsInABatch != 0) continue;
    CFFS_TRY_VOID(table_.write(batch));
    batch = Batch();
  }
  CFFS_TRY_VOID(table_.write(batch));
  return true;
}

Status BlobSums::erase(Batch& batch, InodeId ino) const {
  return table_.scan(row_key(ino, 0), row_key(ino, ~std::uint64_t{0}), [&](Key key, std::string_view) {
    batch.erase(key);
    return true;
  });
}

Status BlobSums::erase_sealed(Batch& batch, InodeId ino, std::uint64_t size) const {
  const std::uint64_t rows = size / kSumRowSpan + (size % kSumRowSpan != 0 ? 1 : 0);
  if (rows > kRowsByKey) return erase(batch, ino);
  for (std::uint64_t row = 0; row < rows; ++row) batch.erase(row_key(ino, row));
  return {};
}

Status BlobSums::verify(InodeId ino, const Object& object, std::uint64_t size, std::uint64_t offset,
                        Bytes data) const {
  if (data.empty()) return {};
  const std::uint64_t end = offset + data.size();
  const std::uint64_t last = (end - 1) / kSumBlockBytes;
  std::array<std::byte, kSumBlockBytes> buffer;
  for (std::uint64_t block = offset / kSumBlockBytes; block <= last;) {
    const std::uint64_t row = block / kSumsPerRow;
    CFFS_TRY(const SumRow sums, SumRow::load(table_, ino, row, size));
    for (const std::uint64_t after = std::min(last + 1, (row + 1) * kSumsPerRow); block < after; ++block) {
      const std::uint64_t begin = block * kSumBlockBytes;
      const std::uint64_t bytes = block_bytes(block, size);
      Bytes whole;
      if (begin >= offset && begin + bytes <= end) {
        whole = data.subspan(begin - offset, bytes);
      } else {
        whole = Bytes(buffer).first(bytes);
        CFFS_TRY_VOID(read_fully(object, ino, begin, whole));
        const std::uint64_t from = std::max(begin, offset), to = std::min(begin + bytes, end);
        std::memcpy(data.data() + (from - offset), whole.data() + (from - begin), to - from);
      }
      if (block_sum(whole) != sums.of(block)) return fail(differs(ino, block, size));
    }
  }
  return {};
}

Result<bool> BlobSums::complete(InodeId ino, const Object& object, std::uint64_t size) const {
  std::string piece;
  for (std::uint64_t at = 0;;) {
    CFFS_TRY(const auto row, next_row(object, at, size));
    if (!row) break;
    const std::uint64_t begin = *row * kSumRowSpan;
    at = begin + kSumRowSpan;
    CFFS_TRY(const auto stored, table_.get(row_key(ino, *row)));
    if (stored) continue;
    piece.resize(std::min(kSumRowSpan, size - begin));
    const auto n = object.read_at(begin, as_writable_bytes(piece));
    if (!n && n.error().is_shortage()) return fail(n.error());
    if (!n || piece.find_first_not_of('\0') < *n) return false;
  }
  return true;
}

}  // namespace cffs
