// Which pieces of an object in a Ceph pool may ever have been written: spans of them, so that what is done with all pieces of a sparse
// object takes as long as what lies in it, and not as its length (docs/RADOS_STORE.md).
//
// A value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cffs::rados {

class WrittenPieces {
 public:
  struct Span {
    std::uint64_t begin = 0, end = 0;
    bool operator==(const Span&) const = default;
  };
  // More of them would make an attribute that is large: those that are nearest to each other become one.
  static constexpr std::size_t kMostSpans = 1024;

  // The first piece alone.
  WrittenPieces() : spans_{{0, 1}} {}
  // As text() wrote it, or a single number: all pieces below it. Pieces from `most` on are left out. nullopt: it is neither.
  static std::optional<WrittenPieces> parse(std::string_view text, std::uint64_t most);
  std::string text() const;

  // In order, none empty, with pieces between them; the first begins at 0.
  const std::vector<Span>& spans() const { return spans_; }
  bool contains(std::uint64_t piece) const;
  // Behind the last one.
  std::uint64_t end() const { return spans_.back().end; }
  // That piece, too. A span that goes on doubles, so that who writes to an object's end seldom has to say so; what lies far from all others
  // is a span of its own.
  void add(std::uint64_t piece);
  // All of the first ones, up to this one.
  void add_first(std::uint64_t pieces);
  // Nothing from here on; the first piece stays.
  void cut(std::uint64_t end);
  bool operator==(const WrittenPieces&) const = default;

 private:
  void join_nearest();

  std::vector<Span> spans_;
};

}  // namespace cffs::rados
