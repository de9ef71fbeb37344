// Many small files read at once: those that lie side by side in a composite come with one read of the medium, into memory that the caller
// gives; each file is a piece of that.
//
// Every member's checksum is looked at. It is also what tells that the file is still what it was when its place was looked up: where that
// no longer holds (the file was written since, or moved), or a row has to be asked anyway, the file is read by its name, as it is then.
// So a content that comes out is whole, the file's when its place was looked up or later. Rows that the table keeps (small files that were
// not moved into a composite yet) take a look each, blobs two.
//
// Thread safety: everything.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/batch/placed_files.h"

namespace cffs {

// What is read with one call, and where in memory it comes to lie.
class BatchPlan {
 public:
  // Pieces of memory begin at multiples of it.
  static constexpr std::size_t kAlignment = 64;
  // Files whose data is further apart are not read together.
  static constexpr std::uint64_t kNearBytes = 16u << 10;
  // What one read asks for at most, unless a file is larger. So much is still in the processor's cache when its checksums are looked at.
  static constexpr std::uint64_t kRunBytes = 256u << 10;

  static constexpr std::size_t kMoreThanAny = std::numeric_limits<std::ptrdiff_t>::max();

  explicit BatchPlan(std::span<const FilePlace> files);

  struct Member {
    std::size_t file = 0;
    std::size_t at = 0;  // in memory
  };
  struct Run {
    CompositeId composite;
    std::uint64_t begin = 0, end = 0;
    std::size_t at = 0;                         // in memory
    std::size_t first_member = 0, members = 0;  // of members()
  };
  // kMoreThanAny: together the files are larger than any memory, and nothing of the plan holds.
  std::size_t memory_bytes() const { return bytes_; }
  const std::vector<Run>& runs() const { return runs_; }
  const std::vector<Member>& members() const { return members_; }
  const std::vector<Member>& others() const { return others_; }  // in no composite

 private:
  std::size_t bytes_ = 0;
  std::vector<Run> runs_;
  std::vector<Member> members_, others_;
};

class BatchReader {
 public:
  // `path` names the i-th file, where it has to be read by its name.
  using PathOf = std::function<std::string(std::size_t)>;
  BatchReader(FileSystem& fs, std::span<const FilePlace> files, const BatchPlan& plan, PathOf path)
      : fs_(fs), files_(files), plan_(plan), path_(std::move(path)), read_(files.size()) {}

  // Where the i-th file's content is now: in the caller's memory, or apart. A file that could not be read has an error.
  struct Content {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::unique_ptr<std::string> apart;
    std::optional<Error> error;
  };
  // Asks the medium for all of it, without waiting.
  void ask() const;
  // `memory` has plan.memory_bytes(). By so many threads, the caller's among them.
  std::vector<Content> read(Bytes memory, unsigned threads);

 private:
  void read_run(const BatchPlan::Run& run, Bytes memory);
  void read_other(const BatchPlan::Member& other, Bytes memory);
  void read_by_name(std::size_t file, Bytes room);
  Status read_named(std::size_t file, Bytes room);

  FileSystem& fs_;
  const std::span<const FilePlace> files_;
  const BatchPlan& plan_;
  const PathOf path_;
  std::vector<Content> read_;
};

}  // namespace cffs
