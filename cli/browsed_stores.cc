#include "cli/browsed_stores.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "cli/terminal_width.h"
#include "core/base/printable.h"
#include "core/follow/followed_file_system.h"
#include "core/object/file_descriptor.h"
#include "fusefs/mount_table.h"
#include "fusefs/operations.h"

namespace cffs::cli {
namespace {

// Ends the process. It has nothing of this one's but the end of a pipe, so that whoever waits for our end, or that of our output, or
// for what we have locked, does not wait for a mount.
[[noreturn]] void ask_and_exit(const std::vector<const char*>& points, int done) {
  constexpr int kKept = 0;
  ::dup2(done, kKept);
  if (::syscall(SYS_close_range, kKept + 1, ~0u, 0) != 0)
    for (long fd = ::sysconf(_SC_OPEN_MAX); fd > kKept; --fd) ::close(static_cast<int>(fd));
  for (const char* const point : points) (void)::setxattr(point, kCommitXattr, "1", 1, 0);
  ::_exit(0);
}

// Where the store's mount can be seen from here it is asked to commit, while we follow: what was written just now is seen, and nobody waits
// for the next commit. A mount may be wedged, and then not even a signal ends who asks it (fuse waits for an answer once the daemon has
// the request): that is a process of its own, which is not waited for longer than a commit takes.
void ask_for_checkpoint(const std::string& store) {
  constexpr int kLongestMs = 2000;
  const std::vector<std::string> points = mount_points_of(store);
  std::vector<const char*> names;
  for (const std::string& point : points) names.push_back(point.c_str());
  int ends[2];
  if (names.empty() || ::pipe2(ends, O_CLOEXEC) != 0) return;
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {  // there may be threads: nothing that takes memory from here on
    if (::fork() == 0) ask_and_exit(names, write_end.get());
    ::_exit(0);  // so that it is not ours, and nobody has to wait for it
  }
  write_end.reset();
  if (child < 0) return;
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  pollfd closed{read_end.get(), POLLIN, 0};
  (void)::poll(&closed, 1, kLongestMs);
}

}  // namespace

Result<ReadStore> open_store_to_read(const StoreName& store, std::chrono::milliseconds longest) {
  ReadStore open;
  CFFS_TRY(open.objects, open_objects(store, PosixStore::Access::read_only));
  FileSystemOptions options;
  options.background = false;
  options.read_only = true;
  options.log = say;
  auto alone = FileSystem::open(*open.objects, options);
  if (alone) {
    open.fs = std::move(*alone);
    return open;
  }
  if (alone.error().errno_value != EBUSY) return fail(alone.error());
  // Somebody writes: as a mount with -o ro,follow shows it.
  const std::int64_t until = SystemClock().steady_ms() + longest.count();
  FollowOptions follow;
  follow.awaited = [until] { return SystemClock().steady_ms() < until; };
  const auto following = open.objects->follow();
  if (following) ask_for_checkpoint(store.path);
  auto beside = FollowedFileSystem::open(*open.objects, options, follow);
  if (!beside && beside.error().errno_value == EINTR) {
    return fail(
        Error::usage(alone.error().message() + ", who has published nothing to read beside it for a while"));
  }
  if (!beside) {
    struct stat st;
    const bool on_device = ::stat(store.path.c_str(), &st) == 0 && !S_ISDIR(st.st_mode);
    return fail(Error::usage(
        alone.error().message() +
        (on_device ? "; what is on an image or a device is not read beside its writer, but on its mount"
                   : "; " + beside.error().message())));
  }
  open.state = (*beside)->state();
  open.fs = std::move(*beside);
  return open;
}

Result<BrowsedStores::Place> BrowsedStores::at(const std::string& text, const std::string& tool) {
  Place found{split_store_place(text), nullptr};
  const std::string& path = found.place.store;
  if (const auto mount = cffs_mount_of(path)) {
    return fail(Error::usage(fmt::format("{} is in the mount of store {}: use {} there, or name the store",
                                         path, mount->source, tool)));
  }
  auto store = open_.find(path);
  if (store == open_.end()) {
    CFFS_TRY(ReadStore opened, open_store_to_read({path, foreign_owner_}));
    store = open_.emplace(path, std::move(opened)).first;
  }
  found.fs = store->second.fs.get();
  return found;
}

ShownNames::ShownNames() : terminal_(::isatty(STDOUT_FILENO) == 1) {}

std::string ShownNames::operator()(const std::string& name) const {
  return terminal_ ? printable(name) : name;
}

std::size_t ShownNames::width() const {
  const std::size_t columns = terminal_width(STDOUT_FILENO);
  return columns > 0 ? columns : 80;
}

}  // namespace cffs::cli
