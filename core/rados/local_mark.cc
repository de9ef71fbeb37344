#include "core/rados/local_mark.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "core/object/page_cache_io.h"
#include "core/rados/address.h"

namespace cffs {
namespace {

std::string runtime_folder() {
  if (::geteuid() == 0) return "/run/cffs";
  const char* const of_session = std::getenv("XDG_RUNTIME_DIR");
  if (of_session != nullptr && *of_session == '/') return std::string(of_session) + "/cffs";
  return "/tmp/cffs-" + std::to_string(::geteuid());
}

}  // namespace

std::string local_mark_path(const RadosAddress& address) {
  std::string name = address.text();
  for (char& c : name)
    if (c == '/') c = ':';
  return runtime_folder() + "/" + name + "/lock";
}

FileDescriptor hold_local_mark(const RadosAddress& address, std::string_view owner) {
  const std::string path = local_mark_path(address);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  // Somebody else's folder of that name (below /tmp) is not written to.
  (void)::mkdir(folder.parent_path().c_str(), 0700);
  (void)::mkdir(folder.c_str(), 0700);
  struct stat st;
  if (::lstat(folder.parent_path().c_str(), &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != ::geteuid())
    return {};
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || ::flock(file.get(), (owner.empty() ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0) return {};
  if (owner.empty()) return file;
  if (::ftruncate(file.get(), 0) != 0 || !write_fully(file.get(), 0, as_bytes(owner))) return {};
  return file;
}

}  // namespace cffs
