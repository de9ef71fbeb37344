// A store that was just imported lies as its policy would have it: regrouping finds nothing to move.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <utility>

#include "core/fs/file_system.h"
#include "core/fs/rehousing.h"
#include "core/object/memory_store.h"
#include "core/reorganise/policy_adoption.h"
#include "core/reorganise/regrouping.h"
#include "core/reorganise/small_files.h"
#include "core/transfer/directory_import.h"
#include "core/transfer/import_target.h"
#include "core/transfer/archive_import.h"
#include "grouping/directory_policy.h"
#include "grouping/frequency_policy.h"
#include "grouping/reference_policy.h"
#include "tests/test_options.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

constexpr std::uint64_t kCompositeMax = 64 << 10, kFileMax = 16 << 10;

StoreFormat small_composites() {
  StoreFormat format;
  format.composite_max = kCompositeMax;
  format.composite_file_max = kFileMax;
  return repeatable(format);
}

// Directories of no files to several groups, some of them with more below; a tenth of the files is empty, some are too large
// for a composite, some have a second name in another directory.
void make_tree(const std::string& top, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::string> directories{top};
  for (int d = 0; d < 30; ++d) {
    directories.push_back(directories[random() % directories.size()] + "/d" + std::to_string(d));
    std::filesystem::create_directory(directories.back());
  }
  for (std::size_t d = 0; d < directories.size(); ++d) {
    const std::size_t files = d % 10 == 3 ? 1500 : random() % 60;
    for (std::size_t f = 0; f < files; ++f) {
      const std::string path = directories[d] + "/" + std::to_string(random());
      const std::size_t most = d % 3 == 0 ? 300 : d % 3 == 1 ? 6000 : kFileMax * 5 / 4;
      std::ofstream(path) << std::string(f % 10 == 0 ? 0 : random() % most, 'x');
      if (f % 20 == 1)
        std::filesystem::create_hard_link(path,
                                          directories[random() % (d + 1)] + "/l" + std::to_string(random()));
    }
  }
}

std::shared_ptr<grouping::Policy> by_plan(const std::string& top) {
  auto groups = std::make_shared<grouping::PlanGroups>();
  std::vector<grouping::PlanGroups::Member> members;
  std::size_t met = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(top)) {
    if (!entry.is_regular_file() || ++met % 50 != 0) continue;
    members.push_back({std::filesystem::relative(entry.path(), top), 0});
    if (members.size() == 5) groups->add_group(std::exchange(members, {}));
  }
  groups->set_table_bytes(200);
  return std::make_shared<grouping::FrequencyPolicy>(groups);
}

struct Imported {
  Imported(const std::string& from, const std::shared_ptr<grouping::Policy>& policy, unsigned jobs) {
    REQUIRE(FileSystem::format(objects, small_composites(), SystemClock()));
    auto opened = FileSystem::open(objects, quiet());
    REQUIRE(opened);
    fs = std::move(*opened);
    REQUIRE(adopt_policy(*fs, policy));
    ImportTarget target(*fs, jobs, nullptr);
    REQUIRE(
        (std::filesystem::is_directory(from) ? import_directory(from, target) : import_archive(from, target)));
    report = target.finish().value();
    REQUIRE(report.problems.empty());
  }
  RegroupReport regroup(bool dry_run) {
    RegroupOptions options;
    options.dry_run = dry_run;
    Reorganiser reorganiser(*fs);
    auto done = cffs::regroup(reorganiser, *fs->policy(), options);
    REQUIRE(done);
    return *done;
  }
  MemoryStore objects;
  std::unique_ptr<FileSystem> fs;
  ImportReport report;
};

}  // namespace

TEST_CASE("after an import by directory there is nothing to move") {
  const TemporaryDirectory tree;
  make_tree(tree.path, GENERATE(1u, 2u, 3u));
  const auto policy = std::make_shared<grouping::DirectoryPolicy>();
  Imported s(tree.path, policy, GENERATE(1u, 3u));
  for (const bool dry_run : {true, false}) {
    const RegroupReport report = s.regroup(dry_run);
    CHECK(report.files > 1000);
    CHECK(report.groups > 20);
    CHECK(report.groups_in_place == report.groups);
    CHECK(report.files_to_move == 0);
    CHECK(report.composites_after == report.composites_before);
  }
}

TEST_CASE("the files of an imported directory lie by name, over however many composites") {
  const TemporaryDirectory tree;
  std::mt19937 random(1);
  for (int f = 0; f < 400; ++f)
    std::ofstream(tree.path + "/" + std::to_string(random())) << std::string(1 + random() % 2000, 'x');
  Imported s(tree.path, std::make_shared<grouping::DirectoryPolicy>(), 1);
  using Place = std::pair<std::uint64_t, std::uint64_t>;
  std::map<std::string, Place> by_name;
  std::vector<Place> places;
  REQUIRE(visit_small_files(*s.fs, [&](const SmallFile& f) {
    const auto file = s.fs->rehousing().find({f.parent, f.name}, f.ino);
    REQUIRE(file);
    REQUIRE(*file);
    const Extent& extent = (*file)->inode.extent;
    by_name[f.name] = places.emplace_back(extent.composite.value, extent.offset);
  }));
  std::sort(places.begin(), places.end());
  CHECK(places.front().first < places.back().first);
  std::vector<Place> of_names;
  for (const auto& [name, place] : by_name) of_names.push_back(place);
  CHECK((of_names == places));
}

TEST_CASE("after an import and its grouping by references or a plan there is nothing to move") {
  const TemporaryDirectory tree;
  make_tree(tree.path, 4);
  const bool planned = GENERATE(false, true);
  Imported s(tree.path, planned ? by_plan(tree.path) : std::make_shared<grouping::ReferencePolicy>(), 2);
  (void)s.regroup(false);
  const RegroupReport report = s.regroup(true);
  CHECK(report.groups > 20);
  CHECK(report.groups_in_place == report.groups);
  CHECK(report.files_to_move == 0);
}

TEST_CASE(
    "an archive comes back to a directory after what lies below it: its files lie together all the same") {
  const TemporaryDirectory tree, archive;
  for (const std::string below : {"", "m", "m/m"}) {
    if (!below.empty()) std::filesystem::create_directory(tree.path + "/" + below);
    for (char c = 'a'; c <= 'z'; ++c)
      std::ofstream(tree.path + "/" + below + "/" + c + "f") << std::string(500, c);
  }
  const std::string tar = archive.path + "/t.tar";
  const std::string made = "tar -C " + tree.path + " --sort=name -cf " + tar + " .";
  REQUIRE(std::system(made.c_str()) == 0);
  Imported s(tar, std::make_shared<grouping::DirectoryPolicy>(), 1);
  CHECK(s.report.files == 78);
  const RegroupReport report = s.regroup(true);
  CHECK(report.groups == 3);
  CHECK(report.files_to_move == 0);
}

TEST_CASE("what waits in an import is bounded, in bytes and in files, over however many directories") {
  struct File {
    InodeId parent;
    std::uint64_t size = 0;
  };
  constexpr std::uint64_t kShareBytes = 20'000, kFiles = 100'000;
  constexpr std::size_t kShareFiles = 2 * grouping::kMostMembers;
  for (const std::uint64_t size : {1u, 900u, 20'000u}) {
    PendingGroups<File> pending(kShareBytes, kShareFiles);
    std::uint64_t given = 0;
    for (std::uint64_t i = 0; i < kFiles; ++i) {
      pending.add({InodeId{i % 7 == 0 ? 3 : i}, size}, true);
      for (const auto& share : pending.take()) {
        REQUIRE(share.size() <= kShareFiles);
        REQUIRE(share.size() * size <= kShareBytes);
        given += share.size();
      }
      REQUIRE(i + 1 - given <= 6 * kShareFiles);
      REQUIRE((i + 1 - given) * size <= 6 * kShareBytes);
    }
    pending.all_complete();
    for (const auto& share : pending.take()) given += share.size();
    REQUIRE(given == kFiles);
  }
}

TEST_CASE("what files that wait in an import have beside their content is bounded", "[import]") {
  struct File {
    InodeId parent;
    std::uint64_t size = 0;
  };
  constexpr std::uint64_t kHeld = 100'000, kMostWait = 600;
  const std::uint64_t size = GENERATE(0u, 1u);
  const std::uint64_t directories = GENERATE(1u, 10'000u);
  PendingGroups<File> pending(std::uint64_t{64} << 20, 8192);
  std::uint64_t given = 0, most = 0;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    pending.add({InodeId{i % directories + 1}, size}, size > 0, kHeld);
    for (const auto& share : pending.take()) given += share.size();
    most = std::max(most, i + 1 - given);
  }
  CHECK(most < kMostWait);
  pending.all_complete();
  for (const auto& share : pending.take()) given += share.size();
  CHECK(given == 5000);
}

TEST_CASE("a file that is larger than a worker's share is alone in one, and cuts no other", "[import]") {
  struct File {
    InodeId parent;
    std::uint64_t size;
  };
  PendingGroups<File> pending(1000, 100);
  for (std::uint64_t directory = 1; directory <= 5; ++directory) {
    for (const std::uint64_t size : {10, 5000, 20}) pending.add({InodeId{directory}, size}, true);
    pending.directory_complete(InodeId{directory});
  }
  pending.all_complete();
  std::size_t large = 0, small = 0;
  for (const auto& share : pending.take()) {
    if (share.size() == 1 && share.front().size == 5000) {
      ++large;
    } else {
      REQUIRE(share.size() == 10);
      ++small;
    }
  }
  REQUIRE(large == 5);
  REQUIRE(small == 1);
}

}  // namespace cffs::test
