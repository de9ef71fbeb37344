// What the processes of an analysis by Spark tell each other: frames of columns, little-endian. A frame is a letter, the number of
// its rows (u32), and its columns one after the other; one of text is a letter, its length (u32) and the text. They are written and
// read by the same version within one run, which the first frame of each stream, `V`, says; nothing keeps them.
//
//   V text  version of the writer
//   E text  a sentence: why there is no more
//   S text  counts of the logs read, JSON
//   A rows  accesses: time_ms i64, stream u64, file u64, crawler u8
//   F rows  files: file u64, bytes u64, accesses u64, first u64 (number of its first access), full u8, path length u32; then the
//           paths
//   T rows  transactions: number u64, length u32; then the items u32
//   I rows  itemsets: support u64, last u64, length u32; then the items u32
#pragma once

#include <boost/endian/conversion.hpp>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace cffs::replay {

template <std::unsigned_integral T>
void put_column(std::string& into, std::span<const T> values) {
  for (const T value : values) {
    const T little = boost::endian::native_to_little(value);
    into.append(reinterpret_cast<const char*>(&little), sizeof little);
  }
}

// A frame's head.
void put_head(std::string& into, char kind, std::size_t rows);
void put_text(std::string& into, char kind, std::string_view text);

// Columns from a stream. After the end, or an error, all that is read is empty.
class ColumnReader {
 public:
  explicit ColumnReader(std::FILE* file) : file_(file) {}
  // False: the end, or what comes is no frame.
  bool head(char& kind, std::uint32_t& rows);
  std::string text(std::size_t bytes);
  template <std::unsigned_integral T>
  std::vector<T> column(std::size_t rows) {
    const std::string bytes = text(rows * sizeof(T));
    std::vector<T> values(bytes.size() / sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = boost::endian::endian_load<T, sizeof(T), boost::endian::order::little>(
          reinterpret_cast<const unsigned char*>(bytes.data()) + i * sizeof(T));
    return values;
  }
  // Whether all that was asked for was there.
  bool whole() const { return whole_; }

 private:
  std::FILE* const file_;
  bool whole_ = true;
};

}  // namespace cffs::replay
