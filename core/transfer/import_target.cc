#include "core/transfer/import_target.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/clock.h"
#include "core/base/no_room.h"
#include "core/fs/acl.h"
#include "core/fs/check_name.h"
#include "core/transfer/store_destination.h"

namespace cffs {
namespace {

constexpr std::size_t kMostPending = 8192;  // files of one job
// Of all jobs together, unless there is one alone: a member may be large, and is in memory as a file, in a composite, and packed.
constexpr std::uint64_t kMostBytes = 128u << 20;

// Of all directories, until they get theirs at the end: what a few compressed bytes of an archive may stand for.
constexpr std::uint64_t kMostHeldAttributes = 128u << 20;

std::uint64_t xattr_bytes(const Xattrs& xattrs) {
  std::uint64_t bytes = 0;
  for (const auto& [name, value] : xattrs) bytes += name.size() + value.size();
  return bytes;
}

std::string taken(const std::string& path, const Destination& to) {
  return "'" + path + "' is already " + to.where() + ", and differs; with --update it is replaced";
}

// It is so for all that is to come: the medium is full, or became read-only, or a mount's daemon is gone.
bool ends_all(const Error& error) {
  const int reason = error.errno_value;
  return error.kind == ErrorKind::os &&
         (is_no_room(reason) || reason == EROFS || reason == ENOTCONN || reason == ECONNABORTED);
}

}  // namespace

ImportTarget::ImportTarget(FileSystem& fs, unsigned jobs,
                           std::function<void(const ImportReport&)> on_progress, ImportRules rules)
    : ImportTarget(std::make_unique<StoreDestination>(fs), jobs, std::move(on_progress), std::move(rules)) {}

ImportTarget::ImportTarget(std::unique_ptr<Destination> to, unsigned jobs,
                           std::function<void(const ImportReport&)> on_progress, ImportRules rules)
    : to_(std::move(to)),
      small_(to_->small_files()),
      rules_(std::move(rules)),
      existing_(*to_, rules_.checksum),
      links_(*to_, existing_),
      tally_(std::move(on_progress)),
      pending_(small_ != nullptr ? small_->share_bytes() : 1, kMostPending),
      jobs_("a thread that imports", jobs, kMostBytes,
            [this](const std::string& what) { failed("import: " + what); }) {
  to_->tell_problems_to([this](const std::string& problem) { failed(problem); });
  if (existing_.is_empty(kRootInode)) existing_.is_new(kRootInode);
}

ImportTarget::~ImportTarget() { jobs_.end(); }

Status ImportTarget::clear(InodeId directory) {
  CFFS_TRY(const std::uint64_t gone, existing_.clear(directory));
  if (gone > 0) tally_.count([&](ImportReport& r) { r.left_over += gone; });
  return {};
}

Status ImportTarget::begin_at(const std::string& path) {
  CFFS_TRY(const std::uint64_t gone, to_->begin());
  tally_.count([&](ImportReport& r) { r.left_over += gone; });
  for (std::size_t from = 0; from < path.size();) {
    const std::size_t slash = std::min(path.find('/', from), path.size());
    const std::string part = path.substr(from, slash - from);
    from = slash + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..")
      return fail(Error::command_line("'" + path + "': name the directory from the root on, without '..'"));
    if (const Status good = check_new_name(part); !good)
      return fail(good.error().errno_value, "'" + path + "'");
    Inode open_to_all;
    open_to_all.mode = S_IFDIR | 0755;
    open_to_all.uid = ::geteuid();
    open_to_all.gid = ::getegid();
    open_to_all.atime_ns = open_to_all.mtime_ns = SystemClock().now_ns();
    auto there = to_->make_directory(root_, part, open_to_all);
    if (there) {
      existing_.is_new(*there);
      to_->settle_directory(*there, open_to_all);
    } else if (there.error().errno_value == EEXIST) {
      there = to_->enter(root_, part);
      if (!there && there.error().errno_value == ENOTDIR)
        return fail(Error::usage("'" + to_->shown(path.substr(0, slash)) + "' " +
                                 (small_ != nullptr ? "in the store " : "") + "is no directory"));
    }
    if (!there) return fail(there.error());
    places_.note(*there, root_, part);
    root_ = *there;
  }
  return clear(root_);
}

ExistingFiles::Keep ImportTarget::keep_excluded() const {
  if (rules_.excludes.empty()) return {};
  return
      [this](std::string_view path, bool is_directory) { return rules_.excludes.match(path, is_directory); };
}

// In the store, or from where the sources came into it.
std::string ImportTarget::path_of(InodeId parent, const std::string& name, bool in_source) {
  return in_source ? places_.path_of(parent, name, root_) : to_->shown(places_.path_of(parent, name));
}

// Of what ends all the first that met it is told of. What did not come because it is to stop is no failure.
void ImportTarget::failed_to_write(const std::string& path, const Error& error, std::uint64_t files) {
  if (rules_.is_to_stop() && error.errno_value == EINTR) return;
  if (!ends_all(error))
    return tally_.count([&](ImportReport& r) { r.fail("'" + path + "': " + error.message(), files); });
  if (int none = 0; !stopped_.compare_exchange_strong(none, error.errno_value))
    return tally_.count([&](ImportReport& r) { r.failed += files; });
  tally_.count(
      [&](ImportReport& r) { r.fail("'" + path + "': " + Error::os(error.errno_value).message(), files); });
}

void ImportTarget::left_out(std::uint64_t files) {
  if (!rules_.is_to_stop()) tally_.count([&](ImportReport& r) { r.failed += files; });
}

ImportTarget::Place ImportTarget::place_for(InodeId parent, const std::string& name, const Inode& attributes,
                                            const ExistingFiles::SameContent& same) {
  bool is_there = false;
  const Place place = look_for_place(parent, name, attributes, same, is_there);
  if (place == Place::none && !is_there) links_.did_not_come(parent, name);
  return place;
}

ImportTarget::Place ImportTarget::look_for_place(InodeId parent, const std::string& name,
                                                 const Inode& attributes,
                                                 const ExistingFiles::SameContent& same, bool& is_there) {
  using What = ExistingFiles::What;
  const auto looked = existing_.look(parent, name, attributes, same);
  if (!looked) {
    failed_to_write(path_of(parent, name), looked.error(), 1);
    return Place::none;
  }
  const ExistingFiles::Found& found = *looked;
  switch (found.what) {
    case What::nothing:
      return Place::free;
    case What::same:
      is_there = true;
      // One file there and two in the source, which may have other modes: this name gets its own.
      if (rules_.update && found.linked) {
        const auto& first = linked_.try_emplace(*found.linked, parent, name).first->second;
        if (first != std::pair(parent, name)) return Place::replaces;
      }
      if (rules_.update && found.attributes_differ) to_->settle(parent, name, attributes);
      tally_.count([&](ImportReport& r) {
        ++r.same;
        if (S_ISREG(attributes.mode)) r.same_bytes += attributes.size;
      });
      return Place::none;
    case What::differs:
      if (rules_.update) return Place::replaces;
      failed(taken(path_of(parent, name), *to_));
      return Place::none;
    case What::directory:
      break;
  }
  return directory_goes(parent, name) ? Place::free : Place::none;
}

// Where a file or a link comes; what keeps it is told.
bool ImportTarget::directory_goes(InodeId parent, const std::string& name) {
  if (!rules_.erase) {
    failed("'" + path_of(parent, name) + "' is a directory " + to_->where() +
           "; --update --delete replaces it");
    return false;
  }
  const Status away = take_away_directory(parent, name);
  if (!away) failed("'" + path_of(parent, name) + "': " + away.error().message());
  return away.has_value();
}

Status ImportTarget::take_away_directory(InodeId parent, const std::string& name) {
  if (rules_.excludes.match(path_of(parent, name, true), true))
    return fail(Error::usage("a directory that is left out is there, and stays"));
  CFFS_TRY(const std::uint64_t removed,
           existing_.remove(parent, name, keep_excluded(), path_of(parent, name, true)));
  tally_.count([&](ImportReport& r) { r.removed += removed; });
  if (to_->look(parent, name)) return fail(Error::usage("something in it is left out, and stays"));
  return {};
}

void ImportTarget::only(InodeId directory, std::string_view path,
                        const std::set<std::string, std::less<>>& names) {
  if (tally_.so_far().failed > 0) return;  // what could not be read is not gone
  const auto there = to_->names(directory);
  if (!there) return failed(there.error().message());
  for (const auto& [name, is_directory] : *there) {
    if (rules_.is_to_stop()) return;
    const std::string inside = std::string(path) + (path.empty() ? "" : "/") + name;
    if (names.contains(name) || rules_.excludes.match(inside, is_directory)) continue;
    if (to_->is_its_own(directory, name)) continue;
    if (to_->is_mounted_in(directory))
      return failed("'" + path_of(directory, name) +
                    "' is on another file system, mounted in the destination; " +
                    "--delete takes nothing away there");
    const auto removed = existing_.remove(directory, name, keep_excluded(), inside);
    if (!removed) {
      failed("'" + path_of(directory, name) + "': " + removed.error().message());
      continue;
    }
    tally_.count([&](ImportReport& r) { r.removed += *removed; });
  }
}

void ImportTarget::archive_read(std::uint64_t bytes) {
  if (bytes > 0) tally_.count([&](ImportReport& r) { r.archive_bytes += bytes; });
}

void ImportTarget::time_changed() {
  tally_.count([](ImportReport& r) { ++r.times_changed; });
}

bool ImportTarget::has_any() {
  if (!pending_.is_empty() || !directories_.empty() || !links_.is_empty()) return true;
  jobs_.wait();
  const ImportReport r = tally_.so_far();
  return r.files + r.symlinks + r.specials + r.same + r.failed > 0;
}

void ImportTarget::failed(const std::string& problem) {
  tally_.count([&](ImportReport& r) { r.fail(problem); });
}

Result<InodeId> ImportTarget::directory(InodeId parent, const std::string& name, const Inode& attributes,
                                        bool implied) {
  // Open to its owner while it is filled; the real mode comes with finish().
  auto made = to_->make_directory(parent, name, attributes);
  const bool is_new = made.has_value();
  if (is_new) {
    existing_.is_new(*made);
    tally_.count([](ImportReport& r) { ++r.directories; });
  } else if (made.error().errno_value == EEXIST) {
    made = to_->enter(parent, name);
    if (!made && made.error().errno_value == ENOTDIR) {
      if (!rules_.erase)
        return fail(Error{ErrorKind::usage, EEXIST,
                          "'" + path_of(parent, name) + "' is a file " + to_->where() +
                              ", not a directory; --update --delete replaces it"});
      CFFS_TRY(const std::uint64_t removed, existing_.remove(parent, name));
      tally_.count([&](ImportReport& r) { r.removed += removed; });
      return this->directory(parent, name, attributes, implied);
    }
  }
  if (!made) {
    if (int none = 0; ends_all(made.error()))
      stopped_.compare_exchange_strong(none, made.error().errno_value);
    return fail(made.error());
  }
  places_.note(*made, parent, name);
  // One that is there, and that the source does not speak of, stays as it is.
  const auto wanted = implied && !is_new ? std::nullopt : std::optional(attributes);
  const bool first = of_source_.insert(*made).second;
  if (first && (wanted || !directories_.contains(*made))) keep_attributes(*made, wanted);
  if (first && !is_new) {
    CFFS_TRY_VOID(clear(*made));
  }
  return *made;
}

void ImportTarget::directory_attributes(InodeId directory, const Inode& attributes) {
  keep_attributes(directory, attributes);
}

void ImportTarget::keep_attributes(InodeId directory, std::optional<Inode> attributes) {
  std::optional<Inode>& kept = directories_[directory];
  if (kept) held_attributes_ -= xattr_bytes(kept->xattrs);
  if (attributes && held_attributes_ + xattr_bytes(attributes->xattrs) > kMostHeldAttributes) {
    if (!std::exchange(attributes_left_out_, true)) {
      failed("'" + path_of(directory, "") +
             "': extended attributes of directories wait for the end of an import, and there are more than "
             "128 MiB; those of this one, and of others that come after it, were left out");
    }
    const std::string* const acl = find_xattr(attributes->xattrs, kAccessAcl);
    if (acl != nullptr) attributes->mode = mode_without_acl(attributes->mode, *acl);
    attributes->xattrs.clear();
  }
  if (attributes) held_attributes_ += xattr_bytes(attributes->xattrs);
  kept = std::move(attributes);
}

void ImportTarget::small_file(InodeId parent, std::string name, Inode attributes, ReadFile read,
                              const ExistingFiles::SameContent& same) {
  if (const Status good = check_new_name(name); !good) {
    return failed("'" + name + "': " + good.error().message());
  }
  const Place place = place_for(parent, name, attributes, same);
  if (place == Place::none) return;
  const std::uint64_t size = attributes.size;
  Pending file{parent, std::move(name), std::move(attributes),
               size,   std::move(read), place == Place::replaces};
  file.held = xattr_bytes(file.attributes.xattrs);
  const bool grouped = small_->in_a_group(size);
  const std::uint64_t held = file.held;
  pending_.add(std::move(file), grouped, held);
  hand_out();
}

void ImportTarget::files_complete(InodeId directory) {
  pending_.directory_complete(directory);
  hand_out();
}

void ImportTarget::hand_out() {
  for (auto& share : pending_.take()) {
    auto files = std::make_shared<std::vector<Pending>>(std::move(share));
    std::uint64_t bytes = 0;
    for (const Pending& file : *files) bytes += file.size + file.held;
    // One that is large takes several times its length; nothing else is at work beside it.
    jobs_.add([this, files] { load(std::move(*files)); }, bytes >= kMostBytes / 4 ? kMostBytes : bytes);
  }
}

void ImportTarget::load(std::vector<Pending> files) {
  const auto did_not_come = [this](const Pending& file) { links_.did_not_come(file.parent, file.name); };
  if (stopped()) {
    std::for_each(files.begin(), files.end(), did_not_come);
    return left_out(files.size());
  }
  std::vector<NewFile> ready;
  std::vector<const Pending*> brought;  // in their order
  struct Replacement {
    const Pending* file;
    std::string temporary;
  };
  std::vector<Replacement> replacements;
  std::string first_path;
  std::uint64_t bytes = 0;
  for (Pending& file : files) {
    auto content = file.read(file.attributes);
    if (!content) {
      did_not_come(file);
      failed(content.error().message());
      continue;
    }
    if (ready.empty()) first_path = path_of(file.parent, file.name);
    if (file.replaces) replacements.push_back({&file, to_->temporary_name()});
    bytes += content->size();
    brought.push_back(&file);
    ready.push_back({file.parent, file.replaces ? replacements.back().temporary : file.name,
                     std::move(file.attributes), std::move(*content)});
  }
  const std::size_t n = ready.size();
  const auto loaded = small_->load(std::move(ready));
  if (!loaded) {
    failed_to_write(first_path, loaded.error(), n);
    for (const Pending* file : brought) did_not_come(*file);
    // Some of them may have come before that.
    for (const Replacement& r : replacements) (void)to_->remove(r.file->parent, r.temporary, false);
    return;
  }
  std::set<std::string> there(loaded->begin(), loaded->end());
  // Of two directories' files of one name it may be either.
  for (const Pending* file : brought) {
    if (there.empty()) break;
    if (file->replaces || !there.contains(file->name)) continue;
    did_not_come(*file);
    failed(taken(path_of(file->parent, file->name), *to_));
  }
  std::uint64_t updated = 0, kept = 0;
  for (const Replacement& r : replacements) {
    const auto& [parent, name] = std::tie(r.file->parent, r.file->name);
    if (there.contains(r.temporary)) {  // somebody else's
      did_not_come(*r.file);
      failed(taken(path_of(parent, r.temporary), *to_));
      continue;
    }
    const Status done = existing_.take_name(parent, r.temporary, name);
    done ? ++updated : ++kept;
    if (done) continue;
    did_not_come(*r.file);
    failed("'" + path_of(parent, name) + "': " + done.error().message());
  }
  tally_.count([&](ImportReport& r) {
    r.files += n - loaded->size() - kept;
    r.updated += updated;
    r.bytes += bytes;
  });
}

void ImportTarget::large_file_now(InodeId parent, const std::string& path, const std::string& name,
                                  const Inode& attributes, const CopyFile& copy,
                                  const ExistingFiles::SameContent& same) {
  const Place place = place_for(parent, name, attributes, same);
  if (place != Place::none) write_large(parent, path, name, attributes, copy, place == Place::replaces);
}

// It has no name until all of it is there, so that whoever is killed leaves no part of it.
void ImportTarget::write_large(InodeId parent, const std::string& path, const std::string& name,
                               const Inode& attributes, const CopyFile& copy, bool replaces) {
  if (stopped()) {
    links_.did_not_come(parent, name);
    return left_out(1);
  }
  const std::string as = replaces ? to_->temporary_name() : name;
  std::uint64_t came = 0;
  const CopyFile copy_or_stop = [&](const WriteAt& write) {
    return copy([&](std::uint64_t at, std::string_view bytes) -> Status {
      if (rules_.is_to_stop()) return fail(EINTR, path);
      CFFS_TRY_VOID(write(at, bytes));
      came += bytes.size();
      tally_.count([&](ImportReport& r) { r.under_way += bytes.size(); });
      return {};
    });
  };
  Status done = to_->make_file(parent, as, attributes, copy_or_stop);
  tally_.count([&](ImportReport& r) { r.under_way -= came; });
  if (done && replaces) done = existing_.take_name(parent, as, name);
  if (!done) links_.did_not_come(parent, name);
  if (!done && done.error().errno_value == EEXIST) {
    // It was not there when this was begun.
    return failed(rules_.update ? "'" + path +
                                      "' was made by another meanwhile, and stays; the same command "
                                      "looks at it again"
                                : taken(path, *to_));
  }
  if (!done) return failed_to_write(path, done.error(), 1);
  tally_.count([&](ImportReport& r) {
    ++r.files;
    r.updated += replaces ? 1 : 0;
    r.bytes += attributes.size;
  });
}

void ImportTarget::large_file(InodeId parent, std::string name, Inode attributes, CopyFile copy,
                              const ExistingFiles::SameContent& same) {
  const Place place = place_for(parent, name, attributes, same);
  if (place == Place::none) return;
  jobs_.add([this, parent, path = path_of(parent, name), name, attributes = std::move(attributes),
             copy = std::move(copy), replaces = place == Place::replaces] {
    write_large(parent, path, name, attributes, copy, replaces);
  });
}

void ImportTarget::symlink(InodeId parent, const std::string& name, const Inode& attributes) {
  make_node(parent, name, attributes, &ImportReport::symlinks);
}

void ImportTarget::special(InodeId parent, const std::string& name, const Inode& attributes) {
  make_node(parent, name, attributes, &ImportReport::specials);
}

void ImportTarget::make_node(InodeId parent, const std::string& name, const Inode& attributes,
                             std::uint64_t ImportReport::*counter) {
  const Place place = place_for(parent, name, attributes, {});
  if (place == Place::none) return;
  const bool replaces = place == Place::replaces;
  const std::string as = replaces ? to_->temporary_name() : name;
  Status done = to_->make_node(parent, as, attributes);
  const bool is_made = done.has_value();
  if (is_made && replaces) done = existing_.take_name(parent, as, name);
  if (!done) links_.did_not_come(parent, name);
  if (!is_made) return failed_to_write(path_of(parent, name), done.error(), 1);
  if (!done) return failed("'" + path_of(parent, name) + "': " + done.error().message());
  tally_.count([&](ImportReport& r) {
    ++(r.*counter);
    r.updated += replaces ? 1 : 0;
  });
}

void ImportTarget::did_not_come(InodeId parent, const std::string& name, const std::string& problem) {
  links_.did_not_come(parent, name);
  failed(problem);
}

void ImportTarget::hard_link(InodeId parent, std::string name, InodeId first_parent, std::string first_name) {
  links_.add({parent, std::move(name), first_parent, std::move(first_name)});
}

void ImportTarget::source_complete() {
  pending_.all_complete();
  hand_out();
  jobs_.wait();
  make_all_links();
  links_.all_come_again();
  existing_.none_is_new();
  of_source_.clear();
  linked_.clear();
}

// A link whose first name did not come any more is no failure.
void ImportTarget::make_all_links() {
  for (const WaitingLinks::Link& link : links_.take()) {
    if (!rules_.is_to_stop()) make_link(link);
  }
}

// What links to it by now are names of what it was until now, or it is one itself: all that is there so far is made.
void ImportTarget::make_links_of(InodeId parent, const std::string& name) {
  if (!links_.concern(parent, name)) return;
  pending_.all_complete();
  hand_out();
  jobs_.wait();
  for (const WaitingLinks::Link& link : links_.take()) make_link(link);
}

void ImportTarget::forget_earlier(InodeId parent, const std::string& name) {
  make_links_of(parent, name);
  links_.comes_again(parent, name);
  pending_.erase_if([&](const Pending& p) { return p.parent == parent && p.name == name; });
  jobs_.wait();  // whatever is on its way must have arrived before it can be replaced
  const auto there = to_->look(parent, name);
  if (!there || S_ISDIR(there->mode) || !to_->was_made_here(*there)) return;
  if (!to_->remove(parent, name, false)) return;
  tally_.count([&](ImportReport& r) {
    const bool is_one_of_several = there->nlink > 1;
    --(is_one_of_several      ? r.links
       : S_ISREG(there->mode) ? r.files
       : S_ISLNK(there->mode) ? r.symlinks
                              : r.specials);
  });
}

void ImportTarget::make_link(const WaitingLinks::Link& link) {
  using Made = WaitingLinks::Made;
  const auto path = [&] { return path_of(link.parent, link.name); };
  auto made = links_.make(link, rules_.update);
  if (made == Made::not_over_a_directory && directory_goes(link.parent, link.name))
    made = links_.make(link, rules_.update);
  // An archive may have links to links.
  const bool is_there = made == Made::anew || made == Made::replaced || made == Made::was_there;
  if (!is_there) links_.did_not_come(link.parent, link.name);
  if (made == Made::not_over_a_directory) return;
  if (!made) return failed("hard link '" + path() + "': " + made.error().message());
  if (*made == Made::not_over_another) return failed(taken(path(), *to_));
  tally_.count([&](ImportReport& r) {
    ++(*made == Made::was_there ? r.same : r.links);
    r.updated += *made == Made::replaced ? 1 : 0;
  });
}

Result<ImportReport> ImportTarget::finish() {
  pending_.all_complete();
  hand_out();
  jobs_.wait();
  make_all_links();
  to_->end_temporaries();
  // What is in a directory comes before it, which may not be entered any more then.
  std::vector<InodeId> directories;
  for (const auto& [directory, attributes] : directories_) {
    if (attributes) directories.push_back(directory);
  }
  std::sort(directories.begin(), directories.end(), std::greater<>());
  for (const InodeId directory : directories) to_->settle_directory(directory, *directories_.at(directory));
  CFFS_TRY_VOID(to_->sync());
  ImportReport report = tally_.so_far();
  report.out_of_room = is_no_room(stopped_.load());
  report.interrupted = rules_.is_to_stop();
  return report;
}

}  // namespace cffs
