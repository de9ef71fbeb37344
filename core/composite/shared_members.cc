#include "core/composite/shared_members.h"

#include <algorithm>

#include "core/table/system_rows.h"

namespace cffs {
namespace {

// The file of this number, or the only one, whose number is the record's to say.
std::vector<MemberFile>::iterator find(std::vector<MemberFile>& files, InodeId ino) {
  return std::find_if(files.begin(), files.end(),
                      [ino](const MemberFile& f) { return f.ino == ino || f.ino.value == 0; });
}

}  // namespace

Result<bool> may_share(const Table& table) {
  CFFS_TRY(const auto said, table.get(system_key(SystemField::sharing)));
  bool used = said.has_value();
  CFFS_TRY_VOID(table.scan_tag(KeyTag::content, [&used](Key, std::string_view) {
    used = true;
    return false;
  }));
  return used;
}

void SharedMembers::own(const Extent& extent, InodeId ino) {
  Member& member = members_[{extent.composite, extent.slot}];
  member.extent = extent;
  member.files = {{ino, {}}};
  member.is_new = true;
  note_content(extent, ino);
}

void SharedMembers::note_content(const Extent& extent, InodeId owner) {
  if (table_.sharing() != Sharing::on || extent.length < kLeastShared) return;
  ContentRow row{extent, owner};
  row.extent.moved = false;
  contents_.insert_or_assign(content_key(extent), row);
}

Status SharedMembers::offer(const Extent& extent, InodeId ino) {
  CFFS_TRY(const Member* const member, this->member(extent));
  const MemberFile& first = member->files.front();
  note_content(extent, first.ino.value == 0 ? ino : first.ino);
  return {};
}

Result<SharedMembers::Member*> SharedMembers::member(const Extent& extent) {
  const std::pair key{extent.composite, extent.slot};
  if (const auto known = members_.find(key); known != members_.end()) return &known->second;
  Member member{extent, {{}}, false, false};
  CFFS_TRY(const auto row, table_.get(Key::member_files(extent.composite, extent.slot)));
  if (row) {
    CFFS_TRY(MemberFiles files, decode_member_files(*row));
    member.files = std::move(files.files);
    member.has_row = true;
  }
  return &members_.emplace(key, std::move(member)).first->second;
}

// One that is malformed is as good as none.
Result<std::optional<ContentRow>> SharedMembers::content(Key key) const {
  if (const auto known = contents_.find(key); known != contents_.end()) return std::optional(known->second);
  CFFS_TRY(const auto value, table_.get(key));
  auto row = value ? decode_content_row(key, *value) : Result<ContentRow>(fail(ENOENT));
  return row ? std::optional(std::move(*row)) : std::nullopt;
}

Result<bool> SharedMembers::join(const Extent& seen, const MemberFile& file) {
  const auto written = members_.find({seen.composite, seen.slot});
  const bool is_new = written != members_.end() && written->second.is_new;
  CFFS_TRY(const auto now, content(content_key(seen)));
  const bool there = now && now->extent == seen;
  if (!there && !is_new) return false;
  CFFS_TRY(Member* const member, this->member(seen));
  if (member->files.size() >= kMostSharers) return false;
  MemberFile& first = member->files.front();
  if (first.ino.value == 0) first.ino = now->owner;
  if (find(member->files, file.ino) != member->files.end()) return false;
  member->files.push_back(file);
  return true;
}

// A row of one file says where it was renamed to; of several, who they are.
void SharedMembers::put(Batch& batch, const Member& member) {
  const Key key = Key::member_files(member.extent.composite, member.extent.slot);
  const MemberFile& first = member.files.front();
  const bool as_recorded =
      member.files.size() == 1 && first.at.name.empty() && (member.is_new || first.ino.value == 0);
  if (!as_recorded) {
    batch.put(key, encode_member_files({member.files}));
  } else if (member.has_row) {
    batch.erase(key);
  }
}

Result<std::vector<Extent>> SharedMembers::write(Batch& batch) {
  for (auto& [extent, to] : moves_) {
    CFFS_TRY(Member* const member, this->member(extent));
    const auto it = find(member->files, to.ino);
    if (it != member->files.end()) it->at = std::move(to.at);
  }
  for (const auto& [extent, ino] : leaves_) {
    CFFS_TRY(Member* const member, this->member(extent));
    const auto it = find(member->files, ino);
    if (it != member->files.end()) member->files.erase(it);
  }
  std::vector<Extent> freed;
  for (const auto& [key, member] : members_) {
    if (!member.files.empty()) {
      put(batch, member);
      continue;
    }
    freed.push_back(member.extent);
    if (member.has_row) batch.erase(Key::member_files(key.first, key.second));
    const Key found_by = content_key(member.extent);
    const auto looked = content(found_by);
    if (!looked && !looked.error().is_damage()) return fail(looked.error());
    // One that cannot be read may name it.
    const bool names_it = !looked || (*looked && (*looked)->extent.composite == key.first &&
                                      (*looked)->extent.slot == key.second);
    if (names_it && contents_.erase(found_by) == 0) batch.erase(found_by);
  }
  for (const auto& [key, row] : contents_) batch.put(key, encode_content_row(row));
  return freed;
}

}  // namespace cffs
