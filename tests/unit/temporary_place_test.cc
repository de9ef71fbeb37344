// What a killed command had in a temporary place goes with the next, and nothing that is somebody's.
#include "cli/temporary_place.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <thread>

#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

using cli::TemporaryPlace;

std::set<std::string> names_below(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

std::unique_ptr<TemporaryPlace> place_in(const std::string& folder) {
  auto place = TemporaryPlace::make(folder, ".cffs-export");
  REQUIRE(place);
  return std::move(*place);
}

void fill_place(const std::string& path) {
  std::filesystem::create_directories(path + "/store/table");
  std::ofstream(path + "/store/table/rows") << "rows";
}

}  // namespace

TEST_CASE("a temporary place goes with its command, and what was killed at any moment with the next") {
  TemporaryDirectory folder;
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) {
        const auto place = TemporaryPlace::make(folder.path, ".cffs-export");
        if (place) fill_place((*place)->path());
      }
    }
    ::usleep(static_cast<useconds_t>(random() % 3000));
    REQUIRE(::kill(child, SIGKILL) == 0);
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    {
      const auto next = place_in(folder.path);
      CHECK(names_below(folder.path).size() == 1);
      fill_place(next->path());
    }
    CHECK(names_below(folder.path).empty());
  }
}

TEST_CASE("a temporary place in which somebody still writes goes when he has ended") {
  for (int round = 0; round < 20; ++round) {
    TemporaryDirectory folder;
    const pid_t child = ::fork();
    if (child == 0) {
      const auto place = TemporaryPlace::make(folder.path, ".cffs-export");
      ::_exit(place ? 0 : 1);
    }
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    const auto left = names_below(folder.path);
    REQUIRE(left.size() == 1);
    // As a daemon does that was asked for a backup there.
    std::thread writer([path = folder.path + "/" + *left.begin()] {
      for (int i = 0; i < 300; ++i) {
        std::error_code ignored;
        std::filesystem::create_directory(path + "/" + std::to_string(i), ignored);
      }
    });
    for (int i = 0; i < 20; ++i) place_in(folder.path).reset();
    writer.join();
    place_in(folder.path).reset();
    CHECK(names_below(folder.path).empty());
  }
}

TEST_CASE("a temporary place that is in use stays, and so does what is somebody's") {
  TemporaryDirectory folder;
  const auto living = place_in(folder.path);
  fill_place(living->path());
  const std::string plain = folder.path + "/.cffs-export.abcdef", copy = folder.path + "/.cffs-export.ghijkl";
  fill_place(plain);
  std::filesystem::copy(living->path(), copy, std::filesystem::copy_options::recursive);
  for (const std::string& path : {plain, copy}) REQUIRE(::chmod(path.c_str(), 0700) == 0);
  std::ofstream(folder.path + "/.cffs-export.mnopqr") << "a file";
  const auto before = names_below(folder.path);
  place_in(folder.path).reset();
  CHECK(names_below(folder.path) == before);
  CHECK(std::filesystem::exists(living->path() + "/store/table/rows"));
  CHECK(std::filesystem::exists(copy + "/store/table/rows"));
}

}  // namespace cffs::test
