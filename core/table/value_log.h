// The value log: bytes of small files that wait to be moved, beside the table (keys and values apart, as in WiscKey, FAST'16).
//
// A value in a row goes through the table's log, then through a file of level 0 and compactions, although most of such files leave the
// table for a composite before long. In the value log it is written once; its row has a pointer. What that saves and costs:
// docs/adr/0044-values-apart.md.
//
// Objects "values/NUMBER" grow to some MB each and are never changed behind their end; numbers are not used twice while a row may
// name them. How much of each is named by rows is counted: in memory, and in a row of the table where that was closed. One of which
// nothing is named goes with a commit; who is told to move what is left of wasteful ones is Table::tidy_values().
//
// Durability: bytes are durable after sync(), which comes before the table's log is synced and before a file of the table is, so
// that no durable row names a value that is not. What a power cut leaves beyond that is found by checksum when the log is judged
// (core/table/replay_check.h). Thread safety: everything.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "core/object/object_store.h"

namespace cffs {

inline constexpr const char* kValueFolder = "values";

struct ValuePointer {
  std::uint64_t object = 0;  // number
  std::uint64_t offset = 0;  // bytes
  std::uint32_t length = 0;  // bytes; at most kLongestValue
  std::uint32_t sum = 0;     // lower half of the bytes' checksum
  friend bool operator==(const ValuePointer&, const ValuePointer&) = default;
};

inline constexpr std::size_t kLongestValue = 4096;

// A row of file data as a table with a value log has it: its last byte says what the others are.
std::string row_of_value(std::string_view value);
std::string row_of_pointer(const ValuePointer& pointer);
// What a row says: a pointer, or nullopt: the value is all of the row but its last byte. `corruption`: neither.
Result<std::optional<ValuePointer>> pointer_in_row(std::string_view row);
// Whether a row may be of a pointer, by its length alone.
bool is_as_long_as_a_pointer(std::size_t row_bytes);

// The bytes; `corruption` where the store does not have them. For who judges a table before it is opened.
Result<std::string> read_value(ObjectStore& store, const ValuePointer& pointer);

class ValueLog {
 public:
  struct Known {
    std::uint64_t size = 0, live = 0;  // bytes of an object; how many of them rows name
    friend bool operator==(const Known&, const Known&) = default;
  };

  // `object_bytes`: how long an object gets before the next is begun; 0: for who only reads.
  ValueLog(ObjectStore& store, std::uint64_t object_bytes)
      : store_(store), object_bytes_(object_bytes), only_reads_(object_bytes == 0) {}

  // What is there from earlier users of the store. Nothing of an object that is not known is named.
  Status load(const std::map<std::uint64_t, Known>& known);

  // Where the values are now; each counts as named. nullopt: there is no room, or the medium fails: they belong into rows.
  std::optional<std::vector<ValuePointer>> append(std::span<const std::string_view> values);
  // `corruption`: the object is gone, has other bytes there, or the medium does not give them.
  Result<std::string> read(const ValuePointer& pointer) const;
  // No row names this value any more.
  void let_go(const ValuePointer& pointer);
  // It was not let go of by whoever erased it: nobody names anything of these objects, of which a scan found no row.
  void nobody_names(const std::vector<std::uint64_t>& objects);

  // What was appended by now is durable on return. After a failure every call fails.
  Status sync();

  // Where the process has no descriptor left: closes what can be opened again, and tells how many that were.
  std::size_t close_idle();

  // Whether any row may name a value.
  bool in_use() const;
  // Objects that nobody names and nobody appends to.
  std::vector<std::uint64_t> dead() const;
  // The object is not in the store any more.
  void forget(std::uint64_t object);
  // Where what is not named is much more than what is: those that have least that is named, never one that is appended to.
  std::vector<std::uint64_t> wasteful() const;
  // For who is short of room: those of which half is not named, or more, that have least that is named first, and of that `most` bytes
  // together. None where it is less than `least` bytes that they have to give.
  std::vector<std::uint64_t> worth_emptying(std::uint64_t least, std::uint64_t most) const;
  std::map<std::uint64_t, Known> known() const;
  std::uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }

  // All that is there, whoever wrote it, is durable on return.
  static Status sync_all(ObjectStore& store);
  static std::string object_name(std::uint64_t object);
  static std::uint64_t object_number(std::string_view name);  // 0: no object of the log

 private:
  struct Part {
    std::shared_ptr<Object> object;  // null: not opened yet
    std::uint64_t size = 0, live = 0;
    unsigned writers = 0;
    bool dirty = false;
  };
  Result<std::shared_ptr<Object>> object_of(std::uint64_t number) const;
  bool begin_part() CFFS_EXCLUDES(mutex_);  // false: no object can be made
  // Room at the end of the log, of which the caller is a writer.
  std::optional<ValuePointer> reserve(std::uint64_t bytes, std::shared_ptr<Object>& object)
      CFFS_EXCLUDES(mutex_);
  bool is_idle(std::uint64_t number, const Part& part) const
      CFFS_REQUIRES(mutex_);  // open, and can be opened again

  ObjectStore& store_;
  const std::uint64_t object_bytes_;
  const bool only_reads_;
  std::atomic<std::uint64_t> bytes_written_{0};
  Mutex sync_mutex_;  // before mutex_
  bool failed_ CFFS_GUARDED_BY(sync_mutex_) = false;
  mutable Mutex mutex_;  // leaf
  mutable std::map<std::uint64_t, Part> parts_ CFFS_GUARDED_BY(mutex_);
  std::uint64_t next_ CFFS_GUARDED_BY(mutex_) = 1;
  std::uint64_t current_ CFFS_GUARDED_BY(mutex_) = 0;  // 0: none is appended to
  bool beginning_ CFFS_GUARDED_BY(mutex_) = false;     // somebody makes the next one
  std::uint64_t live_ CFFS_GUARDED_BY(mutex_) = 0;     // of all
};

// The system row of this name.
std::string encode_values(const std::map<std::uint64_t, ValueLog::Known>& known);
Result<std::map<std::uint64_t, ValueLog::Known>> decode_values(std::string_view bytes);

}  // namespace cffs
