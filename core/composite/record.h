// The byte form of a composite: a header, then records, each describing itself (docs/ON_DISK_FORMAT.md,
// "Composites").
//
//   header   32 bytes: "cffsCOMP", format u32, flags u32, composite number u64,
//                      checksum u64 of the 24 before it
//   record   40 bytes: magic u32 "Rec1", meta length u32, data length u64, data checksum u64, slot u32, flags u32,
//                      checksum u64 of the 32 before it and of meta
//            meta:     parent varint, name string, inode (as in rows)
//            data, then zeros up to a multiple of 8
//
// A record is never rewritten, but its data may become holes when no row names it. With the table lost, names, attributes and
// data can be read back from records alone (as OBFS rebuilds its tables from onodes); where two records name one inode, the one with the later
// ctime is current.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/table/inode.h"

namespace cffs {

inline constexpr std::size_t kCompositeHeaderBytes = 32;
inline constexpr std::size_t kRecordHeaderBytes = 40;
// A name and attributes of one file (xattr(7): names of 64 KiB, values of 64 KiB each).
inline constexpr std::uint64_t kLargestMeta = std::uint64_t{2} << 30;

std::string encode_composite_header(CompositeId id);
// Checks magic, format and checksum.
Status check_composite_header(std::string_view bytes, CompositeId id);

// What a record says about its subfile, beside the data.
struct RecordMeta {
  std::uint32_t slot = 0;
  std::uint64_t data_length = 0;
  std::uint64_t data_checksum = 0;
  InodeId parent;
  std::string name;
  InodeId ino;
  std::size_t meta_bytes = 0;  // record header and meta, up to the data

  std::uint64_t record_bytes() const;  // header, meta, data, padding
};

// Appends one record to `out`; returns where its data begins, counted from out's start.
std::size_t append_record(std::string& out, std::uint32_t slot, InodeId parent, std::string_view name,
                          const Inode& inode, std::string_view data, std::uint64_t data_checksum);

// How long the meta of the record that begins at bytes[0] says it is; 0 where there is no header.
std::uint64_t meta_length(std::string_view bytes);
// Reads the record that begins at bytes[0]; `bytes` holds at least header and meta, not necessarily the data.
// nullopt: `bytes` is too short to tell.
Result<std::optional<RecordMeta>> parse_record(std::string_view bytes);
// The inode that such a record, which is whole, carries: as it was before the move.
Result<Inode> record_inode(std::string_view bytes);

}  // namespace cffs
