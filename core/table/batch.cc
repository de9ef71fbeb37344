#include "core/table/batch.h"

#include <leveldb/write_batch.h>

#include <utility>

#include "core/table/table_reads.h"

namespace cffs {

Batch::Batch() : batch_(std::make_unique<leveldb::WriteBatch>()) {}
Batch::~Batch() = default;
Batch::Batch(Batch&&) noexcept = default;
Batch& Batch::operator=(Batch&&) noexcept = default;

Batch::DataChange& Batch::add_data_change(Key key) {
  DataChange& change = data_.emplace_back();
  change.before = std::exchange(batch_, std::make_unique<leveldb::WriteBatch>());
  change.key = key;
  return change;
}

void Batch::put(Key key, std::string_view value) {
  ++changes_;
  if (key.tag() == KeyTag::file_data) {
    DataChange& change = add_data_change(key);
    change.puts = true;
    change.value = value;
    return;
  }
  batch_->Put(slice(EncodedKey(key).view()), slice(value));
  changes_namespace_ = changes_namespace_ || key.tag() == KeyTag::namespace_;
}

void Batch::put_new(Key key, std::string_view value) {
  put(key, value);
  if (key.tag() == KeyTag::file_data) data_.back().is_new = true;
}

void Batch::erase(Key key, std::uint64_t bytes) {
  ++changes_;
  if (key.tag() == KeyTag::file_data) {
    add_data_change(key).bytes = bytes;
    return;
  }
  batch_->Delete(slice(EncodedKey(key).view()));
  changes_namespace_ = changes_namespace_ || key.tag() == KeyTag::namespace_;
  erased_bytes_ += bytes;
}

void Batch::put_row(Key key, const Row& row) {
  if (row.entries.empty()) return erase(key);
  put(key, encode_row(row));
}

}  // namespace cffs
