#include "core/fs/file_count.h"

#include <future>

#include "core/base/bytes.h"

namespace cffs {
namespace {

const Key kCountKey = Key::tagged(KeyTag::system, 0, 3);

std::string encoded(std::uint64_t n) {
  std::string value;
  ByteWriter(value).u64(n);
  return value;
}

}  // namespace

FileCount::~FileCount() {
  stop_.store(true);
  if (thread_.joinable()) thread_.join();
}

void FileCount::format(Batch& batch) { batch.put(kCountKey, encoded(1)); }

Status FileCount::load(bool wanted) {
  CFFS_TRY(const auto value, table_.get(kCountKey));
  if (value) {
    ByteReader r(*value);
    const std::uint64_t n = r.u64();
    if (!r.ok()) return fail(Error::corruption("table: the count of files is malformed"));
    counted_.store(static_cast<std::int64_t>(n));
    // Whoever does not close the store must not leave it: what follows in the log is never durable without this.
    Batch batch;
    batch.erase(kCountKey);
    return table_.write(batch);
  }
  if (!wanted) return {};
  std::promise<void> began;
  thread_ = std::thread([this, &began] {
    bool told = false;
    count([&] {
      if (!told) began.set_value();
      told = true;
    });
  });
  began.get_future().wait();  // from here on it sees the table as it is now
  return {};
}

void FileCount::count(const std::function<void()>& began) {
  std::int64_t n = 0;
  const Status scanned = table_.scan_entries([&](Key, const Row& row) {
    began();
    for (const Entry& entry : row.entries) n += entry.inode ? 1 : 0;
    return !stop_.load();
  });
  began();
  if (scanned && !stop_.load()) counted_.store(n);
}

std::optional<std::uint64_t> FileCount::value() const {
  const std::int64_t counted = counted_.load();
  if (counted < 0) return {};
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, counted + changed_.load()));
}

void FileCount::save(Batch& batch) {
  stop_.store(true);
  if (thread_.joinable()) thread_.join();
  if (const auto n = value()) batch.put(kCountKey, encoded(*n));
}

}  // namespace cffs
