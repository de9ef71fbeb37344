#include "bench/rig/old_disk.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/base/bytes.h"

namespace cffs::bench {
namespace {

constexpr const char* kDirectory = "aged";

// `write`: makes a file; bytes, or negative where it cannot.
Status fill_and_thin(
    double limit, const std::function<std::int64_t(const std::string& path, std::string_view bytes)>& write,
    const std::function<void(const std::string& path)>& remove) {
  std::mt19937_64 random(7);
  std::vector<std::string> files;
  const std::string data(1u << 20, 'a');
  double written = 0;
  while (written < limit) {
    const std::string path = fmt::format("{}/{}", kDirectory, files.size());
    const std::uint64_t size = std::uint64_t{1} << (9 + random() % 12);
    const std::int64_t n =
        write(path, std::string_view(data).substr(0, std::min<std::size_t>(size, data.size())));
    if (n == -ENOSPC && written > limit / 2) break;
    if (n < 0) return fail(static_cast<int>(-n), "a file that is to age the disk");
    written += static_cast<double>(n);
    files.push_back(path);
  }
  std::shuffle(files.begin(), files.end(), random);
  for (std::size_t i = 0; i < files.size() * 3 / 4; ++i) remove(files[i]);
  return {};
}

}  // namespace

Status grow_old(replay::Target& files, double bytes) {
  (void)files.mkdir(kDirectory, 0755);
  CFFS_TRY_VOID(fill_and_thin(
      bytes,
      [&](const std::string& path, std::string_view content) -> std::int64_t {
        const std::int64_t file = files.open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
        if (file < 0) return file;
        const std::int64_t n = files.write(file, 0, std::span<const char>(content));
        (void)files.close(file);
        return n;
      },
      [&](const std::string& path) { (void)files.unlink(path); }));
  (void)files.sync();
  return {};
}

Status grow_old(ObjectStore& objects, double bytes) {
  CFFS_TRY_VOID(fill_and_thin(
      bytes,
      [&](const std::string& path, std::string_view content) -> std::int64_t {
        const auto object = objects.create(path, ObjectStore::Create::exclusive);
        const Status done = object ? (*object)->write_at(0, as_bytes(content)) : Status(fail(object.error()));
        return done ? static_cast<std::int64_t>(content.size()) : -done.error().errno_value;
      },
      [&](const std::string& path) { (void)objects.remove(path); }));
  return objects.sync_everything();
}

}  // namespace cffs::bench
