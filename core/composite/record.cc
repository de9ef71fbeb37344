#include "core/composite/record.h"

#include "core/base/bytes.h"
#include "core/base/checksum.h"
#include "core/table/row.h"

namespace cffs {
namespace {

constexpr std::string_view kCompositeMagic = "cffsCOMP";
constexpr std::uint32_t kCompositeFormat = 1;
constexpr std::uint32_t kRecordMagic = 0x31636552;  // "Rec1"
constexpr std::size_t kAlignment = 8;

std::size_t padded(std::size_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

std::string encode_composite_header(CompositeId id) {
  std::string out(kCompositeMagic);
  ByteWriter w(out);
  w.u32(kCompositeFormat);
  w.u32(0);
  w.u64(id.value);
  w.u64(checksum(out));
  return out;
}

Status check_composite_header(std::string_view bytes, CompositeId id) {
  const std::string what = "composite " + std::to_string(id.value);
  if (bytes.size() < kCompositeHeaderBytes || !bytes.starts_with(kCompositeMagic)) {
    return fail(Error::corruption(what + ": no composite header"));
  }
  ByteReader r(bytes.substr(kCompositeMagic.size(), kCompositeHeaderBytes - kCompositeMagic.size()));
  const std::uint32_t format = r.u32();
  const std::uint32_t flags = r.u32();
  const std::uint64_t number = r.u64();
  if (r.u64() != checksum(bytes.substr(0, kCompositeHeaderBytes - 8))) {
    return fail(Error::corruption(what + ": header checksum differs"));
  }
  if (format != kCompositeFormat || flags != 0) {
    return fail(
        Error::corruption(what + ": format " + std::to_string(format) + " is newer than this program"));
  }
  if (number != id.value) return fail(Error::corruption(what + ": header names another composite"));
  return {};
}

std::uint64_t RecordMeta::record_bytes() const { return padded(meta_bytes + data_length); }

std::size_t append_record(std::string& out, std::uint32_t slot, InodeId parent, std::string_view name,
                          const Inode& inode, std::string_view data, std::uint64_t data_checksum) {
  std::string meta;
  ByteWriter m(meta);
  m.varint(parent.value);
  m.string(name);
  encode_inode(meta, inode);

  const std::size_t start = out.size();
  ByteWriter w(out);
  w.u32(kRecordMagic);
  w.u32(static_cast<std::uint32_t>(meta.size()));
  w.u64(data.size());
  w.u64(data_checksum);
  w.u32(slot);
  w.u32(0);
  w.u64(checksum(std::string(out, start) + meta));
  out += meta;
  const std::size_t data_at = out.size();
  out += data;
  out.resize(start + padded(out.size() - start));
  return data_at;
}

std::uint64_t meta_length(std::string_view bytes) {
  if (bytes.size() < kRecordHeaderBytes) return 0;
  ByteReader r(bytes);
  (void)r.u32();
  return r.u32();
}

Result<std::optional<RecordMeta>> parse_record(std::string_view bytes) {
  if (bytes.size() < kRecordHeaderBytes) return std::optional<RecordMeta>();
  ByteReader r(bytes);
  if (r.u32() != kRecordMagic) return fail(Error::corruption("no record where one must begin"));
  const std::uint32_t meta_length = r.u32();
  RecordMeta record;
  record.data_length = r.u64();
  record.data_checksum = r.u64();
  record.slot = r.u32();
  (void)r.u32();
  const std::uint64_t expected = r.u64();
  record.meta_bytes = std::size_t{kRecordHeaderBytes} + meta_length;
  if (bytes.size() < record.meta_bytes) return std::optional<RecordMeta>();
  const std::string_view meta = bytes.substr(kRecordHeaderBytes, meta_length);
  if (checksum(std::string(bytes.substr(0, kRecordHeaderBytes - 8)) + std::string(meta)) != expected) {
    return fail(Error::corruption("a record's checksum differs"));
  }
  ByteReader m(meta);
  record.parent.value = m.varint();
  record.name = m.string();
  record.ino.value = m.varint();  // the inode's first field
  const bool possible = m.ok() && record.data_length <= kMemberMax && record.parent.value < kInodeLimit &&
                        record.ino.value < kInodeLimit;
  if (!possible) return fail(Error::corruption("a record's meta is malformed"));
  return std::optional<RecordMeta>(std::move(record));
}

Result<Inode> record_inode(std::string_view bytes) {
  ByteReader r(bytes);
  (void)r.u32();
  const std::uint32_t meta_length = r.u32();
  if (!r.ok() || bytes.size() < kRecordHeaderBytes + std::size_t{meta_length}) {
    return fail(Error::corruption("a record ends inside its meta"));
  }
  ByteReader m(bytes.substr(kRecordHeaderBytes, meta_length));
  (void)m.varint();
  (void)m.string();
  if (!m.ok()) return fail(Error::corruption("a record's meta is malformed"));
  return decode_inode(bytes.substr(kRecordHeaderBytes + meta_length - m.remaining(), m.remaining()));
}

}  // namespace cffs
