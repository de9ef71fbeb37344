#include "core/reorganise/deduplication.h"

#include <set>
#include <utility>
#include <vector>

#include "core/base/pace.h"
#include "core/fs/limits.h"
#include "core/fs/rehousing.h"
#include "core/reorganise/small_files.h"
#include "core/table/content_row.h"
#include "core/table/table.h"

namespace cffs {

Result<Deduplication::Done> Deduplication::run() {
  std::vector<std::pair<EntryName, InodeId>> members;
  const Status walked = visit_small_files(
      fs_,
      [&](SmallFile f) {
        if (f.home == Home::composite && f.size >= kLeastShared)
          members.push_back({{f.parent, std::move(f.name)}, f.ino});
      },
      options_.stop);
  if (!walked && !walked.error().is_damage()) return fail(walked.error());
  Pace pace(options_.bytes_per_second);
  std::size_t looked = 0;
  for (const auto& [at, ino] : members) {
    if (stopped()) break;
    CFFS_TRY_VOID(look(at, ino));
    const bool full = files_.size() >= kRowsAtOnce;
    const std::uint64_t before = done_.bytes;
    if (full) CFFS_TRY_VOID(share());
    pace.spent(done_.bytes - before, [this] { return !stopped(); });
    if (options_.on_progress && ++looked % 64 == 0) {
      options_.on_progress({"comparing", looked, members.size(), "files",
                            std::to_string(done_.files) + " share what others have"});
    }
  }
  CFFS_TRY_VOID(share());
  done_.stopped = stopped();
  CFFS_TRY_VOID(fs_.sync());
  return done_;
}

// The first of a content offers it; who comes later is compared, and takes it.
Status Deduplication::look(const EntryName& at, InodeId ino) {
  auto looked_up = fs_.rehousing().find(at, ino);
  if (!looked_up && looked_up.error().is_damage()) return {};
  CFFS_TRY(auto file, std::move(looked_up));
  if (!file || file->inode.home != Home::composite) return {};
  const Extent& own = file->inode.extent;
  const Key key = content_key(own);
  CFFS_TRY(const auto value, fs_.table().get(key));
  const auto known = value ? decode_content_row(key, *value) : Result<ContentRow>(fail(ENOENT));
  if (!known) return offer(*file);
  const Extent& there = known->extent;
  if (there.composite == own.composite && there.slot == own.slot) return {};
  const auto readable = fs_.rehousing().read(*file);
  if (!readable || !*readable) return {};
  file->twin = twins_.find(file->content);
  file->content = {};
  if (!file->twin) return offer(*file);  // that one cannot be read, or is of another content
  files_.push_back(std::move(*file));
  return {};
}

Status Deduplication::offer(const FileToMove& file) {
  return reorganiser_.exclusively([&] { return fs_.rehousing().offer(file); });
}

// As many as may share the first; of those that are left the next of each content takes its place.
Status Deduplication::share() {
  while (!files_.empty()) {
    const std::vector<FileToMove> files = std::exchange(files_, {});
    std::vector<std::size_t> left;
    CFFS_TRY(const std::size_t n,
             reorganiser_.exclusively([&] { return fs_.rehousing().into_twins(files, left); }));
    done_.files += n;
    for (const FileToMove& file : files) done_.bytes += file.inode.size;
    std::set<Key> offered;
    for (const std::size_t i : left) {
      done_.bytes -= files[i].inode.size;
      if (offered.insert(content_key(files[i].inode.extent)).second) CFFS_TRY_VOID(offer(files[i]));
    }
    for (const std::size_t i : left) CFFS_TRY_VOID(look(files[i].at, files[i].inode.ino));
  }
  return {};
}

}  // namespace cffs
