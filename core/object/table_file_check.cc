#include "core/object/table_file_check.h"

#include <optional>
#include <string>

#include "core/base/bytes.h"
#include "core/object/table_block.h"

namespace cffs {
namespace {

constexpr std::size_t kFooter = 48;   // two places, padded, and a magic number
constexpr std::size_t kPlaces = 40;   // of these, the places

struct Place {
  std::uint64_t offset = 0, bytes = 0;
};

Place read_place(ByteReader& r) {
  Place place;
  place.offset = r.varint();
  place.bytes = r.varint();
  return place;
}

}  // namespace

bool TableFileCheck::inside(std::uint64_t offset, std::uint64_t bytes) const {
  return bytes <= most_ && offset <= most_ - bytes && most_ - bytes - offset >= kBlockTrailer;
}

// The index's.
bool TableFileCheck::footer_passes(std::string_view read) {
  if (read.size() != kFooter) return false;
  ByteReader r(read.substr(0, kPlaces));
  const Place filters = read_place(r), index = read_place(r);
  next_ = Next::index;
  filters_at_ = filters.offset;
  return r.ok() && inside(filters.offset, filters.bytes) && inside(index.offset, index.bytes);
}

bool TableFileCheck::names_places(std::string_view contents) const {
  return visit_entries(contents, kBlockKeyTail,
                       [this](std::size_t, std::string_view, std::string_view value) {
                         ByteReader r(value);
                         const Place place = read_place(r);
                         return r.ok() && inside(place.offset, place.bytes);
                       });
}

// One filter, ours, or none.
bool TableFileCheck::filters_pass(std::string_view contents) {
  std::optional<Place> filter;
  const bool whole =
      visit_entries(contents, 0, [&](std::size_t, std::string_view key, std::string_view value) {
        ByteReader r(value);
        const bool first = !filter.has_value();
        filter = read_place(r);
        return first && key == kFilterKey && r.ok() && inside(filter->offset, filter->bytes);
      });
  next_ = filter ? Next::filter : Next::blocks;
  if (filter) filter_at_ = filter->offset;
  return whole;
}

bool TableFileCheck::passes(std::uint64_t offset, std::string_view read) {
  const Next now = next_.load(std::memory_order_relaxed);
  if (now == Next::footer) return footer_passes(read);
  if (read.size() < kBlockTrailer) return false;
  const bool is_index = now == Next::index;
  const bool is_filters = now == Next::filters && offset == filters_at_;
  const bool is_filter = now == Next::filter && offset == filter_at_;
  if (now != Next::blocks) next_ = is_index ? Next::filters : Next::blocks;
  if (is_filter &&
      static_cast<BlockCompression>(read[read.size() - kBlockTrailer]) == BlockCompression::none) {
    return true;  // bits, whose readers have bounds of their own
  }
  thread_local std::string buffer;
  bool sane = true;
  const auto contents = block_contents(read, buffer, sane);
  if (contents && !is_filter) {
    sane = is_index     ? names_places(*contents)
           : is_filters ? filters_pass(*contents)
                        : visit_entries(*contents, kBlockKeyTail,
                                        [](std::size_t, std::string_view, std::string_view) { return true; });
  }
  return sane || !has_block_sum(read);
}

}  // namespace cffs
