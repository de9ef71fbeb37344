#include "core/object/store_owners.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>

#include "core/object/file_descriptor.h"

namespace cffs {
namespace {

constexpr mode_t kWritableByOthers = S_IWGRP | S_IWOTH;

bool is_trusted(uid_t user) { return user == 0 || user == ::geteuid(); }

std::string user_text(uid_t user) {
  std::string text("user ");
  text += std::to_string(user);
  return text;
}

class Look {
 public:
  Look(int directory, std::string path) : directory_(directory), path_(std::move(path)) {}

  Result<StoreOwners> run() {
    struct stat st;
    if (::fstat(directory_, &st) != 0) return fail(errno, path_);
    found_.owner = st.st_uid;
    judge(st, path_);
    if (!found_.foreign) CFFS_TRY_VOID(look_below(".", kAll));
    return found_;
  }

 private:
  // What of a folder is looked at.
  enum Scope { kAll, kFolders };

  void judge(const struct stat& st, const std::string& name) {
    if (!is_trusted(st.st_uid) && !found_.foreign) {
      found_.foreign = true;
      found_.whose = name;
      found_.whose += " belongs to ";
      found_.whose += user_text(st.st_uid);
    }
    if (S_ISDIR(st.st_mode) && (st.st_mode & kWritableByOthers) != 0) found_.open_to_others = true;
  }

  Status look_below(const std::string& folder, Scope scope) {
    FileDescriptor fd(
        ::openat(directory_, folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd) return fail(errno, path_ + "/" + folder);
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(fd.get()), ::closedir);
    if (!entries) return fail(errno, path_ + "/" + folder);
    const int at = fd.release();  // the stream closes it
    while (const dirent* entry = ::readdir(entries.get())) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == ".." || found_.foreign) continue;
      if (scope == kFolders && entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) continue;
      struct stat st;
      if (::fstatat(at, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) continue;  // its user has just removed it
        return fail(errno, path_ + "/" + folder + "/" + entry->d_name);
      }
      const bool top = folder == ".";
      judge(st, path_ + (top ? "/" : "/" + folder + "/") + entry->d_name);
      if (!top || !S_ISDIR(st.st_mode)) continue;
      if (name == "table" || name == "accesses" || name == "values")
        CFFS_TRY_VOID(look_below(entry->d_name, kAll));
      if (name == "blobs" || name == "composites") CFFS_TRY_VOID(look_below(entry->d_name, kFolders));
    }
    return {};
  }

  const int directory_;
  const std::string path_;
  StoreOwners found_;
};

}  // namespace

Result<StoreOwners> look_at_owners(int directory, const std::string& path) {
  return Look(directory, path).run();
}

std::string strange_file(const struct stat& file, const StoreOwners& owners) {
  if (!S_ISREG(file.st_mode)) return kNoRegularFile;
  if (is_trusted(file.st_uid) && file.st_nlink == 1) return {};
  if (file.st_uid == owners.owner) return {};
  std::string said(file.st_nlink > 1 ? "is a hard link to a file that belongs to " : "belongs to ");
  said += user_text(file.st_uid);
  said += ", and the store to ";
  said += user_text(owners.owner);
  return said;
}

}  // namespace cffs
