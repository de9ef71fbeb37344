// System rows, pending removals, moved members.
#include <catch2/catch.hpp>

#include "core/table/member_files.h"
#include "core/table/pending_removal.h"
#include "core/table/row.h"
#include "core/table/system_rows.h"

namespace cffs::test {
namespace {

bool mentions(const std::string& sentence, std::string_view part) {
  return sentence.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("system rows keep their keys and bytes") {
  REQUIRE(system_key(SystemField::first_unreserved) == Key::tagged(KeyTag::system, 0, 1));
  REQUIRE(system_key(SystemField::open_boot) == Key::tagged(KeyTag::system, 0, 2));
  REQUIRE(system_key(SystemField::file_count) == Key::tagged(KeyTag::system, 0, 3));
  REQUIRE(system_field(Key::tagged(KeyTag::system, 0, 3)) == SystemField::file_count);
  REQUIRE(system_key(SystemField::log_synced) == Key::tagged(KeyTag::system, 0, 4));
  REQUIRE(system_key(SystemField::scrub) == Key::tagged(KeyTag::system, 0, 5));
  REQUIRE(system_key(SystemField::unclean_ends) == Key::tagged(KeyTag::system, 0, 6));
  REQUIRE(system_key(SystemField::values) == Key::tagged(KeyTag::system, 0, 7));
  REQUIRE(system_key(SystemField::compression) == Key::tagged(KeyTag::system, 0, 8));
  REQUIRE(system_key(SystemField::sharing) == Key::tagged(KeyTag::system, 0, 9));
  REQUIRE(encode_sharing(true) == std::string(1, 1));
  REQUIRE(*decode_sharing(encode_sharing(false)) == false);
  REQUIRE_FALSE(decode_sharing("\2"));
  REQUIRE_FALSE(decode_sharing("11"));
  REQUIRE_FALSE(system_field(Key::tagged(KeyTag::system, 0, 10)));
  REQUIRE_FALSE(system_field(Key::tagged(KeyTag::system, 1, 3)));
  REQUIRE_FALSE(system_field(Key::tagged(KeyTag::file_data, 0, 3)));

  const std::string bytes = encode_system_number(0x0102030405060708);
  const auto synced = decode_log_synced(encode_log_synced({5, 4096}));
  REQUIRE((synced && synced->log == 5 && synced->bytes == 4096));
  REQUIRE_FALSE(decode_log_synced("short"));
  REQUIRE(bytes == "\x08\x07\x06\x05\x04\x03\x02\x01");
  REQUIRE(*decode_system_number(SystemField::file_count, bytes) == 0x0102030405060708);
  const auto cut = decode_system_number(SystemField::file_count, bytes.substr(1));
  REQUIRE(cut.error().kind == ErrorKind::corruption);
  REQUIRE(mentions(cut.error().message(), "the count of files is malformed"));
  REQUIRE_FALSE(decode_system_number(SystemField::file_count, bytes + "x"));
}

TEST_CASE("pending removals tell kinds apart, and leave what they do not know alone") {
  const auto composite = PendingRemoval::of(CompositeId{7});
  const auto blob = PendingRemoval::of_blob(InodeId{7});
  REQUIRE(composite.key() == Key::tagged(KeyTag::pending_removal, 7, 1));
  REQUIRE(blob.key() == Key::tagged(KeyTag::pending_removal, 7, 2));
  REQUIRE(decode_pending_removal(composite.key()) == composite);
  REQUIRE(decode_pending_removal(blob.key()) == blob);
  const auto nameless = PendingRemoval::of_nameless(InodeId{7});
  REQUIRE(nameless.key() == Key::tagged(KeyTag::pending_removal, 7, 3));
  REQUIRE(decode_pending_removal(nameless.key()) == nameless);
  REQUIRE((blob.is_object() && composite.is_object() && !nameless.is_object()));
  REQUIRE_FALSE(decode_pending_removal(Key::tagged(KeyTag::pending_removal, 7, 4)));
  REQUIRE_FALSE(decode_pending_removal(Key::tagged(KeyTag::staged_directory, 7, 1)));
}

TEST_CASE("a moved member's row says where to") {
  const std::string bytes = encode_member_files({{{{}, {InodeId{300}, "name"}}}});
  REQUIRE(bytes == "\xac\x02\x04name");
  const auto row = decode_member_files(bytes);
  REQUIRE(row->files.front().at == EntryName{InodeId{300}, "name"});
  for (std::size_t n = 0; n < bytes.size(); ++n) REQUIRE_FALSE(decode_member_files(bytes.substr(0, n)));
  REQUIRE_FALSE(decode_member_files(bytes + "x"));
}

TEST_CASE("a record that several files have says who they are") {
  const MemberFiles files{{{InodeId{7}, {}}, {InodeId{300}, {InodeId{0}, "n"}}}};
  const std::string bytes = encode_member_files(files);
  REQUIRE(bytes == std::string("\x80\x00\x02\x07\x00\x00\xac\x02\x00\x01n", 11));
  REQUIRE(decode_member_files(bytes)->files == files.files);
  for (std::size_t n = 0; n < bytes.size(); ++n) REQUIRE_FALSE(decode_member_files(bytes.substr(0, n)));
  REQUIRE_FALSE(decode_member_files(bytes + "x"));
  // One that went to the root, whose number is 0, is no list.
  REQUIRE(decode_member_files(encode_member_files({{{{}, {kRootInode, "n"}}}}))->files.front().at ==
          EntryName{kRootInode, "n"});
}

}  // namespace cffs::test
