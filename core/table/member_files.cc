#include "core/table/member_files.h"

#include "core/base/bytes.h"

namespace cffs {
namespace {

constexpr std::uint8_t kSeveral = 0;  // no directory has the number 0, with which the row of a renamed file would begin

tl::unexpected<Error> malformed() {
  return fail(Error::corruption("the row of a member's files is malformed"));
}

}  // namespace

std::string encode_member_files(const MemberFiles& row) {
  std::string out;
  ByteWriter w(out);
  const bool renamed = row.files.size() == 1 && row.files.front().ino.value == 0;
  if (!renamed) {
    w.u8(kSeveral);
    w.varint(row.files.size());
  }
  for (const MemberFile& file : row.files) {
    if (!renamed) w.varint(file.ino.value);
    w.varint(file.at.parent.value);
    w.string(file.at.name);
  }
  return out;
}

Result<MemberFiles> decode_member_files(std::string_view bytes) {
  const bool renamed = !bytes.empty() && bytes.front() != static_cast<char>(kSeveral);
  ByteReader r(bytes);
  std::uint64_t count = 1;
  if (!renamed) {
    (void)r.u8();
    count = r.varint();
    if (!r.ok() || count == 0 || count > kMostSharers) return malformed();
  }
  MemberFiles row;
  for (std::uint64_t i = 0; i < count; ++i) {
    MemberFile file;
    if (!renamed) file.ino.value = r.varint();
    file.at.parent.value = r.varint();
    file.at.name = r.string();
    const bool possible = file.ino.value < kInodeLimit && file.at.parent.value < kInodeLimit &&
                          (renamed || file.ino.value >= kFirstInode);
    if (!r.ok() || !possible) return malformed();
    row.files.push_back(std::move(file));
  }
  if (!r.at_end()) return malformed();
  return row;
}

}  // namespace cffs
