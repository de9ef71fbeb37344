// Where a file has data, for who writes it into an archive, and zeros that become holes on the way back.
#include "core/transfer/data_runs.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>

#include "core/object/posix_store.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

constexpr std::uint64_t kBlockOfFile = 4096;

struct SparseStore {
  const TemporaryDirectory directory;  // holes are what the file system below makes of them
  const std::unique_ptr<PosixStore> store = std::move(*PosixStore::open_directory(directory.path));
  std::unique_ptr<FileSystem> fs;
  SparseStore() {
    REQUIRE(FileSystem::format(*store, repeatable(), SystemClock()));
    fs = std::move(*FileSystem::open(*store, quiet()));
  }
  // Data of one block at each of these, and that size.
  Attributes file(const std::vector<std::uint64_t>& blocks, std::uint64_t size) {
    const auto made = fs->mknod(kRootInode, "file", S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    for (const std::uint64_t at : blocks)
      REQUIRE(fs->write(made->ino, at, as_bytes(std::string(kBlockOfFile, 'x')), kRoot));
    AttributeChange change;
    change.size = size;
    REQUIRE(fs->setattr(made->ino, change, kRoot));
    return *fs->getattr(made->ino);
  }
};

std::vector<std::pair<std::uint64_t, std::uint64_t>> run_pairs(const std::vector<DataRun>& runs) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
  for (const DataRun& run : runs) all.emplace_back(run.offset, run.bytes);
  return all;
}

// What write_data() makes of these bytes in a file of zeros, and where it wrote.
struct WrittenData {
  std::string file;
  std::map<std::uint64_t, std::size_t> pieces;
};
WrittenData written_by(std::uint64_t offset, const std::string& bytes) {
  WrittenData w;
  w.file.assign(offset + bytes.size(), '\0');
  REQUIRE(write_data(
      [&](std::uint64_t at, std::string_view piece) -> Status {
        REQUIRE(at + piece.size() <= w.file.size());
        w.file.replace(at, piece.size(), piece);
        w.pieces[at] = piece.size();
        return {};
      },
      offset, bytes));
  CHECK(w.file.substr(offset) == bytes);
  return w;
}

}  // namespace

TEST_CASE("a file's data is found between its holes", "[transfer]") {
  SparseStore s;
  constexpr std::uint64_t kMiB = 1u << 20;
  const Attributes file = s.file({2 * kMiB, 9 * kMiB}, 20 * kMiB);
  const auto runs = data_runs(*s.fs, file, 100);
  REQUIRE(runs);
  CHECK(run_pairs(*runs) == std::vector<std::pair<std::uint64_t, std::uint64_t>>{{2 * kMiB, kBlockOfFile},
                                                                                 {9 * kMiB, kBlockOfFile}});
}

TEST_CASE("a file without data has no runs, one without holes has one", "[transfer]") {
  SparseStore s;
  const auto none = data_runs(*s.fs, s.file({}, 20u << 20), 100);
  REQUIRE(none);
  CHECK(none->empty());
  SparseStore t;
  const auto all = data_runs(*t.fs, t.file({0}, kBlockOfFile), 100);
  REQUIRE(all);
  CHECK(run_pairs(*all) == std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, kBlockOfFile}});
}

TEST_CASE("where there would be more runs than are wanted short holes count as data", "[transfer]") {
  SparseStore s;
  std::vector<std::uint64_t> blocks;
  constexpr std::uint64_t kShort = 16 * kBlockOfFile, kLong = 64u << 20;
  for (std::uint64_t i = 0; i < 50; ++i) blocks.push_back(kLong / 4 + i * kShort);
  for (std::uint64_t i = 0; i < 50; ++i) blocks.push_back(kLong * 2 + i * kShort);
  const Attributes file = s.file(blocks, kLong * 3);
  REQUIRE(data_runs(*s.fs, file, 100)->size() == 100);
  const auto few = data_runs(*s.fs, file, 10);
  REQUIRE(few);
  CHECK(few->size() <= 10);
  // All data is in them, and the long hole between the two stretches is not.
  for (const std::uint64_t at : blocks) {
    CHECK(std::any_of(few->begin(), few->end(), [&](const DataRun& run) {
      return run.offset <= at && at + kBlockOfFile <= run.offset + run.bytes;
    }));
  }
  std::uint64_t bytes = 0;
  for (const DataRun& run : *few) bytes += run.bytes;
  CHECK(bytes <= 2 * (49 * kShort + kBlockOfFile));
}

TEST_CASE("zeros that fill blocks are not written, others are", "[transfer]") {
  const std::string zeros(kBlockOfFile, '\0'), data(kBlockOfFile, 'd');
  CHECK(written_by(0, zeros + zeros).pieces.empty());
  CHECK(written_by(0, zeros + data + zeros).pieces ==
        std::map<std::uint64_t, std::size_t>{{kBlockOfFile, kBlockOfFile}});
  // Neighbours go in one piece.
  CHECK(written_by(0, data + data + zeros + data).pieces ==
        std::map<std::uint64_t, std::size_t>{{0, 2 * kBlockOfFile}, {3 * kBlockOfFile, kBlockOfFile}});
  // Zeros inside a block are data like any other.
  CHECK(written_by(0, "x" + zeros.substr(2) + "x").pieces ==
        std::map<std::uint64_t, std::size_t>{{0, kBlockOfFile}});
  // From the middle of a block: what is left of it counts by itself.
  CHECK(written_by(kBlockOfFile / 2, zeros + data).pieces ==
        std::map<std::uint64_t, std::size_t>{{kBlockOfFile, kBlockOfFile * 3 / 2}});
  CHECK(written_by(1, "").pieces.empty());
}

TEST_CASE("a failure to write what is between holes is told", "[transfer]") {
  int calls = 0;
  const Status done = write_data(
      [&](std::uint64_t, std::string_view) -> Status {
        ++calls;
        return fail(ENOSPC, "disk");
      },
      0, std::string(kBlockOfFile, 'a') + std::string(kBlockOfFile, '\0') + std::string(kBlockOfFile, 'b'));
  REQUIRE_FALSE(done);
  CHECK(done.error().errno_value == ENOSPC);
  CHECK(calls == 1);
}

}  // namespace cffs::test
