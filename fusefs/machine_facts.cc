#include "fusefs/machine_facts.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/base/control_groups.h"
#include "core/object/file_descriptor.h"
#include "fusefs/mount.h"

namespace cffs {
namespace {

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// The number behind a word at a line's beginning, as /proc has it; nothing: there is no such line.
std::optional<std::uint64_t> number_behind(const char* file, const std::string& word, int base) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(word)) return std::strtoull(line.c_str() + word.size(), nullptr, base);
  }
  return std::nullopt;
}

bool kernel_has_fuse() {
  std::ifstream in("/proc/filesystems");
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with("\tfuse")) return true;
  }
  return false;
}

int error_of_device() {
  const FileDescriptor device(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  return device ? 0 : errno;
}

bool may_mount() {
  constexpr std::uint64_t kSysAdmin = std::uint64_t{1} << 21;
  return (number_behind("/proc/self/status", "CapEff:", 16).value_or(0) & kSysAdmin) != 0;
}

bool in_container() {
  return exists("/.dockerenv") || exists("/run/.containerenv") || std::getenv("container") != nullptr;
}

std::string find_fusermount() {
  const char* const path = std::getenv("PATH");
  std::istringstream directories(std::string(path != nullptr ? path : "") + ":/usr/bin:/bin:/usr/local/bin");
  for (std::string directory; std::getline(directories, directory, ':');) {
    const std::string candidate = directory + "/fusermount3";
    if (!directory.empty() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

bool privileged(const std::string& program) {
  struct stat st;
  return ::stat(program.c_str(), &st) == 0 &&
         ((st.st_uid == 0 && (st.st_mode & S_ISUID) != 0) ||
          ::getxattr(program.c_str(), "security.capability", nullptr, 0) > 0);
}

// It says no more than EBADF of a descriptor that is none, and ENOSYS where nobody knows it (Linux 6.5 does).
bool has_cachestat() {
  constexpr long kCachestat = 451;  // the same number on every architecture
  errno = 0;
  (void)::syscall(kCachestat, -1, nullptr, nullptr, 0);
  return errno != ENOSYS;
}

bool can_load(const char* library) {
  void* const loaded = ::dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  if (loaded != nullptr) (void)::dlclose(loaded);
  return loaded != nullptr;
}

}  // namespace

std::optional<bool> user_allow_other() {
  std::ifstream in("/etc/fuse.conf");
  if (!in) return std::nullopt;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string word;
    if (words >> word && word == "user_allow_other") return true;
  }
  return false;
}

MachineFacts machine_facts() {
  MachineFacts facts;
  utsname kernel{};
  if (::uname(&kernel) == 0) {
    facts.kernel_release = kernel.release;
    (void)std::sscanf(kernel.release, "%u.%u", &facts.kernel_major, &facts.kernel_minor);
  }
  facts.libfuse = fuse_library_version();
  facts.device_error = error_of_device();  // opening it loads the module
  facts.fuse_known = kernel_has_fuse();
  facts.root = ::geteuid() == 0;
  facts.may_mount = may_mount();
  facts.in_container = in_container();
  facts.fusermount = find_fusermount();
  facts.fusermount_privileged = !facts.fusermount.empty() && privileged(facts.fusermount);
  facts.user_allow_other = user_allow_other();
  facts.ring = kernel_ring();
  facts.fuse_module = number_behind("/proc/modules", "fuse ", 10).has_value();
  std::ifstream("/proc/sys/kernel/io_uring_disabled") >> facts.io_uring_disabled;
  facts.cachestat = has_cachestat();
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    facts.open_files = limit.rlim_cur;
    facts.open_files_hard = limit.rlim_max;
  }
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0) facts.locked_bytes = limit.rlim_cur;
  facts.memory_bytes = most_memory();
  facts.memory_available_bytes = available_memory().value_or(0);
  for (const char* directory : {"/sbin", "/usr/sbin", "/usr/local/sbin"})
    facts.mount_helper = facts.mount_helper || exists(std::string(directory) + "/mount.cffs");
  facts.rados_library = can_load("librados.so.2");
  facts.processors = possible_processors();
  return facts;
}

}  // namespace cffs
