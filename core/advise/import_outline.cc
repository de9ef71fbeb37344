#include "core/advise/import_outline.h"

#include <sys/stat.h>

#include "core/composite/large_member.h"
#include "core/composite/record.h"
#include "core/packed/packer.h"
#include "core/transfer/pending_groups.h"

namespace cffs {
namespace {

constexpr std::size_t kOutlinedShareFiles = 8192;  // as core/transfer/import_target.cc

// Of a file as most are: times of today, owner and mode in few bytes.
std::uint64_t record_bytes_without_name() {
  Inode inode;
  inode.ino = InodeId{1'000'000};
  inode.mode = S_IFREG | 0644;
  inode.atime_ns = inode.mtime_ns = inode.ctime_ns = inode.btime_ns = 1'700'000'000'000'000'123;
  inode.size = 5'000;
  std::string record;
  return append_record(record, 0, InodeId{100'000}, "", inode, "", 0);
}

class OutlineWalk {
 public:
  OutlineWalk(const TreeSurvey& survey, const StoreFormat& format, bool composites,
              const OnComposite& on_composite)
      : survey_(survey),
        format_(format),
        composites_(composites),
        on_composite_(on_composite),
        pending_(format.composite_max, kOutlinedShareFiles) {}

  ImportOutline run() {
    std::vector<std::uint32_t> waiting{0};
    while (!waiting.empty()) {  // files first, then directories, as an import goes
      const std::uint32_t at = waiting.back();
      waiting.pop_back();
      const SurveyedDirectory& directory = survey_.directories[at];
      for (std::uint32_t i = 0; i < directory.files.size(); ++i) file(at, i, directory.files[i]);
      pending_.directory_complete(InodeId{at});
      take();
      waiting.insert(waiting.end(), directory.children.rbegin(), directory.children.rend());
    }
    pending_.all_complete();
    take();
    return outline_;
  }

 private:
  void file(std::uint32_t directory, std::uint32_t index, const SurveyedFile& surveyed) {
    const std::uint64_t size = surveyed.size;
    const std::uint64_t most = !composites_                                ? format_.inline_max
                               : size > kPackedUnseen && !surveyed.shrinks ? kPackedUnseen
                                                                           : format_.composite_file_max;
    if (size == 0) ++outline_.empty_files;
    if (!composites_ && size > 0 && size <= format_.inline_max) {
      ++outline_.inline_files;
      outline_.inline_bytes += size;
      outline_.chunks += (size + kChunkBytes - 1) / kChunkBytes;
    } else if (size > most) {
      ++outline_.blobs;
      outline_.blob_bytes += size;
    } else if (composites_) {
      pending_.add(OutlinedFile{InodeId{directory}, size, index}, size > 0);
    }
  }

  void take() {
    for (std::vector<OutlinedFile>& share : pending_.take()) {
      std::erase_if(share, [](const OutlinedFile& f) { return f.size == 0; });
      if (share.empty()) continue;
      std::uint64_t bytes = kCompositeHeaderBytes;
      for (const OutlinedFile& f : share) {
        bytes +=
            f.size + record_overhead(f.size, survey_.directories[f.parent.value].files[f.index].name_bytes);
        outline_.member_bytes += f.size;
        if (f.size > kLargeMember) ++outline_.large_members;
      }
      outline_.members += share.size();
      outline_.composite_bytes += bytes;
      ++outline_.composites;
      if (on_composite_) on_composite_(share, bytes);
    }
  }

  const TreeSurvey& survey_;
  const StoreFormat& format_;
  const bool composites_;
  const OnComposite& on_composite_;
  PendingGroups<OutlinedFile> pending_;
  ImportOutline outline_;
};

}  // namespace

std::uint64_t record_overhead(std::uint64_t size, std::uint64_t name_bytes) {
  static const std::uint64_t beside = record_bytes_without_name();
  const std::uint64_t record = beside + name_bytes + size;
  return (record + 7) / 8 * 8 - size;
}

ImportOutline outline_import(const TreeSurvey& survey, const StoreFormat& format, bool composites,
                             const OnComposite& on_composite) {
  return OutlineWalk(survey, format, composites, on_composite).run();
}

}  // namespace cffs
