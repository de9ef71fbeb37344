// What directories are said to hold and to take.
#include "core/inspect/directory_sizes.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "core/composite/composite_store.h"
#include "core/inspect/statistics.h"
#include "core/object/memory_store.h"
#include "core/reorganise/reorganiser.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

struct MeasuredStore {
  explicit MeasuredStore(const Compression& how) {
    StoreFormat format;
    format.composite_file_max = 256u << 10;
    format.composite_max = 4u << 20;  // one for all
    format.compression = how;
    REQUIRE(FileSystem::format(objects, repeatable(format), SystemClock()));
    fs = std::move(*FileSystem::open(objects, quiet()));
  }
  InodeId directory(InodeId in, const std::string& name) {
    const auto made = fs->mkdir(in, name, 0755, kRoot);
    REQUIRE(made);
    return made->ino;
  }
  InodeId file(InodeId in, const std::string& name, const std::string& content) {
    const auto made = fs->mknod(in, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    if (!content.empty()) REQUIRE(fs->write(made->ino, 0, as_bytes(content), kRoot));
    return made->ino;
  }
  std::map<std::string, DirectorySizes::Line> sizes(unsigned depth) {
    const auto found = collect_directory_sizes(*fs, depth);
    REQUIRE(found);
    CHECK(found->lines.front().path == ".");
    unread = found->unread_composites;
    std::map<std::string, DirectorySizes::Line> by_path;
    for (const auto& line : found->lines) by_path[line.path] = line;
    return by_path;
  }
  MemoryStore objects;
  std::unique_ptr<FileSystem> fs;
  std::uint64_t unread = 0;
};

std::string text_of(int i) {
  std::string text;
  while (text.size() < 9'000)
    text += "line " + std::to_string(i * 1000 + static_cast<int>(text.size())) + "\n";
  text.resize(9'000);
  return text;
}
std::string noise_of(int i) {
  std::mt19937 random(static_cast<unsigned>(i));
  std::string noise(9'000, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  return noise;
}

TEST_CASE("a directory's share of a composite is that of its frames", "[sizes]") {
  MeasuredStore store({Codec::zstd, 3});
  const InodeId text = store.directory(kRootInode, "text"), noise = store.directory(kRootInode, "noise"),
                deep = store.directory(text, "deep");
  constexpr int kFiles = 60;  // of each kind; some frames
  for (int i = 0; i < kFiles; ++i) store.file(i % 2 == 0 ? text : deep, "f" + std::to_string(i), text_of(i));
  for (int i = 0; i < kFiles; ++i) store.file(noise, "f" + std::to_string(i), noise_of(i));
  store.file(kRootInode, "empty", "");
  REQUIRE(Reorganiser(*store.fs).compact_now());
  const auto of = store.sizes(1);
  REQUIRE(of.size() == 3);
  CHECK(of.at(".").files == 2 * kFiles + 1);
  CHECK(of.at(".").bytes == 2 * kFiles * 9'000);
  CHECK(of.at("text").files == kFiles);
  CHECK(of.at("text").bytes == kFiles * 9'000);
  CHECK(of.at("text").stored_bytes < kFiles * 9'000 / 2);
  CHECK(of.at("text").stored_bytes > 0);
  // A frame at the border has some of both.
  CHECK(of.at("noise").stored_bytes > kFiles * 9'000 * 8 / 10);
  CHECK(of.at("noise").stored_bytes < kFiles * 9'000 * 11 / 10);
  CHECK(store.unread == 0);
  // Together they are what the composites take, but for headers and records.
  const auto statistics = collect_statistics(*store.fs);
  REQUIRE(statistics);
  CHECK(of.at(".").stored_bytes <= statistics->stored_bytes);
  CHECK(of.at(".").stored_bytes > statistics->stored_bytes * 95 / 100);

  const auto deeper = store.sizes(2);
  REQUIRE(deeper.size() == 4);
  CHECK(deeper.at("text/deep").files == kFiles / 2);
  CHECK(deeper.at("text").files == kFiles);  // with those below
  CHECK(store.sizes(0).size() == 1);
}

TEST_CASE("of what is not compressed each byte takes one; several names count once", "[sizes]") {
  MeasuredStore store({});
  const InodeId a = store.directory(kRootInode, "a"), b = store.directory(kRootInode, "b");
  const InodeId linked = store.file(a, "one", text_of(1));
  REQUIRE(store.fs->link(linked, b, "two"));
  REQUIRE(store.fs->link(linked, kRootInode, "three"));
  store.file(b, "large", std::string(300u << 10, 'x'));
  store.file(a, "tiny", "tiny");
  REQUIRE(Reorganiser(*store.fs).compact_now());
  const auto of = store.sizes(1);
  CHECK(of.at(".").files == 3);
  CHECK(of.at(".").bytes == 9'000 + (300u << 10) + 4);
  CHECK(of.at(".").stored_bytes == of.at(".").bytes);
}

TEST_CASE("a composite that cannot be read is counted, and no reason to stop", "[sizes]") {
  MeasuredStore store({Codec::zstd, 3});
  const InodeId text = store.directory(kRootInode, "text");
  for (int i = 0; i < 60; ++i) store.file(text, "f" + std::to_string(i), text_of(i));
  REQUIRE(Reorganiser(*store.fs).compact_now());
  const auto objects = store.objects.list("");
  REQUIRE(objects);
  std::uint64_t removed = 0;
  for (const std::string& name : *objects) {
    if (!name.starts_with("composites/")) continue;
    REQUIRE(store.objects.remove(name));
    ++removed;
  }
  REQUIRE(removed > 0);
  const auto of = store.sizes(1);
  CHECK(store.unread == removed);
  CHECK(of.at("text").stored_bytes == of.at("text").bytes);
}

TEST_CASE("what does not fit into a mount's answer is left out, the smallest first", "[sizes]") {
  DirectorySizes sizes;
  sizes.lines.push_back({".", 3000, 100'000, 50'000});
  for (unsigned i = 0; i < 1000; ++i)
    sizes.lines.push_back({"directory \xff" + std::to_string(i), 3, 100 + i, 50});
  const std::string all = directory_sizes_json(sizes, SIZE_MAX);
  CHECK(nlohmann::json::parse(all).at("by_directory").size() == 1001);
  const std::string some = directory_sizes_json(sizes, 10'000);
  CHECK(some.size() <= 10'000);
  const auto json = nlohmann::json::parse(some);
  const auto& shown = json.at("by_directory");
  REQUIRE(shown.size() > 50);
  CHECK(shown.front().at("path") == ".");
  CHECK(shown.back().at("bytes") == 1099);
  CHECK(json.at("left_out_directories") == 1001 - shown.size());
}

}  // namespace
}  // namespace cffs::test
