#include "cli/temporary_place.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "core/base/bytes.h"
#include "core/object/page_cache_io.h"

namespace cffs::cli {
namespace {

constexpr std::string_view kMark = ".cffs-temporary";
constexpr std::string_view kRandom = ".XXXXXX";
constexpr int kPlace = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::string mark_text(ino_t number) {
  return "cffs: what is here goes with the command that made it, in the directory " + std::to_string(number) +
         "\n";
}

// Locked, and still there by the name that it was opened by. No descriptor: somebody has it, or takes it away.
FileDescriptor lock_place(const std::string& path) {
  FileDescriptor place(::open(path.c_str(), kPlace));
  struct stat opened, named;
  if (!place || ::flock(place.get(), LOCK_EX | LOCK_NB) != 0 || ::fstat(place.get(), &opened) != 0 ||
      ::lstat(path.c_str(), &named) != 0 || opened.st_dev != named.st_dev || opened.st_ino != named.st_ino)
    return {};
  return place;
}

bool put_mark(int place) {
  struct stat st;
  const FileDescriptor mark(
      ::openat(place, std::string(kMark).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!mark || ::fstat(place, &st) != 0) return false;
  const std::string text = mark_text(st.st_ino);
  return ::write(mark.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// In its first moment the mark has no text yet, and nothing lies beside it.
bool has_mark(int place, const struct stat& of) {
  const FileDescriptor mark(
      ::openat(place, std::string(kMark).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat st;
  if (!mark || ::fstat(mark.get(), &st) != 0 || !S_ISREG(st.st_mode)) return false;
  const std::string wanted = mark_text(of.st_ino);
  std::string text(wanted.size() + 1, '\0');
  const ssize_t n = read_fully(mark.get(), 0, as_writable_bytes(text));
  return n == static_cast<ssize_t>(wanted.size()) && text.starts_with(wanted);
}

bool has_only_an_empty_mark(const std::string& path) {
  std::error_code problem;
  bool is_alone = true;
  for (const auto& entry : std::filesystem::directory_iterator(path, problem))
    is_alone = is_alone && entry.path().filename() == kMark && entry.is_regular_file(problem) &&
               entry.file_size(problem) == 0;
  return is_alone && !problem;
}

// The mark last: who is killed here leaves what the next one knows. So does who finds that somebody still writes there, as a daemon
// does that was asked for a backup: then it is put back.
void take_place_away(const std::string& path, int place) {
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator(path, problem)) {
    if (entry.path().filename() != kMark) std::filesystem::remove_all(entry.path(), problem);
    if (problem) return;
  }
  if (problem || ::unlinkat(place, std::string(kMark).c_str(), 0) != 0) return;
  if (::rmdir(path.c_str()) != 0) (void)put_mark(place);
}

void clear_killed(const std::string& folder, std::string_view name) {
  std::error_code problem;
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder, problem)) {
    const std::string file = entry.path().filename();
    if (file.size() == name.size() + kRandom.size() && file.starts_with(name) && file[name.size()] == '.')
      found.push_back(entry.path());
  }
  for (const std::string& path : found) {
    const FileDescriptor place = lock_place(path);
    struct stat st;
    if (!place || ::fstat(place.get(), &st) != 0 || st.st_uid != ::geteuid() || (st.st_mode & 0777) != 0700)
      continue;
    if (has_mark(place.get(), st) || has_only_an_empty_mark(path)) take_place_away(path, place.get());
    (void)::rmdir(path.c_str());  // where it is empty
  }
}

}  // namespace

Result<std::unique_ptr<TemporaryPlace>> TemporaryPlace::make(const std::string& folder,
                                                             std::string_view name) {
  clear_killed(folder, name);
  std::string path;
  // Who clears meanwhile takes a new one for a killed one's until it is locked.
  for (int again = 0; again < 8; ++again) {
    path = folder + "/" + std::string(name) + std::string(kRandom);
    if (::mkdtemp(path.data()) == nullptr) return fail(errno, path);
    FileDescriptor lock = lock_place(path);
    if (lock && put_mark(lock.get()))
      return std::unique_ptr<TemporaryPlace>(new TemporaryPlace(folder, name, path, std::move(lock)));
    const int why = errno;
    if (lock) take_place_away(path, lock.get());
    (void)::rmdir(path.c_str());
    if (lock && why != ENOENT) return fail(why, path);
  }
  return fail(EBUSY, path);
}

TemporaryPlace::~TemporaryPlace() {
  remove();
  clear_killed(folder_, name_);
}

void TemporaryPlace::remove() const { take_place_away(path_, lock_.get()); }

}  // namespace cffs::cli
