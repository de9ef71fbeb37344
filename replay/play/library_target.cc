#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

#include "core/base/mutex.h"
#include "core/fs/file_system.h"
#include "core/object/file_descriptor.h"
#include "replay/play/target.h"
#include "replay/trace/open_flags.h"

namespace cffs::replay {
namespace {

constexpr int kMostFollowed = 40;

std::int64_t errno_of(const Error& error) { return -(error.errno_value > 0 ? error.errno_value : EIO); }
std::int64_t result_of(const Status& status) { return status ? 0 : errno_of(status.error()); }
template <typename Bytes>
std::int64_t bytes_of(const Result<Bytes>& read) {
  return read ? static_cast<std::int64_t>(read->size()) : errno_of(read.error());
}

// Paths are resolved as the kernel does it, component by component, each a lookup() and a forget().
class LibraryTarget : public Target {
 public:
  LibraryTarget(FileSystem& fs, FileDescriptor toll) : fs_(fs), toll_(std::move(toll)) {}
  Status enter(const std::string& below) {
    CFFS_TRY(const Attributes at, resolve(kRootInode, below, true, 0));
    root_ = at.ino;  // the reference stays ours
    return {};
  }
  ~LibraryTarget() override {
    for (const Open& open : open_) {
      if (open.used) fs_.forget(open.ino, 1);
    }
    fs_.forget(root_, 1);
  }

  std::int64_t open(const std::string& path, std::uint32_t flags, std::uint32_t mode) override;
  std::int64_t close(std::int64_t handle) override {
    pay(8);
    const WriteLock guard(mutex_);
    Open& open = open_[static_cast<std::size_t>(handle)];
    if (!open.used) return -EBADF;
    open.used = false;
    free_.push_back(handle);
    fs_.forget(open.ino, 1);
    return 0;
  }
  std::int64_t read(std::int64_t handle, std::uint64_t offset, std::span<char> out) override {
    pay(out.size());
    if (const int refusal = refusal_on(handle, Call::read); refusal != 0) return -refusal;
    const auto n = fs_.read(inode(handle), offset, std::as_writable_bytes(out));
    return n ? static_cast<std::int64_t>(*n) : errno_of(n.error());
  }
  std::int64_t write(std::int64_t handle, std::uint64_t offset, std::span<const char> data) override {
    pay(data.size());
    if (const int refusal = refusal_on(handle, Call::write); refusal != 0) return -refusal;
    const Status done = fs_.write(inode(handle), offset, std::as_bytes(data), caller());
    return done ? static_cast<std::int64_t>(data.size()) : errno_of(done.error());
  }
  std::int64_t truncate(const std::string& path, std::uint64_t size) override {
    AttributeChange change;
    change.size = size;
    return change_at(path, true, change);
  }
  std::int64_t truncate(std::int64_t handle, std::uint64_t size) override {
    if (const int refusal = refusal_on(handle, Call::truncate); refusal != 0) return -refusal;
    AttributeChange change;
    change.size = size;
    return change_of(handle, change);
  }
  std::int64_t fsync(std::int64_t handle, bool) override {
    pay(8);
    return result_of(fs_.fsync(inode(handle)));
  }
  std::int64_t sync() override { return result_of(fs_.sync()); }
  std::int64_t stat(const std::string& path, bool follow, FileFacts& facts) override {
    return on_node(path, follow, [&](const Attributes& a) {
      facts = {a.mode, a.size};
      return std::int64_t{0};
    });
  }
  std::int64_t stat(std::int64_t handle, FileFacts& facts) override {
    pay(8);
    const auto a = fs_.getattr(inode(handle));
    if (!a) return errno_of(a.error());
    facts = {a->mode, a->size};
    return 0;
  }
  std::int64_t access(const std::string& path) override {
    return on_node(path, true, [](const Attributes&) { return std::int64_t{0}; });
  }
  std::int64_t readlink(const std::string& path, std::string& target) override {
    return on_node(path, false, [&](const Attributes& a) -> std::int64_t {
      if (!S_ISLNK(a.mode)) return -EINVAL;
      auto text = fs_.readlink(a.ino);
      if (!text) return errno_of(text.error());
      target = std::move(*text);
      return static_cast<std::int64_t>(target.size());
    });
  }
  std::int64_t list(std::int64_t handle, std::vector<std::string>* names) override {
    pay(8);
    std::int64_t entries = 0;
    const Status done = fs_.readdir(inode(handle), 0, false, [&](const DirectoryEntry& e) {
      if (e.name == "." || e.name == "..") return true;
      ++entries;
      if (names != nullptr) names->emplace_back(e.name);
      return true;
    });
    return done ? entries : errno_of(done.error());
  }
  std::int64_t mkdir(const std::string& path, std::uint32_t mode) override {
    return in_parent(path, [&](InodeId parent, const std::string& name) {
      return made(fs_.mkdir(parent, name, S_IFDIR | (mode & 07777), caller()));
    });
  }
  std::int64_t rmdir(const std::string& path) override {
    return in_parent(
        path, [&](InodeId parent, const std::string& name) { return result_of(fs_.rmdir(parent, name)); });
  }
  std::int64_t unlink(const std::string& path) override {
    return in_parent(
        path, [&](InodeId parent, const std::string& name) { return result_of(fs_.unlink(parent, name)); });
  }
  std::int64_t rename(const std::string& from, const std::string& to, std::uint32_t flags) override {
    const RenameMode mode = flags == 1   ? RenameMode::no_replace
                            : flags == 2 ? RenameMode::exchange
                                         : RenameMode::replace;
    return in_parent(from, [&](InodeId parent, const std::string& name) {
      return in_parent(to, [&](InodeId new_parent, const std::string& new_name) {
        return result_of(fs_.rename(parent, name, new_parent, new_name, mode, caller()));
      });
    });
  }
  std::int64_t link(const std::string& from, const std::string& to) override {
    return on_node(from, false, [&](const Attributes& a) {
      return in_parent(
          to, [&](InodeId parent, const std::string& name) { return made(fs_.link(a.ino, parent, name)); });
    });
  }
  std::int64_t symlink(const std::string& target, const std::string& path) override {
    return in_parent(path, [&](InodeId parent, const std::string& name) {
      return made(fs_.symlink(parent, name, target, caller()));
    });
  }
  std::int64_t mknod(const std::string& path, std::uint32_t mode) override {
    return in_parent(path, [&](InodeId parent, const std::string& name) {
      return made(fs_.mknod(parent, name, mode, 0, caller()));
    });
  }
  std::int64_t chmod(const std::string& path, std::uint32_t mode) override {
    AttributeChange change;
    change.mode = mode & 07777;
    return change_at(path, true, change);
  }
  std::int64_t chmod(std::int64_t handle, std::uint32_t mode) override {
    AttributeChange change;
    change.mode = mode & 07777;
    return change_of(handle, change);
  }
  std::int64_t chown(const std::string& path) override { return change_at(path, false, own()); }
  std::int64_t chown(std::int64_t handle) override { return change_of(handle, own()); }
  std::int64_t utimens(const std::string& path) override { return change_at(path, false, touched()); }
  std::int64_t utimens(std::int64_t handle) override { return change_of(handle, touched()); }
  std::int64_t getxattr(const std::string& path, const std::string& name) override {
    return on_node(path, false, [&](const Attributes& a) { return bytes_of(fs_.getxattr(a.ino, name)); });
  }
  std::int64_t setxattr(const std::string& path, const std::string& name, std::string_view value) override {
    return on_node(path, false, [&](const Attributes& a) {
      return result_of(fs_.setxattr(a.ino, name, value, XattrMode::any, caller()));
    });
  }
  std::int64_t listxattr(const std::string& path) override {
    return on_node(path, false, [&](const Attributes& a) { return bytes_of(fs_.listxattr(a.ino)); });
  }
  std::int64_t removexattr(const std::string& path, const std::string& name) override {
    return on_node(path, false, [&](const Attributes& a) { return result_of(fs_.removexattr(a.ino, name)); });
  }
  std::int64_t getxattr(std::int64_t handle, const std::string& name) override {
    pay(name.size() + 8);
    return bytes_of(fs_.getxattr(inode(handle), name));
  }
  std::int64_t setxattr(std::int64_t handle, const std::string& name, std::string_view value) override {
    pay(name.size() + value.size() + 8);
    return result_of(fs_.setxattr(inode(handle), name, value, XattrMode::any, caller()));
  }
  std::int64_t listxattr(std::int64_t handle) override {
    pay(8);
    return bytes_of(fs_.listxattr(inode(handle)));
  }
  std::int64_t removexattr(std::int64_t handle, const std::string& name) override {
    pay(name.size() + 8);
    return result_of(fs_.removexattr(inode(handle), name));
  }

 private:
  struct Open {
    InodeId ino;
    bool used = false;
    std::uint32_t flags = 0;  // of the open
  };

  // The system call that this stands for: its arguments' bytes go to /dev/null.
  void pay(std::size_t bytes) const {
    if (!toll_) return;
    thread_local std::vector<char> arguments;
    if (arguments.size() < bytes) arguments.resize(bytes);
    (void)!::write(toll_.get(), arguments.data(), bytes);
  }
  static Caller caller() { return Caller::privileged(::geteuid(), ::getegid()); }
  static AttributeChange own() {
    AttributeChange change;
    change.uid = ::geteuid();
    change.gid = ::getegid();
    return change;
  }
  static AttributeChange touched() {
    AttributeChange change;
    change.atime_ns = change.mtime_ns = SystemClock().now_ns();
    return change;
  }
  std::int64_t made(const Result<Attributes>& a) {
    if (!a) return errno_of(a.error());
    fs_.forget(a->ino, 1);
    return 0;
  }
  InodeId inode(std::int64_t handle) {
    const ReadLock guard(mutex_);
    return open_[static_cast<std::size_t>(handle)].ino;
  }
  int refusal_on(std::int64_t handle, Call call) {
    const ReadLock guard(mutex_);
    return refusal_of(call, open_[static_cast<std::size_t>(handle)].flags);
  }
  std::int64_t hold(InodeId ino, std::uint32_t flags) {
    const WriteLock guard(mutex_);
    if (free_.empty()) {
      open_.push_back({ino, true, flags});
      return static_cast<std::int64_t>(open_.size()) - 1;
    }
    const std::int64_t handle = free_.back();
    free_.pop_back();
    open_[static_cast<std::size_t>(handle)] = {ino, true, flags};
    return handle;
  }

  // The node at `path`, with a reference that is the caller's; below `start`.
  Result<Attributes> resolve(InodeId start, std::string_view path, bool follow, int depth) {
    if (depth > kMostFollowed) return fail(ELOOP);
    CFFS_TRY(Attributes at, fs_.lookup(start, "."));
    while (!path.empty()) {
      const std::string_view name = path.substr(0, path.find('/'));
      path.remove_prefix(std::min(name.size() + 1, path.size()));
      if (name.empty()) continue;
      auto next = fs_.lookup(at.ino, name);
      const InodeId directory = at.ino;
      if (next && S_ISLNK(next->mode) && (follow || !path.empty())) {
        auto target = fs_.readlink(next->ino);
        fs_.forget(next->ino, 1);
        if (!target) {
          fs_.forget(directory, 1);
          return fail(target.error());
        }
        std::string rest = *target;
        if (!path.empty()) rest.append("/").append(path);
        auto found = resolve(rest.starts_with('/') ? root_ : directory, rest, follow, depth + 1);
        fs_.forget(directory, 1);
        return found;
      }
      fs_.forget(directory, 1);
      if (!next) return fail(next.error());
      at = *next;
    }
    return at;
  }
  template <typename Action>
  std::int64_t on_node(const std::string& path, bool follow, const Action& action) {
    pay(path.size() + 8);
    const auto node = resolve(root_, path, follow, 0);
    if (!node) return errno_of(node.error());
    const std::int64_t result = action(*node);
    fs_.forget(node->ino, 1);
    return result;
  }
  template <typename Action>
  std::int64_t in_parent(const std::string& path, const Action& action) {
    pay(path.size() + 8);
    if (path.empty()) return -EEXIST;  // the root is always there
    const std::size_t slash = path.rfind('/');
    const auto parent = resolve(
        root_, slash == std::string::npos ? std::string_view() : std::string_view(path).substr(0, slash),
        true, 0);
    if (!parent) return errno_of(parent.error());
    const std::int64_t result =
        action(parent->ino, slash == std::string::npos ? path : path.substr(slash + 1));
    fs_.forget(parent->ino, 1);
    return result;
  }
  std::int64_t change_at(const std::string& path, bool follow, const AttributeChange& change) {
    return on_node(path, follow, [&](const Attributes& a) -> std::int64_t {
      const auto changed = fs_.setattr(a.ino, change, caller());
      return changed ? 0 : errno_of(changed.error());
    });
  }
  std::int64_t change_of(std::int64_t handle, const AttributeChange& change) {
    pay(16);
    const auto changed = fs_.setattr(inode(handle), change, caller());
    return changed ? 0 : errno_of(changed.error());
  }

  FileSystem& fs_;
  FileDescriptor toll_;
  InodeId root_ = kRootInode;
  SharedMutex mutex_;  // leaf
  std::vector<Open> open_ CFFS_GUARDED_BY(mutex_);
  std::vector<std::int64_t> free_ CFFS_GUARDED_BY(mutex_);
};

std::int64_t LibraryTarget::open(const std::string& path, std::uint32_t flags, std::uint32_t mode) {
  const auto has = [&](int flag) { return (flags & static_cast<std::uint32_t>(flag)) != 0; };
  pay(path.size() + 16);
  const bool exclusive = has(O_CREAT) && has(O_EXCL);
  auto node = resolve(root_, path, !has(O_NOFOLLOW) && !exclusive, 0);
  if (!node && node.error().errno_value == ENOENT && has(O_CREAT)) {
    const std::size_t slash = path.rfind('/');
    const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
    const auto parent = resolve(
        root_, slash == std::string::npos ? std::string_view() : std::string_view(path).substr(0, slash),
        true, 0);
    if (!parent) return errno_of(parent.error());
    node = fs_.mknod(parent->ino, name, S_IFREG | (mode & 07777), 0, caller());
    if (!node && node.error().errno_value == EEXIST && !exclusive) node = fs_.lookup(parent->ino, name);
    fs_.forget(parent->ino, 1);
    if (!node) return errno_of(node.error());
    return hold(node->ino, flags);
  }
  if (!node) return errno_of(node.error());
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  int problem = 0;
  if (exclusive) problem = EEXIST;
  if (problem == 0 && !S_ISDIR(node->mode) && has(O_DIRECTORY)) problem = ENOTDIR;
  if (problem == 0 && S_ISLNK(node->mode) && !has(O_PATH)) problem = ELOOP;
  if (problem == 0 && S_ISDIR(node->mode) && writes) problem = EISDIR;
  if (problem == 0 && has(O_TRUNC) && writes && node->size > 0) {
    AttributeChange change;
    change.size = 0;
    if (const auto changed = fs_.setattr(node->ino, change, caller()); !changed) {
      problem = static_cast<int>(-errno_of(changed.error()));
    }
  }
  if (problem != 0) {
    fs_.forget(node->ino, 1);
    return -problem;
  }
  return hold(node->ino, flags);
}

}  // namespace

Result<std::unique_ptr<Target>> make_library_target(FileSystem& fs, const std::string& below) {
  auto target = std::make_unique<LibraryTarget>(fs, FileDescriptor());
  CFFS_TRY_VOID(target->enter(below));
  return std::unique_ptr<Target>(std::move(target));
}

Result<std::unique_ptr<Target>> make_predict_target(FileSystem& fs, const std::string& below) {
  auto target =
      std::make_unique<LibraryTarget>(fs, FileDescriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC)));
  CFFS_TRY_VOID(target->enter(below));
  return std::unique_ptr<Target>(std::move(target));
}

}  // namespace cffs::replay
