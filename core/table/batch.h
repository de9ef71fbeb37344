// A batch: changes of rows that are applied together or not at all, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/table/key.h"
#include "core/table/row.h"

namespace leveldb {
class WriteBatch;
}  // namespace leveldb

namespace cffs {

class Batch {
 public:
  Batch();
  ~Batch();
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;

  void put(Key key, std::string_view value);
  // The same, where there is no such row: nobody has to look what goes.
  void put_new(Key key, std::string_view value);
  // `bytes`: how much of the table the row is thought to take, see Table::compact_garbage().
  void erase(Key key, std::uint64_t bytes = kUsualRow);
  void put_row(Key key, const Row& row);  // an empty row is erased
  // File data that it puts is to stay in the table for good: it goes into rows, however long.
  void keep_data_in_rows() { keeps_data_in_rows_ = true; }
  bool empty() const { return changes_ == 0; }

 private:
  static constexpr std::uint64_t kUsualRow = 128;

  // A change of a row of file data, whose value may come to lie in the value log (core/table/value_log.h), and the changes of other rows
  // that come before it.
  struct DataChange {
    std::unique_ptr<leveldb::WriteBatch> before;
    Key key;
    bool puts = false;
    bool is_new = false;      // no row goes
    std::uint64_t bytes = 0;  // of an erased row, as it is thought to be
    std::string value;
  };

  DataChange& add_data_change(Key key);

  friend class Table;
  std::unique_ptr<leveldb::WriteBatch> batch_;  // behind the last of data_
  std::vector<DataChange> data_;
  std::size_t changes_ = 0;
  std::uint64_t erased_bytes_ = 0;
  bool changes_namespace_ = false;
  bool keeps_data_in_rows_ = false;
};

}  // namespace cffs
