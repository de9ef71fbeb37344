#include "core/table/catalogue.h"

#include <algorithm>

#include "core/base/checksum.h"

namespace cffs {

// Never renumber: on disk.
enum class CatalogueWriter::Kind : std::uint32_t { rows = 1, data = 2, end = 3 };

namespace {

constexpr std::string_view kMagic = "cffsCTLG";
constexpr std::uint32_t kFormat = 1;
constexpr std::uint64_t kHeaderBytes = 72;
constexpr std::uint64_t kAlignment = 4096;            // where chunks begin, and are looked for behind damage
constexpr std::size_t kChunkPayload = 64u << 10;      // a row that is longer has a chunk of its own
constexpr std::uint64_t kLongestPayload = 64u << 20;  // no row and no chunk of data is longer
constexpr std::uint64_t kSyncEvery = 8u << 20;        // so that whoever is in a hurry waits for no more

struct ChunkHeader {
  std::uint32_t kind = 0;
  std::uint64_t number = 0;
  CatalogueMoment moment;
  std::uint32_t length = 0;  // of the payload
  std::uint64_t payload_checksum = 0;
};

std::uint64_t padded(std::uint64_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

std::string encode_header(const ChunkHeader& header) {
  std::string bytes(kMagic);
  ByteWriter w(bytes);
  w.u32(kFormat);
  w.u32(header.kind);
  w.u64(header.number);
  w.u64(static_cast<std::uint64_t>(header.moment.at_ns));
  w.u64(header.moment.next_inode);
  w.u64(header.moment.inodes);
  w.u32(header.length);
  w.u32(0);
  w.u64(header.payload_checksum);
  w.u64(checksum(bytes));
  return bytes;
}

// nullopt: no chunk begins with these bytes, or one that a later version wrote.
std::optional<ChunkHeader> decode_header(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes || !bytes.starts_with(kMagic)) return {};
  ByteReader r(bytes.substr(kMagic.size(), kHeaderBytes - kMagic.size()));
  ChunkHeader header;
  const std::uint32_t format = r.u32();
  header.kind = r.u32();
  header.number = r.u64();
  header.moment.at_ns = static_cast<std::int64_t>(r.u64());
  header.moment.next_inode = r.u64();
  header.moment.inodes = r.u64();
  header.length = r.u32();
  const std::uint32_t flags = r.u32();
  header.payload_checksum = r.u64();
  const bool good = r.u64() == checksum(bytes.substr(0, kHeaderBytes - 8)) && format == kFormat &&
                    flags == 0 && header.length <= kLongestPayload;
  return good ? std::optional(header) : std::nullopt;
}

}  // namespace

Status CatalogueWriter::add_row(InodeId upper, std::string_view row) {
  CFFS_TRY_VOID(begin_item(Kind::rows, row.size()));
  ByteWriter w(payload_);
  w.varint(upper.value);
  w.string(row);
  return {};
}

Status CatalogueWriter::add_data(InodeId file, std::uint64_t chunk, std::string_view bytes) {
  CFFS_TRY_VOID(begin_item(Kind::data, bytes.size()));
  ByteWriter w(payload_);
  w.varint(file.value);
  w.varint(chunk);
  w.string(bytes);
  return {};
}

Status CatalogueWriter::begin_item(Kind kind, std::size_t bytes) {
  constexpr std::size_t kNumbers = 32;  // room for those before the bytes
  CFFS_INVARIANT(bytes + kNumbers <= kLongestPayload);
  if (kind != kind_ || payload_.size() + bytes + kNumbers > kChunkPayload) CFFS_TRY_VOID(flush());
  kind_ = kind;
  return {};
}

Status CatalogueWriter::flush() {
  if (payload_.empty()) return {};
  CFFS_TRY_VOID(write_chunk(kind_, payload_));
  payload_.clear();
  return {};
}

Status CatalogueWriter::write_chunk(Kind kind, std::string_view payload) {
  ChunkHeader header;
  header.kind = static_cast<std::uint32_t>(kind);
  header.number = chunks_++;
  header.moment = moment_;
  header.length = static_cast<std::uint32_t>(payload.size());
  header.payload_checksum = checksum(payload);
  std::string chunk = encode_header(header);
  chunk += payload;
  chunk.resize(padded(chunk.size()));
  CFFS_TRY_VOID(to_.write_at(bytes_, as_bytes(chunk)));
  bytes_ += chunk.size();
  const bool sync = kind == Kind::end || bytes_ - synced_ >= kSyncEvery;
  if (!sync) return {};
  synced_ = bytes_;
  return to_.sync();
}

Status CatalogueWriter::finish() {
  CFFS_TRY_VOID(flush());
  return write_chunk(Kind::end, {});
}

// One reading, from the first byte to the last.
class CatalogueReader {
 public:
  CatalogueReader(const Object& object, std::uint64_t size, const CatalogueVisitor& visitor)
      : object_(object), size_(size), visitor_(visitor) {}

  Result<CatalogueReading> run() && {
    for (std::uint64_t at = 0; at < size_ && short_of_;) at = read_chunk(at);
    CFFS_TRY_VOID(short_of_);
    tell_lost(size_);
    found_.whole = found_.damage.empty() && ended_;
    if (found_.damage.empty() && !ended_) damaged("its end is missing");
    return std::move(found_);
  }

 private:
  using Kind = CatalogueWriter::Kind;

  // Whoever wrote it must not say how much of this there is.
  void damaged(const std::string& what) {
    constexpr std::size_t kMostSentences = 1000;
    std::string sentence("object catalogue: ");
    sentence += found_.damage.size() < kMostSentences ? what : "and more";
    if (found_.damage.size() <= kMostSentences) found_.damage.push_back(std::move(sentence));
  }

  void lose(std::uint64_t at) {
    if (!lost_) lost_from_ = at;
    lost_ = true;
  }

  void tell_lost(std::uint64_t until) {
    if (lost_)
      damaged("bytes " + std::to_string(lost_from_) + " to " + std::to_string(until - 1) + " are damaged");
    lost_ = false;
  }

  // Shorter than asked for where the object ends or cannot be read.
  std::string bytes(std::uint64_t at, std::uint64_t length) {
    std::string bytes(std::min(length, size_ - std::min(at, size_)), '\0');
    const auto n = object_.read_at(at, as_writable_bytes(bytes));
    if (!n && n.error().is_shortage()) short_of_ = fail(n.error());
    bytes.resize(n ? *n : 0);
    return bytes;
  }

  // Returns where to go on. A header that proves itself says how much its damaged payload is, so that no byte is looked at twice.
  std::uint64_t read_chunk(std::uint64_t at) {
    const auto header = decode_header(bytes(at, kHeaderBytes));
    if (!header || !is_next(*header)) {
      lose(at);
      const auto data = object_.next_data(at + kAlignment);  // holes may be many
      return std::max(at + kAlignment, data ? *data / kAlignment * kAlignment : 0);
    }
    const std::uint64_t next = at + padded(kHeaderBytes + header->length);
    const std::string payload = bytes(at + kHeaderBytes, header->length);
    if (payload.size() != header->length || checksum(payload) != header->payload_checksum) {
      lose(at);
      next_ = header->number + 1;
      return next;
    }
    if (!lost_ && header->number != next_) damaged("chunks are missing before byte " + std::to_string(at));
    tell_lost(at);
    next_ = header->number + 1;
    found_.moment = header->moment;
    known_ = true;
    visit(*header, payload, at);
    return next;
  }

  // What is of another catalogue, or lies where it does not belong, is none of this one's.
  bool is_next(const ChunkHeader& header) const {
    return !ended_ && header.number >= next_ && (!known_ || header.moment == found_.moment);
  }

  void visit(const ChunkHeader& header, std::string_view payload, std::uint64_t at) {
    ByteReader r(payload);
    bool good = true;
    switch (static_cast<Kind>(header.kind)) {
      case Kind::rows:
        while (good && !r.at_end()) good = visit_row(r);
        break;
      case Kind::data:
        while (good && !r.at_end()) good = visit_data(r);
        break;
      case Kind::end:
        ended_ = true;
        break;
      default:
        good = false;
    }
    if (!good || !r.ok()) damaged("the chunk at byte " + std::to_string(at) + " makes no sense");
  }

  bool visit_row(ByteReader& r) {
    const std::uint64_t upper = r.varint();
    const std::string_view bytes = r.string();
    if (!r.ok() || upper >= kInodeLimit) return false;
    auto row = decode_row(bytes);
    if (!row) {
      damaged("a row of inode " + std::to_string(upper) + ": " + row.error().message());
    } else if (visitor_.row) {
      visitor_.row(InodeId{upper}, *row);
    }
    return true;
  }

  bool visit_data(ByteReader& r) {
    const std::uint64_t file = r.varint();
    const std::uint64_t chunk = r.varint();
    const std::string_view bytes = r.string();
    if (!r.ok() || file >= kInodeLimit) return false;
    if (visitor_.data) visitor_.data(InodeId{file}, chunk, bytes);
    return true;
  }

  const Object& object_;
  const std::uint64_t size_;
  const CatalogueVisitor& visitor_;
  CatalogueReading found_;
  Status short_of_;     // memory or descriptors: what could not be read is not damaged
  bool known_ = false;  // whose chunks these are
  bool ended_ = false;
  bool lost_ = false;
  std::uint64_t lost_from_ = 0;
  std::uint64_t next_ = 0;  // number of the chunk that comes next
};

namespace {

// nullptr: there is none.
Result<std::shared_ptr<Object>> open_catalogue(ObjectStore& store) {
  auto object = store.open(kCatalogueObject);
  if (!object && object.error().errno_value == ENOENT) return std::shared_ptr<Object>();
  return object;
}

}  // namespace

Result<std::optional<CatalogueReading>> read_catalogue(ObjectStore& store, const CatalogueVisitor& visitor) {
  CFFS_TRY(const auto object, open_catalogue(store));
  if (!object) return std::optional<CatalogueReading>();
  CFFS_TRY(const ObjectInfo info, object->info());
  CFFS_TRY(auto reading, CatalogueReader(*object, info.size, visitor).run());
  return std::optional(std::move(reading));
}

Result<std::optional<CatalogueMoment>> catalogue_moment(ObjectStore& store) {
  CFFS_TRY(const auto object, open_catalogue(store));
  if (!object) return std::optional<CatalogueMoment>();
  std::string bytes(kHeaderBytes, '\0');
  CFFS_TRY(const std::size_t n, object->read_at(0, as_writable_bytes(bytes)));
  const auto header = decode_header(std::string_view(bytes).substr(0, n));
  return header ? std::optional(header->moment) : std::nullopt;
}

}  // namespace cffs
