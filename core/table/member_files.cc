#include "core/table/member_files.h"

#include <algorithm>

#include "core/base/bytes.h"

namespace cffs {
namespace {

// The row of a file that was renamed begins with its directory's number; that one, 0 in two bytes, is never written.
constexpr std::string_view kSeveral("\x80\x00", 2);

constexpr std::size_t kLongestPlaceName = 255;  // bytes

tl::unexpected<Error> malformed() {
  return fail(Error::corruption("the row of a member's files is malformed"));
}

}  // namespace

std::string encode_member_files(const MemberFiles& row) {
  std::string out;
  ByteWriter w(out);
  const bool renamed = row.files.size() == 1 && !row.is_shared();
  if (!renamed) {
    out += kSeveral;
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
  const bool renamed = !bytes.starts_with(kSeveral);
  ByteReader r(renamed ? bytes : bytes.substr(kSeveral.size()));
  std::uint64_t count = 1;
  if (!renamed) {
    count = r.varint();
    if (!r.ok() || count == 0 || count > kMostSharers) return malformed();
  }
  MemberFiles row;
  for (std::uint64_t i = 0; i < count; ++i) {
    MemberFile file;
    if (!renamed) file.ino.value = r.varint();
    file.at.parent.value = r.varint();
    file.at.name = r.string();
    const bool is_name = file.at.name.size() <= kLongestPlaceName &&
                         file.at.name.find('/') == std::string::npos &&
                         file.at.name.find('\0') == std::string::npos;
    const bool met = std::any_of(row.files.begin(), row.files.end(),
                                 [&](const MemberFile& other) { return other.ino == file.ino; });
    const bool possible = is_name && !met && file.ino.value < kInodeLimit &&
                          file.at.parent.value < kInodeLimit && (renamed || file.ino.value >= kFirstInode);
    if (!r.ok() || !possible) return malformed();
    row.files.push_back(std::move(file));
  }
  if (!r.at_end()) return malformed();
  return row;
}

}  // namespace cffs
