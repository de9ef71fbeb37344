#include "core/fs/file_count.h"

#include <algorithm>
#include <future>

#include "core/base/thread.h"
#include "core/table/system_rows.h"

namespace cffs {

FileCount::~FileCount() { stop(); }

void FileCount::stop() {
  stop_.store(true);
  if (thread_.joinable()) thread_.join();
}

void FileCount::format(Batch& batch) {
  batch.put(system_key(SystemField::file_count), encode_system_number(1));
}

void FileCount::erase(Batch& batch) { batch.erase(system_key(SystemField::file_count)); }

Status FileCount::load() {
  CFFS_TRY(const auto value, table_.get(system_key(SystemField::file_count)));
  if (!value) return {};
  const auto n = decode_system_number(SystemField::file_count, *value);
  if (!n) return {};
  counted_.store(static_cast<std::int64_t>(*n));
  is_in_table_ = true;
  return {};
}

void FileCount::begin_counting() {
  if (counted_.load() >= 0) return;
  std::promise<void> began;
  auto made = make_thread("the thread that counts the files", [this, &began] {
    bool told = false;
    count([&] {
      if (!told) began.set_value();
      told = true;
    });
  });
  if (!made) return;  // the count stays unknown, as where nobody wants it
  thread_ = std::move(*made);
  began.get_future().wait();  // from here on it sees the table as it is now
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
  stop();
  if (const auto n = value()) batch.put(system_key(SystemField::file_count), encode_system_number(*n));
}

}  // namespace cffs
