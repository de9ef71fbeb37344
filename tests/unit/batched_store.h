// A store with files of every home, for tests of those that read many at once.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/batch/batch_reader.h"
#include "core/object/faulty_store.h"
#include "core/reorganise/reorganiser.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {

// Members of a few composites, files that the table has, blobs, holes, empty ones; by their paths.
struct BatchedStore {
  FaultyStore objects;
  std::unique_ptr<FileSystem> fs;
  InodeId directory;
  std::map<std::string, std::string> contents;
  std::vector<std::string> paths;  // of the places
  std::vector<FilePlace> places;
  std::string memory;

  BatchedStore() {
    StoreFormat format;
    format.inline_max = 1024;
    format.composite_file_max = 64u << 10;
    format.composite_max = 256u << 10;
    REQUIRE(FileSystem::format(objects, repeatable(format), SystemClock()));
    fs = std::move(*FileSystem::open(objects, quiet()));
    directory = fs->mkdir(kRootInode, "d", 0755, kRoot)->ino;
    for (int i = 0; i < 100; ++i) make("m" + std::to_string(i), 1500 + 37 * static_cast<std::size_t>(i));
    const InodeId holes = make("holes", 0);
    REQUIRE(fs->write(holes, 30'000, as_bytes(std::string(500, 'x')), kRoot));
    contents["/d/holes"] = std::string(30'000, '\0') + std::string(500, 'x');
    const InodeId second = fs->mkdir(kRootInode, "s", 0755, kRoot)->ino;
    for (int i = 0; i < 5; ++i) {
      const std::string name = "n" + std::to_string(i);
      const auto made = fs->mknod(second, name, S_IFREG | 0644, 0, kRoot);
      REQUIRE(made);
      contents["/s/" + name] = content_of(name, 3000);
      REQUIRE(fs->write(made->ino, 0, as_bytes(contents["/s/" + name]), kRoot));
    }
    REQUIRE(Reorganiser(*fs).consolidate_now());
    make("empty", 0);
    make("inline", 900);
    make("waits", 5000);
    make("large", 300'000);
    const InodeId sparse = make("sparse", 0);
    REQUIRE(fs->write(sparse, 400'000, as_bytes(std::string("end")), kRoot));
    contents["/d/sparse"] = std::string(400'000, '\0') + "end";
    REQUIRE(fs->sync());
  }
  static std::string content_of(const std::string& name, std::size_t bytes) {
    std::string content;
    while (content.size() < bytes) content += name + " " + std::to_string(content.size()) + "\n";
    return content.substr(0, bytes);
  }
  InodeId make(const std::string& name, std::size_t bytes) {
    const auto made = fs->mknod(directory, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    const std::string content = content_of(name, bytes);
    if (bytes > 0) REQUIRE(fs->write(made->ino, 0, as_bytes(content), kRoot));
    contents["/d/" + name] = content;
    return made->ino;
  }
  void write(const std::string& name, const std::string& content) {
    const auto file = fs->lookup(directory, name);
    REQUIRE(file);
    AttributeChange cut;
    cut.size = 0;
    REQUIRE(fs->setattr(file->ino, cut, kRoot));
    REQUIRE(fs->write(file->ino, 0, as_bytes(content), kRoot));
    fs->forget(file->ino, 1);
    contents["/d/" + name] = content;
  }
  void remove(const std::string& name) {
    REQUIRE(fs->unlink(directory, name));
    contents.erase("/d/" + name);
  }

  void look(const std::vector<std::string>& wanted) {
    PlaceFinder finder(*fs);
    places.clear();
    paths = wanted;
    for (const std::string& path : paths) {
      const auto place = finder.find(path);
      REQUIRE(place);
      places.push_back(*place);
    }
  }
  void look_at_all() {
    std::vector<std::string> all;
    for (const auto& [path, content] : contents) all.push_back(path);
    look(all);
  }
  std::vector<BatchReader::Content> read(unsigned threads = 1) {
    const BatchPlan plan(places);
    memory.assign(plan.memory_bytes(), '?');
    BatchReader reader(*fs, places, plan, [this](std::size_t i) { return paths[i]; });
    reader.ask();
    return reader.read(as_writable_bytes(memory), threads);
  }
  // All but these are whole, and are as `contents` has them.
  std::vector<BatchReader::Content> expect_all_but(const std::set<std::string>& wrong, unsigned threads = 1) {
    auto read_now = read(threads);
    REQUIRE(read_now.size() == paths.size());
    for (std::size_t i = 0; i < paths.size(); ++i) {
      INFO(paths[i]);
      const BatchReader::Content& content = read_now[i];
      CHECK(content.error.has_value() == (wrong.count(paths[i]) > 0));
      if (content.error) {
        CHECK(content.data == nullptr);
        CHECK(content.bytes == 0);
        continue;
      }
      const std::string_view bytes(reinterpret_cast<const char*>(content.data), content.bytes);
      CHECK((bytes == contents[paths[i]]));  // without printing them
    }
    return read_now;
  }
  const FilePlace& place(const std::string& path) const {
    return places[static_cast<std::size_t>(std::find(paths.begin(), paths.end(), path) - paths.begin())];
  }
  const BatchReader::Content& content(const std::vector<BatchReader::Content>& read_now,
                                      const std::string& path) const {
    return read_now[static_cast<std::size_t>(std::find(paths.begin(), paths.end(), path) - paths.begin())];
  }
  const Error& error(const std::vector<BatchReader::Content>& read_now, const std::string& path) const {
    REQUIRE(content(read_now, path).error);
    return *content(read_now, path).error;
  }
  bool in_memory(const BatchReader::Content& content) const {
    const auto* const begin = reinterpret_cast<const std::byte*>(memory.data());
    return content.data >= begin && content.data + content.bytes <= begin + memory.size();
  }
};

}  // namespace cffs::test
