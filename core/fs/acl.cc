#include "core/fs/acl.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"

namespace cffs {
namespace {

constexpr std::uint32_t kVersion = 2;
constexpr std::size_t kHeaderBytes = 4;
constexpr std::size_t kEntryBytes = 8;

}  // namespace

Result<std::optional<Acl>> Acl::parse(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes || (bytes.size() - kHeaderBytes) % kEntryBytes != 0) return fail(EINVAL);
  ByteReader r(bytes);
  if (r.u32() != kVersion) return fail(EOPNOTSUPP);
  Acl acl;
  while (!r.at_end()) {
    const std::uint32_t tag_and_permissions = r.u32();
    acl.entries_.push_back({static_cast<Tag>(tag_and_permissions & 0xffff),
                            static_cast<std::uint16_t>(tag_and_permissions >> 16), r.u32()});
  }
  if (acl.entries_.empty()) return std::optional<Acl>();
  if (!acl.is_valid()) return fail(EINVAL);
  return std::optional<Acl>(std::move(acl));
}

Result<Acl> Acl::of(std::vector<Entry> entries) {
  const auto place = [](const Entry& e) { return std::pair(e.tag, e.id); };
  Acl acl;
  acl.entries_ = std::move(entries);
  std::sort(acl.entries_.begin(), acl.entries_.end(),
            [&](const Entry& a, const Entry& b) { return place(a) < place(b); });
  const auto twice = std::adjacent_find(acl.entries_.begin(), acl.entries_.end(),
                                        [&](const Entry& a, const Entry& b) { return place(a) == place(b); });
  if (twice != acl.entries_.end() || !acl.is_valid()) return fail(EINVAL);
  return acl;
}

// One owner, one group and one entry for others; a mask where anybody is named; in order, nobody twice.
bool Acl::is_valid() const {
  const auto count = [this](Tag tag) {
    return std::count_if(entries_.begin(), entries_.end(), [tag](const Entry& e) { return e.tag == tag; });
  };
  for (const Entry& e : entries_) {
    if (e.permissions > 7) return false;
    const bool named = e.tag == Tag::user || e.tag == Tag::named_group;
    if (named && e.id == kNoId) return false;
    if (!named && e.tag != Tag::owner && e.tag != Tag::group && e.tag != Tag::mask && e.tag != Tag::others) {
      return false;
    }
  }
  const bool names = count(Tag::user) + count(Tag::named_group) > 0;
  if (count(Tag::owner) != 1 || count(Tag::group) != 1 || count(Tag::others) != 1) return false;
  if (count(Tag::mask) > 1 || (names && count(Tag::mask) == 0)) return false;
  return std::is_sorted(entries_.begin(), entries_.end(),
                        [](const Entry& a, const Entry& b) { return a.tag < b.tag; });
}

std::string Acl::bytes() const {
  std::string out;
  ByteWriter w(out);
  w.u32(kVersion);
  for (const Entry& e : entries_) {
    w.u32(static_cast<std::uint32_t>(e.tag) | static_cast<std::uint32_t>(e.permissions) << 16);
    w.u32(e.id);
  }
  return out;
}

const Acl::Entry* Acl::find(Tag tag) const {
  const auto at =
      std::find_if(entries_.begin(), entries_.end(), [tag](const Entry& e) { return e.tag == tag; });
  return at == entries_.end() ? nullptr : &*at;
}

Acl::Entry* Acl::find(Tag tag) { return const_cast<Entry*>(std::as_const(*this).find(tag)); }

const Acl::Entry& Acl::group_class() const {
  const Entry* mask = find(Tag::mask);
  return mask != nullptr ? *mask : *find(Tag::group);
}

Acl::Entry& Acl::group_class() { return const_cast<Entry&>(std::as_const(*this).group_class()); }

mode_t Acl::permissions() const {
  return static_cast<mode_t>(find(Tag::owner)->permissions << 6 | group_class().permissions << 3 |
                             find(Tag::others)->permissions);
}

mode_t Acl::permissions_without() const {
  const std::uint16_t group = find(Tag::group)->permissions & group_class().permissions;
  return (permissions() & ~static_cast<mode_t>(0070)) | static_cast<mode_t>(group << 3);
}

bool Acl::is_minimal() const { return entries_.size() == 3; }

void Acl::change_mode(mode_t mode) {
  find(Tag::owner)->permissions = mode >> 6 & 7;
  group_class().permissions = mode >> 3 & 7;
  find(Tag::others)->permissions = mode & 7;
}

Acl Acl::inherited(mode_t& mode) const {
  Acl made = *this;
  const mode_t narrowed = permissions() & mode;
  made.change_mode(narrowed);
  mode = (mode & ~static_cast<mode_t>(0777)) | narrowed;
  return made;
}

mode_t mode_without_acl(mode_t mode, std::string_view list) {
  const auto acl = Acl::parse(list);
  if (!acl) return mode & ~static_cast<mode_t>(0077);
  return *acl ? (mode & ~static_cast<mode_t>(0777)) | (*acl)->permissions_without() : mode;
}

}  // namespace cffs
