#include "core/transfer/transfer_list.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/number_in_text.h"
#include "core/object/page_cache_io.h"
#include "core/transfer/destination.h"

namespace cffs {
namespace {

constexpr std::string_view kName = ".cffs-transfer-";
constexpr std::string_view kFirstWords = "cffs: names of a transfer that is under way, in the list ";
constexpr std::size_t kListPieceBytes = 1u << 20, kMostEntryBytes = 16u << 20;
constexpr int kList = O_WRONLY | O_APPEND | O_CLOEXEC;
constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::string first_line(ino_t number) { return std::string(kFirstWords) + std::to_string(number) + "\n"; }

// Somebody else's would name what he wants to be rid of.
FileDescriptor open_list(int folder, const std::string& name) {
  if (!name.starts_with(kName)) return {};
  FileDescriptor file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat st {};
  if (!file || ::fstat(file.get(), &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != ::geteuid() ||
      st.st_nlink != 1)
    return {};
  const std::string wanted = first_line(st.st_ino);
  std::string first(wanted.size(), '\0');
  if (read_fully(file.get(), 0, as_writable_bytes(first)) != static_cast<ssize_t>(first.size()) ||
      first != wanted)
    return {};
  return file;
}

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  FileDescriptor again(::openat(folder, ".", kFolder));
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(again ? ::fdopendir(again.get()) : nullptr, ::closedir);
  if (!listing) return names;
  (void)again.release();
  while (const dirent* const entry = ::readdir(listing.get())) {
    if (std::string_view(entry->d_name).starts_with(kName)) names.emplace_back(entry->d_name);
  }
  return names;
}

}  // namespace

bool TransferList::is_meant(ino_t number, const struct stat& there) {
  if (S_ISDIR(there.st_mode)) return false;
  return number == kNotYet ? !S_ISREG(there.st_mode) || there.st_size == 0 : number == there.st_ino;
}

// "NUMBER PATH". No link is followed to it.
bool TransferList::take_away(int folder, std::string_view entry) {
  const std::size_t blank = entry.find(' ');
  const auto number = leading_number(entry);
  if (blank == std::string_view::npos || !number) return false;
  std::string_view path = entry.substr(blank + 1);
  FileDescriptor at(::openat(folder, ".", kFolder));
  for (std::size_t slash; at && (slash = path.find('/')) != std::string_view::npos;) {
    at = FileDescriptor(::openat(at.get(), std::string(path.substr(0, slash)).c_str(), kFolder));
    path.remove_prefix(slash + 1);
  }
  const std::string name(path);
  struct stat st {};
  return at && Destination::transfer_of(name) &&
         ::fstatat(at.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 && is_meant(*number, st) &&
         ::unlinkat(at.get(), name.c_str(), 0) == 0;
}

// Locked before it is one: nobody takes it for a dead transfer's.
bool TransferList::begin(FileDescriptor file) {
  struct stat st {};
  if (!file || ::fstat(file.get(), &st) != 0 || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return false;
  const std::string line = first_line(st.st_ino);
  if (::write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) return false;
  file_ = std::move(file);
  return true;
}

// Whoever is killed meanwhile leaves nothing, where a file can be without a name.
bool TransferList::make_unseen() {
  if (!begin(FileDescriptor(::openat(folder_, ".", kList | O_TMPFILE, 0600)))) return false;
  const std::string own_name = proc_path_of(file_.get());
  if (::linkat(AT_FDCWD, own_name.c_str(), folder_, name_.c_str(), AT_SYMLINK_FOLLOW) == 0) return true;
  file_.reset();
  return false;
}

bool TransferList::make_named() {
  FileDescriptor made(::openat(folder_, name_.c_str(), kList | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  if (!made) return false;
  if (begin(std::move(made))) return true;
  (void)::unlinkat(folder_, name_.c_str(), 0);
  return false;
}

bool TransferList::make() {
  for (int again = 0; again < 8; ++again) {
    name_ = std::string(kName) + std::to_string(::getpid()) + "-" + std::to_string(again);
    struct stat st {};
    if (::fstatat(folder_, name_.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) continue;
    if (make_unseen() || make_named()) return true;
  }
  return false;
}

void TransferList::add(ino_t number, const std::string& path) {
  const MutexLock guard(mutex_);
  if (!file_ && !cannot_be_) cannot_be_ = !make();
  if (!file_) return;
  // No path has a NUL. One that came in part is no entry: the next would go on with it, and none would be found.
  const std::string entry = std::to_string(number) + " " + path + '\0';
  (void)!::write(file_.get(), entry.data(), entry.size());
}

void TransferList::end() {
  const MutexLock guard(mutex_);
  if (!file_) return;
  (void)::unlinkat(folder_, name_.c_str(), 0);
  file_.reset();
}

// In pieces: of a transfer of millions it is long. False: it cannot be read to its end.
bool TransferList::clear_listed(int folder, int list, std::uint64_t from, std::uint64_t& gone) {
  std::string text;  // from the entry on that is not whole yet
  for (std::uint64_t at = from;;) {
    const std::size_t before = text.size();
    if (before > kMostEntryBytes) return false;  // none of ours has one like that
    text.resize(before + kListPieceBytes);
    const ssize_t n = read_fully(list, at, as_writable_bytes(text).subspan(before));
    if (n < 0) return false;
    text.resize(before + static_cast<std::size_t>(n));
    at += static_cast<std::uint64_t>(n);
    std::string_view left(text);
    for (std::size_t end; (end = left.find('\0')) != std::string_view::npos; left.remove_prefix(end + 1)) {
      if (take_away(folder, left.substr(0, end))) ++gone;
    }
    if (n == 0) return true;
    text.erase(0, text.size() - left.size());
  }
}

std::uint64_t TransferList::clear(int folder) {
  std::uint64_t gone = 0;
  for (const std::string& name : names_in(folder)) {
    const FileDescriptor file = open_list(folder, name);
    if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) continue;
    struct stat st {};
    if (::fstat(file.get(), &st) != 0) continue;
    if (clear_listed(folder, file.get(), first_line(st.st_ino).size(), gone))
      (void)::unlinkat(folder, name.c_str(), 0);
  }
  return gone;
}

bool TransferList::is_one(int folder, const std::string& name) { return bool(open_list(folder, name)); }

}  // namespace cffs
