#include "core/reorganise/sealing.h"

#include <algorithm>
#include <vector>

#include "core/base/no_room.h"
#include "core/fs/staged_directories.h"
#include "core/reorganise/quiet_file.h"

namespace cffs {
namespace {

// Those beyond are left to `cffs scrub`: a bound on memory, some 100 bytes each.
constexpr std::size_t kMostWaiting = 65536;

}  // namespace

bool Sealing::wanted(const StoreFormat& format, const Inode& inode) {
  return format.blob_checksums && inode.home == Home::blob && !inode.sealed && inode.size > 0;
}

void Sealing::note(const FileToMove& file) {
  const MutexLock guard(mutex_);
  if (waiting_.size() < kMostWaiting) waiting_.insert_or_assign(file.inode.ino, file.at);
}

bool Sealing::empty() const {
  const MutexLock guard(mutex_);
  return waiting_.empty();
}

Status Sealing::run(std::int64_t quiet_before_ns, const std::function<bool()>& go_on) {
  std::map<InodeId, EntryName> due;
  {
    const MutexLock guard(mutex_);
    due = waiting_;
  }
  for (const auto& [ino, at] : due) {
    if (!go_on()) break;
    bool later = false;
    CFFS_TRY_VOID(seal(at, ino, quiet_before_ns, go_on, later));
    if (later) continue;
    const MutexLock guard(mutex_);
    waiting_.erase(ino);
  }
  return {};
}

Status Sealing::seal(const EntryName& at, InodeId ino, std::int64_t quiet_before_ns,
                     const std::function<bool()>& go_on, bool& later) {
  Rehousing& rehousing = fs_.rehousing();
  // The commit makes many durable at once; asked for one by one they would cost the medium a commit of its own each.
  later = quiet_before_ns != kAll && rehousing.waits_for_commit(ino);
  if (later) return {};
  auto looked_up = rehousing.find(at, ino);
  if (!looked_up && looked_up.error().is_damage()) return {};
  CFFS_TRY(const auto file, std::move(looked_up));
  if (!file || !wanted(fs_.store_format(), file->inode)) return {};
  later = !is_quiet(file->inode, quiet_before_ns, fs_.clock());
  if (later) return {};
  const auto sealed = rehousing.seal(*file, go_on);
  if (sealed) {
    later = !*sealed;
    return {};
  }
  if (fs_.table().failed()) return fail(sealed.error());
  const int reason = sealed.error().errno_value;
  later = is_no_room(reason) || reason == EMFILE || reason == ENFILE;
  if (later) return {};
  fs_.log("inode " + std::to_string(ino.value) + " (" + at.name +
          ") gets no checksums: " + sealed.error().message());
  return {};
}

Status Sealing::leave() {
  std::vector<InodeId> directories;
  {
    const MutexLock guard(mutex_);
    for (const auto& [ino, at] : waiting_) directories.push_back(at.parent);
    waiting_.clear();
  }
  std::sort(directories.begin(), directories.end());
  directories.erase(std::unique(directories.begin(), directories.end()), directories.end());
  fs_.staged_directories().put_back(directories);
  return fs_.staged_directories().remember(directories);
}

}  // namespace cffs
