// Encoding of integers and strings in rows and records: LEB128 varints, little-endian fixed integers,
// length-prefixed strings. ByteReader never reads past its input: the first malformed field makes ok() false
// and all later fields 0.
#pragma once

#include <boost/endian/conversion.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cffs {

class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}

  void u8(std::uint8_t v) { out_.push_back(static_cast<char>(v)); }
  void u32(std::uint32_t v) { fixed(boost::endian::native_to_little(v)); }
  void u64(std::uint64_t v) { fixed(boost::endian::native_to_little(v)); }
  void varint(std::uint64_t v) {
    while (v >= 0x80) {
      u8(static_cast<std::uint8_t>(v | 0x80));
      v >>= 7;
    }
    u8(static_cast<std::uint8_t>(v));
  }
  // Zigzag: small magnitudes of either sign stay short.
  void svarint(std::int64_t v) {
    varint((static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63));
  }
  void string(std::string_view s) {
    varint(s.size());
    out_.append(s);
  }

 private:
  template <typename T>
  void fixed(T v) {
    out_.append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  std::string& out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view in) : in_(in) {}

  bool ok() const { return ok_; }
  bool at_end() const { return in_.empty(); }
  std::size_t remaining() const { return in_.size(); }

  std::uint8_t u8() {
    if (!need(1)) return 0;
    const auto v = static_cast<std::uint8_t>(in_[0]);
    in_.remove_prefix(1);
    return v;
  }
  std::uint32_t u32() { return fixed<std::uint32_t>(); }
  std::uint64_t u64() { return fixed<std::uint64_t>(); }
  std::uint64_t varint() {
    std::uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = u8();
      if (!ok_) return 0;
      v |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return v;
    }
    ok_ = false;
    return 0;
  }
  std::int64_t svarint() {
    const std::uint64_t v = varint();
    return static_cast<std::int64_t>(v >> 1) ^ -static_cast<std::int64_t>(v & 1);
  }
  std::string_view string() {
    const std::uint64_t n = varint();
    if (!ok_ || n > in_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view s = in_.substr(0, n);
    in_.remove_prefix(n);
    return s;
  }

 private:
  template <typename T>
  T fixed() {
    if (!need(sizeof(T))) return 0;
    T v;
    __builtin_memcpy(&v, in_.data(), sizeof v);
    in_.remove_prefix(sizeof v);
    return boost::endian::little_to_native(v);
  }
  bool need(std::size_t n) {
    if (!ok_ || in_.size() < n) ok_ = false;
    return ok_;
  }
  std::string_view in_;
  bool ok_ = true;
};

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

inline ConstBytes as_bytes(std::string_view s) {
  return {reinterpret_cast<const std::byte*>(s.data()), s.size()};
}
inline Bytes as_writable_bytes(std::string& s) { return {reinterpret_cast<std::byte*>(s.data()), s.size()}; }

}  // namespace cffs
