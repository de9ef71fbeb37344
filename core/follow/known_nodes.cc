#include "core/follow/known_nodes.h"

#include <algorithm>
#include <utility>

namespace cffs {
namespace {

constexpr unsigned kRevisionShift = 57;  // bit 56 is for those above us (the root of a mount)
constexpr std::uint64_t kRevisions = 1u << (64 - kRevisionShift);
constexpr std::uint64_t kNoRevision = ~std::uint64_t{0};

InodeId with_revision(InodeId ino, std::uint64_t revision) {
  return InodeId{ino.value | (revision << kRevisionShift)};
}

}  // namespace

InodeId KnownNodes::node_of(InodeId ino) const {
  const auto it = revisions_.find(ino);
  return it == revisions_.end() || it->second == kNoRevision ? ino : with_revision(ino, it->second);
}

KnownNodes::Known* KnownNodes::find(InodeId node) {
  const auto it = nodes_.find(node);
  return it == nodes_.end() ? nullptr : &it->second;
}

void KnownNodes::refer(InodeId node, EntryName place, bool is_directory) {
  Known& known = nodes_[node];
  known.place = std::move(place);
  known.references += 1;
  known.is_directory = is_directory;
}

std::optional<InodeId> KnownNodes::refer_shown(InodeId ino) {
  if (!has_number(ino)) return {};
  const InodeId node = node_of(ino);
  Known* const known = find(node);
  if (known == nullptr || known->pinned) return {};
  known->references += 1;
  return node;
}

bool KnownNodes::forget(InodeId node, std::uint64_t references) {
  const auto it = nodes_.find(node);
  if (it == nodes_.end()) return false;
  it->second.references -= std::min(it->second.references, references);
  if (it->second.references > 0) return false;
  nodes_.erase(it);
  const InodeId ino = number_of(node);
  if (const auto revised = revisions_.find(ino); revised != revisions_.end()) {
    for (std::uint64_t revision = 0; revision < kRevisions; ++revision) {
      if (nodes_.contains(with_revision(ino, revision))) return false;
    }
    revisions_.erase(revised);
  }
  return true;
}

// Who has it open goes on with the content that it has in this state.
void KnownNodes::keep_for_readers(Known& known, const StatePtr& current) {
  if (known.opened > 0 && !known.pinned) known.pinned = current;
}

// The file is another one from now on.
void KnownNodes::set_apart(InodeId ino, const StatePtr& current) {
  Known* const known = find(node_of(ino));
  if (known == nullptr) return;
  keep_for_readers(*known, current);
  revisions_[ino] = free_revision(ino);
}

// One by which nobody knows the file; kNoRevision: there is none.
std::uint64_t KnownNodes::free_revision(InodeId ino) const {
  const auto it = revisions_.find(ino);
  const std::uint64_t last = it == revisions_.end() ? 0 : it->second;
  for (std::uint64_t step = 1; step <= kRevisions; ++step) {
    const std::uint64_t revision = (last + step) % kRevisions;
    if (!nodes_.contains(with_revision(ino, revision))) return revision;
  }
  return kNoRevision;
}

bool KnownNodes::has_number(InodeId ino) {
  const auto it = revisions_.find(ino);
  if (it == revisions_.end() || it->second != kNoRevision) return true;
  it->second = free_revision(ino);
  return it->second != kNoRevision;
}

Moved KnownNodes::move_on(const StatePtr& current, const StateChanges* changes) {
  Moved moved;
  moved.everything = changes == nullptr;
  if (changes == nullptr) {
    std::vector<InodeId> files;
    for (const auto& [node, known] : nodes_) {
      moved.names.push_back(known.place);
      if (known.is_directory) moved.listings.push_back(node);
      moved.attributes.push_back(node);
      if (!known.is_directory && node == node_of(number_of(node))) files.push_back(number_of(node));
    }
    if (!nodes_.contains(kRootInode)) {  // nobody looks it up, and it is shown all the same
      moved.listings.push_back(kRootInode);
      moved.attributes.push_back(kRootInode);
    }
    for (const InodeId ino : files) set_apart(ino, current);
    return moved;
  }
  moved.names = changes->names;
  moved.listings = changes->listings;
  for (const auto& [ino, place] : changes->places) {
    if (Known* const known = find(node_of(ino))) known->place = place;
  }
  for (const InodeId ino : changes->attributes) moved.attributes.push_back(node_of(ino));
  for (const InodeId ino : changes->contents) {
    const Known* const known = find(node_of(ino));
    if (known == nullptr) continue;
    moved.names.push_back(known->place);
    set_apart(ino, current);
  }
  for (const InodeId ino : changes->gone) {
    if (Known* const known = find(node_of(ino))) keep_for_readers(*known, current);
  }
  return moved;
}

std::vector<InodeId> KnownNodes::some_asleep(std::size_t most) {
  std::vector<InodeId> some;
  auto it = nodes_.find(asked_);
  for (std::size_t seen = 0; seen < nodes_.size() && some.size() < most; ++seen) {
    if (it == nodes_.end()) it = nodes_.begin();
    if (!it->second.is_directory && it->second.opened == 0) some.push_back(it->first);
    asked_ = it->first;
    ++it;
  }
  return some;
}

}  // namespace cffs
