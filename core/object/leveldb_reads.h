// The files that LevelDB reads, on objects.
#pragma once

#include <leveldb/env.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "core/object/blocking_section.h"
#include "core/object/object_store.h"
#include "core/object/table_file_check.h"

namespace cffs {

inline leveldb::Status to_leveldb(const Error& error) {
  if (error.errno_value == ENOENT) return leveldb::Status::NotFound(error.message());
  return leveldb::Status::IOError(error.message());
}

// Of a table file: what no store has in its place is damage, as a block that has rotted.
inline leveldb::Status read_to_leveldb(const Error& error) {
  if (error.kind == ErrorKind::corruption) return leveldb::Status::Corruption(error.message());
  return to_leveldb(error);
}

// How often table files were read, all of one table.
struct BlockReads {
  std::atomic<std::uint64_t> reads{0}, bytes{0};
};

// From its beginning to `end`, in order.
class Sequential final : public leveldb::SequentialFile {
 public:
  Sequential(std::shared_ptr<Object> object, std::uint64_t end) : object_(std::move(object)), end_(end) {}
  leveldb::Status Read(std::size_t n, leveldb::Slice* result, char* scratch) override {
    n = static_cast<std::size_t>(std::min<std::uint64_t>(n, end_ - std::min(end_, offset_)));
    const auto done = object_->read_at(offset_, {reinterpret_cast<std::byte*>(scratch), n});
    if (!done) return to_leveldb(done.error());
    offset_ += *done;
    *result = leveldb::Slice(scratch, *done);
    return leveldb::Status::OK();
  }
  leveldb::Status Skip(std::uint64_t n) override {
    offset_ += n;
    return leveldb::Status::OK();
  }

 private:
  std::shared_ptr<Object> object_;
  const std::uint64_t end_;
  std::uint64_t offset_ = 0;
};

// Bytes in place of an object's own.
class Shown final : public leveldb::SequentialFile {
 public:
  explicit Shown(std::string_view bytes) : left_(bytes) {}
  leveldb::Status Read(std::size_t n, leveldb::Slice* result, char*) override {
    *result = leveldb::Slice(left_.data(), std::min(n, left_.size()));
    left_.remove_prefix(result->size());
    return leveldb::Status::OK();
  }
  leveldb::Status Skip(std::uint64_t n) override {
    left_.remove_prefix(std::min<std::uint64_t>(n, left_.size()));
    return leveldb::Status::OK();
  }

 private:
  std::string_view left_;
};

// A table file: no block of it reaches LevelDB that is malformed.
class RandomAccess final : public leveldb::RandomAccessFile {
 public:
  RandomAccess(std::string name, std::shared_ptr<Object> object, std::uint64_t bytes,
               std::shared_ptr<BlockReads> count)
      : name_(std::move(name)), object_(std::move(object)), count_(std::move(count)), check_(bytes) {}
  leveldb::Status Read(std::uint64_t offset, std::size_t n, leveldb::Slice* result,
                       char* scratch) const override {
    const Bytes out{reinterpret_cast<std::byte*>(scratch), n};
    const auto read = read_twice(offset, out);
    if (!read) return read_to_leveldb(read.error());
    const std::size_t got = *read;
    count_->reads.fetch_add(1, std::memory_order_relaxed);
    count_->bytes.fetch_add(got, std::memory_order_relaxed);
    // What is short LevelDB tells.
    if (got == n && !check_.passes(offset, {scratch, n})) {
      return leveldb::Status::Corruption(name_, "the block at " + std::to_string(offset) + " is malformed");
    }
    *result = leveldb::Slice(scratch, got);
    return leveldb::Status::OK();
  }

 private:
  // What the medium does not give the first time it often does the second, and scans go on without the block (table_reads.h).
  Result<std::size_t> read_twice(std::uint64_t offset, Bytes out) const {
    const auto cached = object_->try_read_at(offset, out);
    if (!cached && !cached.error().is_damage()) return fail(cached.error());
    if (cached && *cached) return **cached;
    announce_blocking();
    auto read = object_->read_at(offset, out);
    if (cached && !read && read.error().is_damage()) read = object_->read_at(offset, out);
    return read;
  }

  const std::string name_;
  std::shared_ptr<Object> object_;
  const std::shared_ptr<BlockReads> count_;
  mutable TableFileCheck check_;
};

}  // namespace cffs
