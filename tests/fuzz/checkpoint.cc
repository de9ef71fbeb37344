// What a writer leaves for those who follow it. The first byte says what the rest is:
//   0  a checkpoint, as it is            1  its body, with a right head before it
//   2  the object of an epoch, as it is  3  one record's fields and bytes, with a right checksum, twice
//   4  a log of the table, as it is, of which the keys are asked
#include "core/table/checkpoint.h"

#include "core/base/checksum.h"
#include "core/follow/changed_keys.h"
#include "core/follow/past_bytes.h"
#include "core/fs/kept_bytes.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

using namespace cffs;

void judge_checkpoint(std::string_view bytes) {
  const auto checkpoint = decode_checkpoint(bytes);
  if (!checkpoint) return;
  const auto again = decode_checkpoint(encode_checkpoint(*checkpoint));
  CFFS_INVARIANT(again && again->sequence == checkpoint->sequence && again->table == checkpoint->table);
}

void judge_kept(std::string_view bytes) {
  MemoryStore store;
  fuzz::put(store, kept_object_name(7), bytes);
  PastBytes past(store);
  std::string out(100, 'n');
  for (const std::uint64_t ino : {std::uint64_t{2}, std::uint64_t{5}}) {
    const auto n = past.restore(InodeId{ino}, 7, false, 50, as_writable_bytes(out), 10);
    if (n) CFFS_INVARIANT(*n >= 10 && *n <= out.size());
    for (const bool published : {false, true}) (void)past.has(InodeId{ino}, 7, published);
  }
  while (const auto record = decode_kept(bytes)) {
    CFFS_INVARIANT(encode_kept(record->first) == bytes.substr(0, record->second));
    bytes.remove_prefix(record->second);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = fuzz::text_of(data + 1, size - 1);
  switch (data[0]) {
    case 0: judge_checkpoint(bytes); break;
    case 1: {
      std::string whole = "cffsCKPT";
      ByteWriter head(whole);
      head.u32(1);
      head.u32(static_cast<std::uint32_t>(bytes.size()));
      head.u64(checksum(bytes));
      judge_checkpoint(whole.append(bytes));
      break;
    }
    case 2: judge_kept(bytes); break;
    case 3: {
      ByteReader fields(bytes);
      KeptRecord record;
      record.ino = InodeId{fields.varint()};
      record.offset = fields.varint();
      record.bytes = bytes.substr(std::min<std::size_t>(bytes.size(), 4));
      const std::string encoded = encode_kept(record);
      judge_kept(encoded + encoded);
      break;
    }
    case 4: {
      MemoryStore store;
      fuzz::put(store, "table/000005.log", bytes);
      (void)changed_keys(store, {"table/MANIFEST-000004", 0, {{"table/000005.log", 0}}},
                         {"table/MANIFEST-000004", 0, {{"table/000005.log", bytes.size()}}});
      break;
    }
    default: break;
  }
  return 0;
}
