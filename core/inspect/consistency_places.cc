// Whether a row lies where its own content says, and whether the place that it gives a member is one that the composite has.
#include "core/base/printable.h"
#include "core/composite/composite_store.h"
#include "core/fs/rehousing.h"
#include "core/inspect/consistency.h"
#include "core/inspect/row_names.h"

namespace cffs {

// Of the directory the row knows nothing: a name is judged by its hash, a row without one by its inode's number.
void ConsistencyCheck::check_key(Key key, const Entry& entry) {
  if (entry.name.empty()) {
    if (key == Key::null_name(entry.ino)) return;
    report("row " + key_text(key) + ": it has inode " + std::to_string(entry.ino.value) +
           " that has several names, whose key is another, so that none of them leads to it; "
           "cffs fsck --repair puts it there");
    return;
  }
  const Key right = fs_.rehousing().entry_key(InodeId{key.upper}, entry.name);
  if (key == right) return;
  report("row " + key_text(key) + ": it has '" + printable(entry.name) + "' of directory " +
         std::to_string(key.upper) + " (inode " + std::to_string(entry.ino.value) +
         "), whose key is another, so that nobody finds the name; cffs fsck --repair puts it there");
}

void ConsistencyCheck::note_member(Key key, const Inode& inode) {
  const Extent& e = inode.extent;
  CheckedMember member;
  member.ino = inode.ino;
  member.composite = e.composite;
  member.offset = e.offset;
  member.checksum = e.checksum;
  member.length = static_cast<std::uint32_t>(e.length);
  member.slot = e.slot;
  member.place = place_mark(key);
  member.room = room_mark(e) & ((1u << kRoomMarkBits) - 1);
  member.is_linked = key.lower == 0;
  member.is_renamed = e.moved;
  members_.push_back(member);
  const std::string object = CompositeStore::object_name(e.composite);
  if (e.capacity != room_of_record(e.offset, e.length)) {
    report(inode.ino.value, ": its row says that slot " + std::to_string(e.slot) + " of " + object + " has " +
                                std::to_string(e.capacity) + " bytes of room, and it has " +
                                std::to_string(room_of_record(e.offset, e.length)) +
                                ": cffs fsck --repair corrects that");
  }
  if (!is_in_its_group(e)) {
    report(inode.ino.value, ": its row names a group of " + object +
                                " that does not hold it: cffs fsck --repair makes one of it alone");
  }
  Furthest& furthest = furthest_[e.composite];
  if (e.group_offset + e.group_length <= furthest.end) return;
  furthest = {e.group_offset + e.group_length, inode.ino};
}

void ConsistencyCheck::check_groups() {
  for (const auto& [id, furthest] : furthest_) {
    const auto row = rows_.find(id);
    if (row == rows_.end() || furthest.end <= row->second.size) continue;
    report(furthest.ino.value, ": its row names a group of " + CompositeStore::object_name(id) +
                                   " that ends behind all records, at byte " + std::to_string(furthest.end) +
                                   ": cffs fsck --repair makes one of it alone");
  }
  furthest_.clear();
}

}  // namespace cffs
