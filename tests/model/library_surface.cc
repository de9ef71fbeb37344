#include "tests/model/library_surface.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>

#include <array>
#include <stdexcept>

#include "core/reorganise/regrouping.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

int result(const Status& status) { return status ? 0 : status.error().errno_value; }

template <typename T>
T must(Result<T> r) {
  if (!r) throw std::runtime_error("library: " + r.error().message());
  return std::move(*r);
}

}  // namespace

class LibrarySurface::Reference {
 public:
  Reference(LibrarySurface& surface, Attributes a) : attributes(a), surface_(&surface) {}
  Reference(Reference&& o) noexcept
      : attributes(o.attributes), surface_(std::exchange(o.surface_, nullptr)) {}
  Reference& operator=(Reference&& o) noexcept {
    std::swap(attributes, o.attributes);
    std::swap(surface_, o.surface_);
    return *this;
  }
  ~Reference() {
    if (surface_ != nullptr) surface_->give_back(attributes.ino);
  }
  InodeId ino() const { return attributes.ino; }
  Attributes attributes;

 private:
  LibrarySurface* surface_;
};

void LibrarySurface::give_back(InodeId ino) {
  remembered_.push_back(ino);
  forget_all_but(most_remembered_);
}

void LibrarySurface::forget_all_but(std::size_t most) {
  for (; remembered_.size() > most; remembered_.pop_front()) fs_->forget(remembered_.front(), 1);
}

LibrarySurface::LibrarySurface(ObjectStore& store, FileSystemOptions options, const StoreFormat* format)
    : store_(store), options_(std::move(options)) {
  if (format != nullptr) {
    const Status done = FileSystem::format(store_, repeatable(*format), SystemClock());
    if (!done) throw std::runtime_error("format: " + done.error().message());
  }
  fs_ = must(FileSystem::open(store_, options_));
}

int LibrarySurface::find(const std::string& path, std::optional<Reference>& found) {
  found.emplace(*this, must(fs_->lookup(kRootInode, ".")));
  for (std::size_t from = 0; from < path.size();) {
    const std::size_t slash = std::min(path.find('/', from), path.size());
    if (S_ISLNK(found->attributes.mode)) return ENOENT;  // the tests' symlinks lead nowhere
    auto next = fs_->lookup(found->ino(), path.substr(from, slash - from));
    if (!next) return next.error().errno_value;
    found.emplace(Reference(*this, *next));
    from = slash + 1;
  }
  return 0;
}

int LibrarySurface::parent_of(const std::string& path, std::optional<Reference>& parent, std::string& name) {
  const std::size_t slash = path.rfind('/');
  name = slash == std::string::npos ? path : path.substr(slash + 1);
  const int e = find(slash == std::string::npos ? "" : path.substr(0, slash), parent);
  if (e != 0) return e;
  if (S_ISLNK(parent->attributes.mode)) return ENOENT;
  return S_ISDIR(parent->attributes.mode) ? 0 : ENOTDIR;
}

int LibrarySurface::regular(const std::string& path, std::optional<Reference>& found) {
  if (const int e = find(path, found)) return e;
  if (S_ISDIR(found->attributes.mode)) return EISDIR;
  return S_ISREG(found->attributes.mode) ? 0 : ELOOP;
}

int LibrarySurface::create(const std::string& path, mode_t mode) {
  std::optional<Reference> parent;
  std::string name;
  if (const int e = parent_of(path, parent, name)) return e;
  auto made = fs_->mknod(parent->ino(), name, S_IFREG | mode, 0, kRoot);
  if (!made) return made.error().errno_value;
  fs_->forget(made->ino, 1);
  return 0;
}

int LibrarySurface::mkdir(const std::string& path, mode_t mode) {
  std::optional<Reference> parent;
  std::string name;
  if (const int e = parent_of(path, parent, name)) return e;
  auto made = fs_->mkdir(parent->ino(), name, mode, kRoot);
  if (!made) return made.error().errno_value;
  fs_->forget(made->ino, 1);
  return 0;
}

int LibrarySurface::symlink(const std::string& target, const std::string& path) {
  std::optional<Reference> parent;
  std::string name;
  if (const int e = parent_of(path, parent, name)) return e;
  auto made = fs_->symlink(parent->ino(), name, target, kRoot);
  if (!made) return made.error().errno_value;
  fs_->forget(made->ino, 1);
  return 0;
}

int LibrarySurface::unlink(const std::string& path) {
  std::optional<Reference> parent, file;
  std::string name;
  if (const int e = parent_of(path, parent, name)) return e;
  // As the kernel: the victim is referenced while it is removed.
  if (const int e = find(path, file)) return e;
  return result(fs_->unlink(parent->ino(), name));
}

int LibrarySurface::rmdir(const std::string& path) {
  std::optional<Reference> parent, file;
  std::string name;
  if (const int e = parent_of(path, parent, name)) return e;
  if (const int e = find(path, file)) return e;
  return result(fs_->rmdir(parent->ino(), name));
}

int LibrarySurface::link(const std::string& from, const std::string& to) {
  std::optional<Reference> file, parent;
  std::string name;
  if (const int e = find(from, file)) return e;
  if (const int e = parent_of(to, parent, name)) return e;
  auto there = fs_->lookup(parent->ino(), name);
  if (there) fs_->forget(there->ino, 1);
  if (there) return EEXIST;
  auto made = fs_->link(file->ino(), parent->ino(), name);
  if (!made) return made.error().errno_value;
  fs_->forget(made->ino, 1);
  return 0;
}

int LibrarySurface::rename(const std::string& from, const std::string& to, unsigned flags) {
  std::optional<Reference> a, b;
  std::string a_name, b_name;
  if (const int e = parent_of(from, a, a_name)) return e;
  if (const int e = parent_of(to, b, b_name)) return e;
  std::optional<Reference> source, target;
  (void)find(from, source);
  (void)find(to, target);
  const RenameMode mode = (flags & RENAME_NOREPLACE) != 0  ? RenameMode::no_replace
                          : (flags & RENAME_EXCHANGE) != 0 ? RenameMode::exchange
                                                           : RenameMode::replace;
  return result(fs_->rename(a->ino(), a_name, b->ino(), b_name, mode, kRoot));
}

int LibrarySurface::write(const std::string& path, std::uint64_t offset, const std::string& data) {
  std::optional<Reference> file;
  if (const int e = regular(path, file)) return e;
  return result(fs_->write(file->ino(), offset, as_bytes(data), kRoot));
}

int LibrarySurface::truncate(const std::string& path, std::uint64_t size) {
  std::optional<Reference> file;
  if (const int e = regular(path, file)) return e;
  AttributeChange change;
  change.size = size;
  const auto done = fs_->setattr(file->ino(), change, kRoot);
  return done ? 0 : done.error().errno_value;
}

int LibrarySurface::allocate(const std::string& path, int flags, std::uint64_t offset, std::uint64_t length) {
  std::optional<Reference> file;
  if (const int e = regular(path, file)) return e;
  const AllocateMode mode = (flags & FALLOC_FL_PUNCH_HOLE) != 0   ? AllocateMode::punch_hole
                            : (flags & FALLOC_FL_ZERO_RANGE) != 0 ? AllocateMode::zero_range
                                                                  : AllocateMode::reserve;
  return result(fs_->allocate(file->ino(), offset, length, mode, (flags & FALLOC_FL_KEEP_SIZE) != 0, kRoot));
}

int LibrarySurface::copy(const std::string& from, std::uint64_t from_offset, const std::string& to,
                         std::uint64_t to_offset, std::uint64_t length) {
  std::optional<Reference> source, target;
  if (const int e = regular(from, source)) return e;
  if (const int e = regular(to, target)) return e;
  if (source->ino() == target->ino()) return EINVAL;
  const auto n = fs_->copy_range(source->ino(), from_offset, target->ino(), to_offset, length, kRoot);
  return n ? 0 : n.error().errno_value;
}

int LibrarySurface::make_unnamed(const std::string& path, mode_t mode, const std::string& data) {
  std::optional<Reference> parent;
  std::string name;
  if (const int e = parent_of(path, parent, name)) return e;
  const auto made = fs_->make_unnamed(parent->ino(), mode, kRoot);
  if (!made) return made.error().errno_value;
  const Reference file(*this, *made);
  if (const int e = result(fs_->write(file.ino(), 0, as_bytes(data), kRoot))) return e;
  const auto named = fs_->link(file.ino(), parent->ino(), name);
  if (!named) return named.error().errno_value;
  fs_->forget(named->ino, 1);
  return 0;
}

int LibrarySurface::chmod(const std::string& path, mode_t mode) {
  std::optional<Reference> file;
  if (const int e = find(path, file)) return e;
  if (S_ISLNK(file->attributes.mode)) return ELOOP;
  AttributeChange change;
  change.mode = mode;
  const auto done = fs_->setattr(file->ino(), change, kRoot);
  return done ? 0 : done.error().errno_value;
}

int LibrarySurface::set_mtime(const std::string& path, std::int64_t mtime_ns) {
  std::optional<Reference> file;
  if (const int e = find(path, file)) return e;
  AttributeChange change;
  change.mtime_ns = mtime_ns;
  const auto done = fs_->setattr(file->ino(), change, kRoot);
  return done ? 0 : done.error().errno_value;
}

int LibrarySurface::setxattr(const std::string& path, const std::string& name, const std::string& value) {
  std::optional<Reference> file;
  if (const int e = find(path, file)) return e;
  if (S_ISLNK(file->attributes.mode)) return ELOOP;
  return result(fs_->setxattr(file->ino(), name, value, XattrMode::any, kRoot));
}

int LibrarySurface::removexattr(const std::string& path, const std::string& name) {
  std::optional<Reference> file;
  if (const int e = find(path, file)) return e;
  if (S_ISLNK(file->attributes.mode)) return ELOOP;
  return result(fs_->removexattr(file->ino(), name));
}

int LibrarySurface::read(const std::string& path, std::uint64_t offset, std::size_t n, std::string& out) {
  std::optional<Reference> file;
  if (const int e = regular(path, file)) return e;
  out.assign(n, '\0');
  const auto done = fs_->read(file->ino(), offset, as_writable_bytes(out));
  if (!done) return done.error().errno_value;
  out.resize(*done);
  return 0;
}

int LibrarySurface::hold(const std::string& path, int& handle) {
  std::optional<Reference> file;
  if (const int e = regular(path, file)) return e;
  // The handle is the number itself; it keeps a reference of its own.
  std::optional<Reference> parent;
  std::string name;
  if (const int e = parent_of(path, parent, name)) return e;
  const Attributes again = must(fs_->lookup(parent->ino(), name));
  handle = static_cast<int>(again.ino.value);
  return 0;
}

int LibrarySurface::write_held(int handle, std::uint64_t offset, const std::string& data) {
  return result(fs_->write(InodeId{static_cast<std::uint64_t>(handle)}, offset, as_bytes(data), kRoot));
}

int LibrarySurface::truncate_held(int handle, std::uint64_t size) {
  AttributeChange change;
  change.size = size;
  const auto done = fs_->setattr(InodeId{static_cast<std::uint64_t>(handle)}, change, kRoot);
  return done ? 0 : done.error().errno_value;
}

int LibrarySurface::read_held(int handle, std::string& all) {
  const InodeId ino{static_cast<std::uint64_t>(handle)};
  const auto attributes = fs_->getattr(ino);
  if (!attributes) return attributes.error().errno_value;
  all.assign(attributes->size + 10, '\0');
  const auto n = fs_->read(ino, 0, as_writable_bytes(all));
  if (!n) return n.error().errno_value;
  all.resize(*n);
  return 0;
}

void LibrarySurface::drop(int handle) { fs_->forget(InodeId{static_cast<std::uint64_t>(handle)}, 1); }

namespace {

void walk(FileSystem& fs, const std::string& path, const Attributes& a, Tree& tree) {
  Visible& v = tree[path];
  v.mode = a.mode;
  v.nlink = a.nlink;
  v.size = S_ISDIR(a.mode) ? 0 : a.size;
  v.mtime_ns = a.mtime_ns;
  for (const std::string& name : must(fs.listxattr(a.ino)))
    v.xattrs[name] = must(fs.getxattr(a.ino, name));
  if (S_ISLNK(a.mode)) v.content = must(fs.readlink(a.ino));
  if (S_ISREG(a.mode)) {
    v.content.assign(a.size + 1, '\0');
    v.content.resize(must(fs.read(a.ino, 0, as_writable_bytes(v.content))));
  }
  if (!S_ISDIR(a.mode)) return;
  // In pieces of three entries, so that cookies are used; with references on every other directory.
  const bool refer = a.ino.value % 2 == 0;
  std::vector<std::pair<std::string, Attributes>> entries;
  std::uint64_t cookie = 0;
  for (bool more = true; more;) {
    int taken = 0;
    more = false;
    const Status listed = fs.readdir(a.ino, cookie, refer, [&](const DirectoryEntry& e) {
      if (taken == 3) {
        more = true;
        return false;
      }
      ++taken;
      cookie = e.cookie;
      if (e.name != "." && e.name != "..") entries.emplace_back(std::string(e.name), e.attributes);
      return true;
    });
    if (!listed) throw std::runtime_error("readdir: " + listed.error().message());
  }
  for (const auto& [name, listed] : entries) {
    const Attributes child = must(fs.lookup(a.ino, name));
    const bool agree = child.ino == listed.ino && child.size == listed.size && child.mode == listed.mode &&
                       child.nlink == listed.nlink && child.mtime_ns == listed.mtime_ns;
    if (!agree) throw std::runtime_error("readdir and lookup disagree about " + path + "/" + name);
    const std::string child_path = path.empty() ? name : path + "/" + name;
    if (tree.contains(child_path)) throw std::runtime_error("readdir shows twice: " + child_path);
    walk(fs, child_path, child, tree);
    fs.forget(child.ino, refer ? 2 : 1);
  }
}

}  // namespace

Tree tree_of(FileSystem& fs) {
  Tree tree;
  walk(fs, "", must(fs.getattr(kRootInode)), tree);
  return tree;
}

Tree LibrarySurface::tree() { return tree_of(*fs_); }

void LibrarySurface::reopen() {
  const Status closed = fs_->close();
  if (!closed) throw std::runtime_error("close: " + closed.error().message());
  remembered_.clear();  // the kernel says nothing more at an unmount
  fs_.reset();
  fs_ = must(FileSystem::open(store_, options_));
}

void LibrarySurface::reorganise() {
  Reorganiser reorganiser(*fs_);
  const Status done = reorganiser.consolidate_now();
  if (!done) throw std::runtime_error("consolidate: " + done.error().message());
  if (!regroups_ || ++reorganised_ % 3 != 0) return;
  // Every policy in turn, over everything.
  const std::array policies{"reference", "none", "directory", "frequency"};
  fs_->set_policy(grouping::make_policy(policies[reorganised_ / 3 % policies.size()]));
  const auto report = regroup(reorganiser, *fs_->policy(), {});
  if (!report) throw std::runtime_error("regroup: " + report.error().message());
}

}  // namespace cffs::test
