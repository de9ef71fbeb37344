#include "core/batch/batch_reader.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

#include "core/base/checksum.h"
#include "core/base/parallel.h"
#include "core/browse/tree_path.h"
#include "core/composite/composite_store.h"

namespace cffs {
namespace {

std::size_t aligned(std::size_t at) {
  return (at + BatchPlan::kAlignment - 1) / BatchPlan::kAlignment * BatchPlan::kAlignment;
}

constexpr std::size_t kOthersAtOnce = 16;

}  // namespace

BatchPlan::BatchPlan(std::span<const FilePlace> files) {
  members_.reserve(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    const FilePlace& file = files[i];
    if (file.size == 0) continue;
    (file.composite.value != 0 ? members_ : others_).push_back({i, 0});
  }
  const auto place = [&](const Member& m) {
    return std::pair(files[m.file].composite, files[m.file].offset);
  };
  const auto before = [&](const Member& a, const Member& b) { return place(a) < place(b); };
  if (!std::is_sorted(members_.begin(), members_.end(), before))
    std::sort(members_.begin(), members_.end(), before);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const FilePlace& file = files[members_[i].file];
    const std::uint64_t end = file.offset + file.size;
    const bool joins = !runs_.empty() && runs_.back().composite == file.composite &&
                       file.offset <= runs_.back().end + kNearBytes &&
                       std::max(end, runs_.back().end) - runs_.back().begin <= kRunBytes;
    if (!joins) {
      if (!runs_.empty()) bytes_ = runs_.back().at + (runs_.back().end - runs_.back().begin);
      bytes_ = aligned(bytes_);
      runs_.push_back({file.composite, file.offset, end, bytes_, i, 0});
    }
    Run& run = runs_.back();
    run.end = std::max(run.end, end);
    ++run.members;
    members_[i].at = run.at + (file.offset - run.begin);
  }
  if (!runs_.empty()) bytes_ = runs_.back().at + (runs_.back().end - runs_.back().begin);
  for (Member& other : others_) {
    const std::uint64_t size = files[other.file].size;
    // A file of holes may be as long as a file can be, and what they are together more than fits in a number.
    if (bytes_ >= kMoreThanAny - kAlignment || size >= kMoreThanAny - kAlignment - bytes_) {
      bytes_ = kMoreThanAny;
      return;
    }
    other.at = aligned(bytes_);
    bytes_ = other.at + size;
  }
}

void BatchReader::ask() const {
  for (std::size_t i = 0; i < plan_.runs().size();) {
    // Runs that touch are one request.
    const BatchPlan::Run& first = plan_.runs()[i];
    std::uint64_t end = first.end;
    for (++i; i < plan_.runs().size() && plan_.runs()[i].composite == first.composite &&
              plan_.runs()[i].begin <= end + BatchPlan::kNearBytes;
         ++i)
      end = std::max(end, plan_.runs()[i].end);
    if (const auto object = fs_.composites().open(first.composite)) {
      // Where memory has it, nothing is asked for; where nobody can tell, it costs little.
      const auto share = (*object)->share_in_memory(first.begin, end - first.begin);
      if (!share || *share < 1) (*object)->prefetch(first.begin, end - first.begin);
    }
  }
}

std::vector<BatchReader::Content> BatchReader::read(Bytes memory, unsigned threads) {
  CFFS_INVARIANT(memory.size() >= plan_.memory_bytes());
  const std::size_t others = (plan_.others().size() + kOthersAtOnce - 1) / kOthersAtOnce;
  const auto work = [&](std::size_t i) {
    if (i < plan_.runs().size()) return read_run(plan_.runs()[i], memory);
    const std::size_t first = (i - plan_.runs().size()) * kOthersAtOnce;
    const std::size_t end = std::min(first + kOthersAtOnce, plan_.others().size());
    for (std::size_t k = first; k < end; ++k) read_other(plan_.others()[k], memory);
  };
  const std::size_t count = plan_.runs().size() + others;
  if (threads <= 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) work(i);
  } else {
    in_parallel(count, threads, work);
  }
  return std::move(read_);
}

void BatchReader::read_run(const BatchPlan::Run& run, Bytes memory) {
  const Bytes bytes = memory.subspan(run.at, run.end - run.begin);
  std::size_t there = 0;
  if (const auto object = fs_.composites().open(run.composite)) {
    if (const auto n = (*object)->read_at(run.begin, bytes)) there = *n;
  }
  for (std::size_t i = run.first_member; i < run.first_member + run.members; ++i) {
    const BatchPlan::Member& member = plan_.members()[i];
    const FilePlace& file = files_[member.file];
    const Bytes content = memory.subspan(member.at, file.size);
    if (member.at - run.at + file.size <= there && checksum(content) == file.checksum) {
      read_[member.file].data = content.data();
      read_[member.file].bytes = content.size();
    } else {
      read_by_name(member.file, {});  // its room may be another's, too
    }
  }
}

// Of what the table keeps the row is at hand.
void BatchReader::read_other(const BatchPlan::Member& other, Bytes memory) {
  const FilePlace& file = files_[other.file];
  read_by_name(other.file, memory.subspan(other.at, file.size));
}

void BatchReader::read_by_name(std::size_t file, Bytes room) {
  // It may have become longer than there is memory for, and threads take no exceptions.
  const auto read = [&]() -> Status {
    try {
      return read_named(file, room);
    } catch (const std::bad_alloc&) {
      return fail(ENOMEM);
    } catch (const std::length_error&) {
      return fail(ENOMEM);
    }
  };
  if (const Status done = read(); !done) {
    read_[file].data = nullptr;
    read_[file].bytes = 0;
    read_[file].error = done.error();
  }
}

Status BatchReader::read_named(std::size_t file, Bytes room) {
  const std::string path = path_(file);
  CFFS_TRY(const Attributes now, find_path(fs_, path, LastLink::follow, path));
  struct Reference {
    FileSystem& fs;
    InodeId ino;
    ~Reference() { fs.forget(ino, 1); }
  } const reference{fs_, now.ino};
  if (S_ISDIR(now.mode)) return fail(EISDIR, path);
  if (!S_ISREG(now.mode)) return fail(EINVAL, path);
  Content& content = read_[file];
  if (now.size != room.size()) {
    content.apart = std::make_unique<std::string>(now.size, '\0');
    room = as_writable_bytes(*content.apart);
  }
  std::size_t at = 0;
  while (at < room.size()) {
    CFFS_TRY(const std::size_t n, fs_.read(now.ino, at, room.subspan(at)));
    if (n == 0) break;  // cut off meanwhile
    at += n;
  }
  content.data = room.data();
  content.bytes = at;
  return {};
}

}  // namespace cffs
