#include "core/transfer/destination_folders.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "core/fs/acl.h"
#include "core/fs/check_name.h"

namespace cffs {
namespace {

constexpr std::size_t kOpenFolders = 64;

DestinationFolders::Open folder_of(FileDescriptor fd) {
  const bool gives_acl = ::fgetxattr(fd.get(), kDefaultAcl.data(), nullptr, 0) > 0;
  return std::make_shared<const DestinationFolders::Folder>(
      DestinationFolders::Folder{std::move(fd), gives_acl});
}

}  // namespace

DestinationFolders::DestinationFolders(std::string path, FileDescriptor root)
    : path_(std::move(path)), root_(folder_of(std::move(root))) {}

std::string DestinationFolders::path_of(InodeId parent, const std::string& name) {
  std::string path = name;
  const MutexLock guard(mutex_);
  for (auto at = known_.find(parent); at != known_.end(); at = known_.find(at->second.parent)) {
    path = at->second.name + (path.empty() ? "" : "/") + path;
  }
  return path;
}

// From the nearest folder above that is open.
Result<DestinationFolders::Open> DestinationFolders::open(InodeId directory) {
  std::vector<std::pair<InodeId, std::string>> below;  // the innermost first
  Open at;
  {
    const MutexLock guard(mutex_);
    for (InodeId number = directory; !at;) {
      if (number == kRootInode) {
        at = root_;
        break;
      }
      const auto open =
          std::find_if(open_.begin(), open_.end(), [&](const auto& o) { return o.first == number; });
      if (open != open_.end()) {
        open_.splice(open_.begin(), open_, open);
        at = open_.front().second;
        break;
      }
      const auto known = known_.find(number);
      if (known == known_.end()) return fail(ESTALE, path_);
      below.emplace_back(number, known->second.name);
      number = known->second.parent;
    }
  }
  for (; !below.empty(); below.pop_back()) {
    FileDescriptor next(
        ::openat(at->fd.get(), below.back().second.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return fail(errno == ELOOP ? ENOTDIR : errno);
    at = folder_of(std::move(next));
    keep_open(below.back().first, at);
  }
  return at;
}

Result<DestinationFolders::Open> DestinationFolders::open_for(InodeId parent, const std::string& name) {
  if (!check_new_name(name)) return fail(EINVAL, "no file can have this name");
  return open(parent);
}

void DestinationFolders::keep_open(InodeId directory, Open folder) {
  std::list<std::pair<InodeId, Open>> gone;  // is closed without the lock
  const MutexLock guard(mutex_);
  open_.emplace_front(directory, std::move(folder));
  if (open_.size() > kOpenFolders) gone.splice(gone.begin(), open_, std::prev(open_.end()));
}

InodeId DestinationFolders::know(InodeId parent, const std::string& name) {
  const MutexLock guard(mutex_);
  const auto [number, first] = numbers_.try_emplace({parent, name}, InodeId{last_number_ + 1});
  if (first) known_[InodeId{++last_number_}] = {parent, name};
  return number->second;
}

InodeId DestinationFolders::know_made(InodeId parent, const std::string& name, FileDescriptor made) {
  const InodeId number = know(parent, name);
  keep_open(number, std::make_shared<const Folder>(Folder{std::move(made), false}));
  return number;
}

void DestinationFolders::leave(InodeId directory) {
  close_again(directory);
  Open gone;  // is closed without the lock
  const MutexLock guard(mutex_);
  const auto known = known_.find(directory);
  if (known == known_.end()) return;
  numbers_.erase({known->second.parent, known->second.name});
  known_.erase(known);
  const auto open =
      std::find_if(open_.begin(), open_.end(), [&](const auto& o) { return o.first == directory; });
  if (open == open_.end()) return;
  gone = std::move(open->second);
  open_.erase(open);
}

void DestinationFolders::open_up(InodeId directory, int in, const std::string& name, mode_t mode) {
  if (::fchmodat(in, name.c_str(), (mode & 07777) | 0700, AT_SYMLINK_NOFOLLOW) != 0) return;
  const MutexLock guard(mutex_);
  closed_.try_emplace(directory, mode & 07777);
}

void DestinationFolders::close_again(InodeId directory) {
  mode_t mode = 0;
  {
    const MutexLock guard(mutex_);
    const auto closed = closed_.find(directory);
    if (closed == closed_.end()) return;
    mode = closed->second;
    closed_.erase(closed);
  }
  if (const auto at = open(directory)) (void)::fchmod((*at)->fd.get(), mode);
}

void DestinationFolders::close_all_again() {
  std::vector<InodeId> closed;
  {
    const MutexLock guard(mutex_);
    for (const auto& [directory, mode] : closed_) closed.push_back(directory);
  }
  std::sort(closed.begin(), closed.end(), std::greater<>());  // what is in a directory comes before it
  for (const InodeId directory : closed) close_again(directory);
}

void DestinationFolders::settled(InodeId directory) {
  const MutexLock guard(mutex_);
  closed_.erase(directory);
}

}  // namespace cffs
