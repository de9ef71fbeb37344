// How many inodes a store has, for statfs (`df -i`): kept exact in memory, written at a clean close, counted anew in the
// background where nobody closed the store.
#pragma once

#include <atomic>
#include <optional>
#include <thread>

#include "core/table/table.h"

namespace cffs {

class FileCount {
 public:
  explicit FileCount(Table& table) : table_(table) {}
  ~FileCount();

  // Takes the count that the last close left. One that is malformed is none: nobody is kept from his files by it.
  Status load();
  // Where it left none, counting begins; it has when this returns: call before anything changes the table.
  void begin_counting();
  // What somebody else counted; nullopt: it stays unknown.
  void take(std::optional<std::uint64_t> counted) {
    if (counted) counted_.store(static_cast<std::int64_t>(*counted));
  }
  void added(std::uint64_t n) { changed_.fetch_add(static_cast<std::int64_t>(n), std::memory_order_relaxed); }
  void removed() { changed_.fetch_sub(1, std::memory_order_relaxed); }
  // Whether load() found it; true until the first change.
  bool is_in_table() const { return is_in_table_; }
  // nullopt: not counted yet.
  std::optional<std::uint64_t> value() const;
  // Ends counting. Leaves the count, where it is known, to the next user of the store; nothing may change after.
  void save(Batch& batch);
  // Ends counting, whatever it has come to.
  void stop();
  // To join the rows of the first change: whoever does not close the store must not leave a count.
  static void erase(Batch& batch);
  // Of a new store: its root.
  static void format(Batch& batch);

 private:
  void count(const std::function<void()>& began);

  Table& table_;
  bool is_in_table_ = false;
  std::atomic<std::int64_t> changed_{0};  // since the table was as counted
  std::atomic<std::int64_t> counted_{-1};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace cffs
