// Access control lists on their way into an archive's member and back: nobody may do more behind it than before.
#include "core/transfer/archive_acls.h"

#include <archive_entry.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "core/fs/acl.h"

namespace cffs::test {
namespace {

using Tag = Acl::Tag;
using AclEntries = std::vector<Acl::Entry>;

struct ArchiveMember {
  const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry{archive_entry_new(),
                                                                       archive_entry_free};
  archive_entry* get() const { return entry.get(); }
};

std::string acl_bytes(AclEntries entries) {
  const auto acl = Acl::of(std::move(entries));
  REQUIRE(acl);
  return acl->bytes();
}

Inode plain_file(mode_t mode) {
  Inode inode;
  inode.mode = S_IFREG | mode;
  return inode;
}

std::string xattr_of(const Inode& inode, std::string_view name) {
  for (const auto& [key, value] : inode.xattrs)
    if (key == name) return value;
  return {};
}

constexpr std::uint32_t kNoBody = Acl::kNoId;
// rw for the owner, r for the group, rw for user 10 and group 20, of all that the mask leaves rw.
const AclEntries kNamedList{{Tag::owner, 6, kNoBody},  {Tag::user, 6, 10},      {Tag::group, 4, kNoBody},
                            {Tag::named_group, 6, 20}, {Tag::mask, 6, kNoBody}, {Tag::others, 0, kNoBody}};

}  // namespace

TEST_CASE("a list comes back from a member as it was", "[transfer]") {
  for (const std::string_view name : {kAccessAcl, kDefaultAcl}) {
    const ArchiveMember member;
    const auto says_all = add_acl(member.get(), name, acl_bytes(kNamedList));
    REQUIRE(says_all);
    CHECK(*says_all);
    Inode inode = plain_file(0640);
    CHECK(take_acls(member.get(), true, inode).empty());
    CHECK(xattr_of(inode, name) == acl_bytes(kNamedList));
    // The group's bits of the mode are the mask.
    if (name == kAccessAcl) CHECK((inode.mode & 0777) == 0660);
  }
}

TEST_CASE("what a mask takes from the group a reader without lists does not give it", "[transfer]") {
  const ArchiveMember member;
  const AclEntries narrow{{Tag::owner, 7, kNoBody},
                          {Tag::user, 7, 10},
                          {Tag::group, 7, kNoBody},
                          {Tag::mask, 1, kNoBody},
                          {Tag::others, 0, kNoBody}};
  const auto says_all = add_acl(member.get(), kAccessAcl, acl_bytes(narrow));
  REQUIRE(says_all);
  CHECK_FALSE(*says_all);  // so the attribute goes along
  Inode inode = plain_file(0710);
  inode.xattrs.emplace_back(kAccessAcl, acl_bytes(narrow));
  CHECK(take_acls(member.get(), true, inode).empty());
  CHECK(xattr_of(inode, kAccessAcl) == acl_bytes(narrow));
  CHECK((inode.mode & 0777) == 0710);
}

TEST_CASE("numbers that no int holds come back", "[transfer]") {
  AclEntries large = kNamedList;
  large[1].id = 4'000'000'000;
  const ArchiveMember member;
  REQUIRE(add_acl(member.get(), kAccessAcl, acl_bytes(large)));
  Inode inode = plain_file(0660);
  CHECK(take_acls(member.get(), true, inode).empty());
  CHECK(xattr_of(inode, kAccessAcl) == acl_bytes(large));
}

TEST_CASE("a list that its reader did not understand leaves the file to its owner", "[transfer]") {
  const ArchiveMember member;
  Inode inode = plain_file(0664);
  const auto problems = take_acls(member.get(), false, inode);
  CHECK(problems.size() == 1);
  CHECK((inode.mode & 0777) == 0600);
  CHECK(inode.xattrs.empty());
  // Not where the attribute says what the text did not.
  Inode known = plain_file(0664);
  known.xattrs.emplace_back(kAccessAcl, acl_bytes(kNamedList));
  CHECK(take_acls(member.get(), false, known).empty());
  CHECK((known.mode & 0777) == 0660);
}

TEST_CASE("an attribute that is no list leaves the file to its owner", "[transfer]") {
  const ArchiveMember member;
  Inode inode = plain_file(0644);
  inode.xattrs.emplace_back(kAccessAcl, "no list");
  inode.xattrs.emplace_back("user.note", "kept");
  CHECK(take_acls(member.get(), true, inode).size() == 1);
  CHECK((inode.mode & 0777) == 0600);
  REQUIRE(inode.xattrs.size() == 1);
  CHECK(inode.xattrs[0].first == "user.note");
}

TEST_CASE("who has no number and is nobody here is left out of a list, and told", "[transfer]") {
  const ArchiveMember member;
  archive_entry_acl_add_entry(member.get(), ARCHIVE_ENTRY_ACL_TYPE_ACCESS, 6, ARCHIVE_ENTRY_ACL_USER_OBJ, -1,
                              nullptr);
  archive_entry_acl_add_entry(member.get(), ARCHIVE_ENTRY_ACL_TYPE_ACCESS, 6, ARCHIVE_ENTRY_ACL_USER, -1,
                              "no such user as this");
  archive_entry_acl_add_entry(member.get(), ARCHIVE_ENTRY_ACL_TYPE_ACCESS, 4, ARCHIVE_ENTRY_ACL_GROUP_OBJ, -1,
                              nullptr);
  archive_entry_acl_add_entry(member.get(), ARCHIVE_ENTRY_ACL_TYPE_ACCESS, 4, ARCHIVE_ENTRY_ACL_MASK, -1,
                              nullptr);
  archive_entry_acl_add_entry(member.get(), ARCHIVE_ENTRY_ACL_TYPE_ACCESS, 0, ARCHIVE_ENTRY_ACL_OTHER, -1,
                              nullptr);
  Inode inode = plain_file(0640);
  const auto problems = take_acls(member.get(), true, inode);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].find("no such user as this") != std::string::npos);
  CHECK(xattr_of(inode, kAccessAcl) == acl_bytes({{Tag::owner, 6, kNoBody},
                                                  {Tag::group, 4, kNoBody},
                                                  {Tag::mask, 4, kNoBody},
                                                  {Tag::others, 0, kNoBody}}));
  CHECK((inode.mode & 0777) == 0640);
}

TEST_CASE("NFSv4's list that shuts somebody out leaves the file to its owner", "[transfer]") {
  const ArchiveMember allowing;
  archive_entry_acl_add_entry(allowing.get(), ARCHIVE_ENTRY_ACL_TYPE_ALLOW, ARCHIVE_ENTRY_ACL_READ_DATA,
                              ARCHIVE_ENTRY_ACL_USER, 10, "ten");
  Inode inode = plain_file(0644);
  CHECK(take_acls(allowing.get(), true, inode).size() == 1);
  CHECK((inode.mode & 0777) == 0644);

  const ArchiveMember denying;
  archive_entry_acl_add_entry(denying.get(), ARCHIVE_ENTRY_ACL_TYPE_DENY, ARCHIVE_ENTRY_ACL_READ_DATA,
                              ARCHIVE_ENTRY_ACL_USER, 10, "ten");
  Inode narrowed = plain_file(0644);
  CHECK(take_acls(denying.get(), true, narrowed).size() == 1);
  CHECK((narrowed.mode & 0777) == 0600);
}

}  // namespace cffs::test
