#include "core/transfer/import_target.h"

#include "core/base/thread.h"
#include "core/fs/check_name.h"
#include "core/fs/kept_in_table.h"
#include "core/fs/xattr.h"
#include "grouping/packing.h"

namespace cffs {
namespace {

constexpr std::size_t kMostPending = 8192;  // files of one job
// Of all jobs together, unless there is one alone: a member may be large, and is in memory as a file, in a composite, and packed.
constexpr std::uint64_t kMostBytes = 128u << 20;
constexpr std::size_t kMostProblems = 20;  // shown in full

std::string taken(const std::string& name) {
  return "'" + name + "' is already in the store; remove it there first";
}

// An import may set any attribute.
Caller owner_of(const Inode& attributes) { return Caller::privileged(attributes.uid, attributes.gid); }

}  // namespace

ImportTarget::ImportTarget(FileSystem& fs, unsigned jobs,
                           std::function<void(const ImportReport&)> on_progress)
    : fs_(fs),
      on_progress_(std::move(on_progress)),
      first_new_inode_(fs.next_inode()),
      table_bytes_(kept_in_table(*fs.policy(), fs.store_format())),
      pending_(fs.store_format().composite_max, kMostPending) {
  workers_.reserve(std::max(1u, jobs));
  for (unsigned i = 0; i < std::max(1u, jobs); ++i) {
    auto worker = make_thread("a thread that imports", [this] { work(); });
    if (!worker) break;  // those that there are do it, or the caller's own
    workers_.push_back(std::move(*worker));
  }
}

ImportTarget::~ImportTarget() {
  {
    const MutexLock guard(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  for (const auto& [ino, attributes] : directories_) fs_.forget(ino, 1);
}

template <typename Change>
void ImportTarget::count(Change change) {
  const MutexLock guard(mutex_);
  change(report_);
  if (on_progress_) on_progress_(report_);
}

void ImportTarget::failed(const std::string& problem) {
  count([&](ImportReport& r) {
    ++r.failed;
    if (r.problems.size() < kMostProblems) r.problems.push_back(problem);
  });
}

void ImportTarget::work() {
  MutexLock guard(mutex_);
  for (;;) {
    while (!ending_ && queue_.empty()) changed_.wait(mutex_);
    if (queue_.empty()) return;
    const Job job = std::move(queue_.front());
    queue_.pop_front();
    ++busy_;
    guard.unlock();
    changed_.notify_all();
    try {
      job.run();
    } catch (const std::exception& error) {
      failed(std::string("import: ") + error.what());
    }
    guard.lock();
    --busy_;
    bytes_ -= job.bytes;
    changed_.notify_all();
  }
}

void ImportTarget::enqueue(Job job) {
  if (workers_.empty()) return job.run();
  MutexLock guard(mutex_);
  while (queue_.size() > workers_.size() || (bytes_ > 0 && bytes_ + job.bytes > kMostBytes))
    changed_.wait(mutex_);
  bytes_ += job.bytes;
  queue_.push_back(std::move(job));
  changed_.notify_all();
}

Result<InodeId> ImportTarget::directory(InodeId parent, const std::string& name, const Inode& attributes) {
  // Open to its owner while it is filled; the real mode comes with finish().
  auto made = fs_.mkdir(parent, name, 0700, owner_of(attributes));
  if (!made && made.error().errno_value == EEXIST) {
    made = fs_.lookup(parent, name);
    if (made && !S_ISDIR(made->mode)) {
      fs_.forget(made->ino, 1);
      return fail(EEXIST, name);
    }
  } else if (made) {
    count([](ImportReport& r) { ++r.directories; });
  }
  if (!made) return fail(made.error());
  if (!directories_.try_emplace(made->ino, attributes).second) fs_.forget(made->ino, 1);
  return made->ino;
}

void ImportTarget::directory_attributes(InodeId directory, const Inode& attributes) {
  // The root is not made here; it is referenced like the others.
  if (directories_.contains(directory) || fs_.lookup(directory, ".")) directories_[directory] = attributes;
}

void ImportTarget::small_file(InodeId parent, std::string name, Inode attributes, ReadFile read) {
  if (const Status good = check_new_name(name); !good) {
    return failed("'" + name + "': " + good.error().message());
  }
  const std::uint64_t size = attributes.size;
  Pending file{parent, std::move(name), std::move(attributes), size, std::move(read)};
  const bool grouped = in_a_group(file);
  pending_.add(std::move(file), grouped);
  hand_out();
}

void ImportTarget::files_complete(InodeId directory) {
  pending_.directory_complete(directory);
  hand_out();
}

bool ImportTarget::in_a_group(const Pending& file) const {
  return file.size > table_bytes_ && fs_.policy()->makes_composites();
}

void ImportTarget::hand_out() {
  for (auto& share : pending_.take()) {
    auto files = std::make_shared<std::vector<Pending>>(std::move(share));
    std::uint64_t bytes = 0;
    for (const Pending& file : *files) bytes += file.size;
    enqueue({[this, files] { load(std::move(*files)); }, bytes});
  }
}

void ImportTarget::load(std::vector<Pending> files) {
  std::vector<NewFile> ready;
  std::vector<grouping::Candidate> candidates;
  for (Pending& file : files) {
    auto content = file.read(file.attributes);
    if (!content) {
      failed(content.error().message());
      continue;
    }
    for (const auto& [name, value] : std::exchange(file.attributes.xattrs, {})) {
      const Inode before = file.attributes;
      if (const Status done = put_xattr(file.attributes, name, value, Caller::privileged()); !done) {
        file.attributes = before;
        failed(file.name + ": extended attribute " + name + ": " + done.error().message());
      }
    }
    candidates.push_back({file.parent.value, content->size(), {}, 0});
    ready.push_back({file.parent, std::move(file.name), std::move(file.attributes), std::move(*content)});
  }
  const auto policy = fs_.policy();
  std::vector<grouping::Candidate> members;
  std::vector<std::size_t> index;
  grouping::Group together;  // what is in no group
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!policy->makes_composites() || candidates[i].size <= table_bytes_) {
      together.push_back(i);
    } else {
      members.push_back(std::move(candidates[i]));
      index.push_back(i);
    }
  }
  std::vector<grouping::Group> groups;
  if (!members.empty()) groups = policy->group(members, fs_.store_format().composite_max, {});
  for (grouping::Group& group : groups) {
    for (std::size_t& i : group) i = index[i];
  }
  if (!together.empty()) groups.push_back(std::move(together));
  std::vector<std::vector<NewFile>> grouped;
  std::uint64_t bytes = 0;
  for (const grouping::Group& group : groups) {
    grouped.emplace_back();
    for (const std::size_t i : group) {
      bytes += ready[i].content.size();
      grouped.back().push_back(std::move(ready[i]));
    }
  }
  const std::size_t n = ready.size();
  const auto loaded = fs_.load(std::move(grouped));
  if (!loaded) {
    failed(loaded.error().message());
    return;
  }
  for (const std::string& name : *loaded) failed(taken(name));
  count([&](ImportReport& r) {
    r.files += n - loaded->size();
    r.bytes += bytes;
  });
}

// Attributes that creation does not set.
void ImportTarget::settle(InodeId ino, const Inode& wanted) {
  AttributeChange change;
  change.uid = wanted.uid;
  change.gid = wanted.gid;
  if (!wanted.is_symlink()) change.mode = wanted.mode & 07777;
  change.atime_ns = wanted.atime_ns;
  change.mtime_ns = wanted.mtime_ns;
  if (const auto done = fs_.setattr(ino, change, Caller::privileged()); !done) failed(done.error().message());
  // After the owner: a change of it takes capabilities away.
  for (const auto& [name, value] : wanted.xattrs) {
    if (const Status done = fs_.setxattr(ino, name, value, XattrMode::any, Caller::privileged()); !done) {
      failed("extended attribute " + name + ": " + done.error().message());
    }
  }
}

void ImportTarget::large_file_now(InodeId parent, const std::string& path, const std::string& name,
                                  const Inode& attributes, const CopyFile& copy) {
  const auto made = fs_.mknod(parent, name, S_IFREG | 0600, 0, owner_of(attributes));
  if (!made) {
    failed(made.error().errno_value == EEXIST ? taken(name) : name + ": " + made.error().message());
    return;
  }
  AttributeChange size;
  size.size = attributes.size;
  Status done;
  if (auto sized = fs_.setattr(made->ino, size, Caller::privileged()); !sized) done = fail(sized.error());
  if (done) {
    done = copy([&](std::uint64_t offset, std::string_view bytes) {
      return fs_.write(made->ino, offset, as_bytes(bytes), Caller::privileged());
    });
  }
  if (done) {
    settle(made->ino, attributes);
    count([&](ImportReport& r) {
      ++r.files;
      r.bytes += attributes.size;
    });
  } else {
    (void)fs_.unlink(parent, name);
    failed("'" + path + "': " + done.error().message());
  }
  fs_.forget(made->ino, 1);
}

void ImportTarget::large_file(InodeId parent, std::string name, Inode attributes, CopyFile copy) {
  enqueue({[this, parent, name = std::move(name), attributes = std::move(attributes),
            copy = std::move(copy)] { large_file_now(parent, name, name, attributes, copy); }});
}

void ImportTarget::symlink(InodeId parent, const std::string& name, const Inode& attributes) {
  settle_made(fs_.symlink(parent, name, attributes.target, owner_of(attributes)), name, attributes,
              &ImportReport::symlinks);
}

void ImportTarget::special(InodeId parent, const std::string& name, const Inode& attributes) {
  settle_made(fs_.mknod(parent, name, attributes.mode, attributes.rdev, owner_of(attributes)), name,
              attributes, &ImportReport::specials);
}

void ImportTarget::settle_made(const Result<Attributes>& made, const std::string& name,
                               const Inode& attributes, std::uint64_t ImportReport::*counter) {
  if (!made) return failed(name + ": " + made.error().message());
  settle(made->ino, attributes);
  fs_.forget(made->ino, 1);
  count([&](ImportReport& r) { ++(r.*counter); });
}

void ImportTarget::hard_link(InodeId parent, std::string name, InodeId first_parent, std::string first_name) {
  links_.push_back({parent, std::move(name), first_parent, std::move(first_name)});
}

void ImportTarget::wait_for_workers() {
  MutexLock guard(mutex_);
  while (!queue_.empty() || busy_ > 0) changed_.wait(mutex_);
}

void ImportTarget::forget_earlier(InodeId parent, const std::string& name) {
  pending_.erase_if([&](const Pending& p) { return p.parent == parent && p.name == name; });
  wait_for_workers();  // whatever is on its way must have arrived before it can be replaced
  const auto there = fs_.lookup(parent, name);
  if (!there) return;
  const bool ours = there->ino >= first_new_inode_ && !S_ISDIR(there->mode);
  fs_.forget(there->ino, 1);
  if (!ours || !fs_.unlink(parent, name)) return;
  count([&](ImportReport& r) {
    --(S_ISREG(there->mode) ? r.files : S_ISLNK(there->mode) ? r.symlinks : r.specials);
  });
}

Result<ImportReport> ImportTarget::finish() {
  pending_.all_complete();
  hand_out();
  wait_for_workers();
  for (const Link& link : links_) {
    const auto first = fs_.lookup(link.first_parent, link.first_name);
    if (!first) {
      failed("hard link '" + link.name + "': its first name is missing");
      continue;
    }
    const auto made = fs_.link(first->ino, link.parent, link.name);
    if (made) {
      fs_.forget(made->ino, 1);
      count([](ImportReport& r) { ++r.links; });
    } else {
      failed("hard link '" + link.name + "': " + made.error().message());
    }
    fs_.forget(first->ino, 1);
  }
  // In any order: setting a directory's times touches no other.
  for (const auto& [ino, attributes] : directories_) settle(ino, attributes);
  CFFS_TRY_VOID(fs_.sync());
  const MutexLock guard(mutex_);
  return report_;
}

}  // namespace cffs
