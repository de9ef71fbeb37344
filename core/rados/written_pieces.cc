#include "core/rados/written_pieces.h"

#include <algorithm>
#include <charconv>

namespace cffs::rados {
namespace {

constexpr std::uint64_t kNear =
    64;  // pieces: what lies no further behind a span is taken for its continuation

}  // namespace

std::optional<WrittenPieces> WrittenPieces::parse(std::string_view text, std::uint64_t most) {
  WrittenPieces pieces;
  pieces.spans_.clear();
  const auto number = [&text]() -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
  };
  for (bool first = true; first || !text.empty(); first = false) {
    Span span;
    if (!first) {
      if (text.front() != ' ') return std::nullopt;
      text.remove_prefix(1);
      const auto begin = number();
      if (!begin || text.empty() || text.front() != '-') return std::nullopt;
      text.remove_prefix(1);
      span.begin = *begin;
    }
    const auto end = number();
    if (!end) return std::nullopt;
    span.end = first ? std::max<std::uint64_t>(*end, 1) : *end;
    if (span.end <= span.begin || (!first && span.begin <= pieces.end())) return std::nullopt;
    pieces.spans_.push_back(span);
  }
  pieces.cut(most);
  return pieces;
}

std::string WrittenPieces::text() const {
  std::string text = std::to_string(spans_.front().end);
  for (std::size_t i = 1; i < spans_.size(); ++i)
    text += " " + std::to_string(spans_[i].begin) + "-" + std::to_string(spans_[i].end);
  return text;
}

bool WrittenPieces::contains(std::uint64_t piece) const {
  const auto after = std::ranges::upper_bound(spans_, piece, {}, &Span::begin);
  return after != spans_.begin() && piece < std::prev(after)->end;
}

void WrittenPieces::add(std::uint64_t piece) {
  if (contains(piece)) return;
  const auto after = std::ranges::upper_bound(spans_, piece, {}, &Span::begin);
  Span& before = *std::prev(after);  // the first one begins at 0
  const std::uint64_t doubled = before.end + (before.end - before.begin);
  const std::uint64_t limit = after == spans_.end() ? ~std::uint64_t{0} : after->begin;
  if (piece < doubled || piece - before.end < kNear) {
    before.end = std::min(std::max(piece + 1, doubled), limit);
    if (before.end != limit) return;
    before.end = after->end;
    spans_.erase(after);
    return;
  }
  if (after != spans_.end() && limit - piece <= kNear) {
    after->begin = piece;
    return;
  }
  spans_.insert(after, {piece, piece + 1});
  if (spans_.size() > kMostSpans) join_nearest();
}

void WrittenPieces::add_first(std::uint64_t pieces) {
  const auto first_behind =
      std::ranges::find_if(spans_, [pieces](const Span& span) { return span.begin > pieces; });
  const std::uint64_t end = std::max(pieces, std::prev(first_behind)->end);
  spans_.erase(spans_.begin() + 1, first_behind);
  spans_.front().end = end;
}

void WrittenPieces::cut(std::uint64_t end) {
  end = std::max<std::uint64_t>(end, 1);
  while (spans_.back().begin >= end) spans_.pop_back();
  spans_.back().end = std::min(spans_.back().end, end);
}

void WrittenPieces::join_nearest() {
  auto nearest = spans_.begin();
  for (auto at = spans_.begin(); std::next(at) != spans_.end(); ++at) {
    if (std::next(at)->begin - at->end < std::next(nearest)->begin - nearest->end) nearest = at;
  }
  nearest->end = std::next(nearest)->end;
  spans_.erase(std::next(nearest));
}

}  // namespace cffs::rados
