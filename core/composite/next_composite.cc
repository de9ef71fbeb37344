#include "core/composite/next_composite.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "core/composite/composite_store.h"

namespace cffs {
namespace {

constexpr double kNearlyAll = 0.9;

}  // namespace

void NextComposite::read(const Wanted& wanted) {
  CompositeId at = wanted.current;
  Lead::walk(wanted.count, [&]() -> std::optional<bool> {
    const auto next = neighbour(at, wanted.direction);
    if (!next) return std::nullopt;
    at = *next;
    return read_one(at, wanted.reader);
  });
}

bool NextComposite::read_one(CompositeId composite, ReaderId reader) {
  if (read_ahead_.is_whole(composite)) return false;  // most are, of a reader that goes on
  const auto object = open_(composite);
  if (!object) return false;
  const auto info = (*object)->info();
  if (!info || info->size == 0) return false;
  const auto share = (*object)->share_in_memory(0, info->size);
  if (!read_ahead_.take_whole(composite, info->size, reader)) return false;
  if (!share || *share < kNearlyAll) (*object)->prefetch(0, info->size);
  read_ahead_.asked(composite);
  return true;
}

std::optional<CompositeId> NextComposite::neighbour(CompositeId of, int direction) {
  constexpr std::uint64_t kFolders =
      4;  // to look into: numbers are drawn for files too, so some have no composites
  const std::uint64_t own = CompositeStore::folder_of(of);
  for (std::uint64_t i = 0; i < kFolders; ++i) {
    if (direction < 0 && i > own) break;
    const std::vector<std::uint64_t>& numbers = numbers_in(direction > 0 ? own + i : own - i, of.value);
    if (direction > 0) {
      const auto next = std::upper_bound(numbers.begin(), numbers.end(), of.value);
      if (next != numbers.end()) return CompositeId{*next};
    } else {
      const auto here = std::lower_bound(numbers.begin(), numbers.end(), of.value);
      if (here != numbers.begin()) return CompositeId{*std::prev(here)};
    }
  }
  return std::nullopt;
}

// Sorted. What is there is looked up anew where the reader's own composite is not among it: a composite that came later is missed
// until then, one that went cannot be opened.
const std::vector<std::uint64_t>& NextComposite::numbers_in(std::uint64_t folder, std::uint64_t current) {
  const bool has_current = CompositeStore::folder_of(CompositeId{current}) != folder ||
                           std::binary_search(numbers_.begin(), numbers_.end(), current);
  if (folder_ == folder && has_current) return numbers_;
  folder_.reset();
  numbers_.clear();
  const auto names = store_.list(CompositeStore::folder_name(folder));
  if (!names) return numbers_;
  for (const std::string& name : *names) {
    const std::string_view last = std::string_view(name).substr(name.rfind('/') + 1);
    std::uint64_t number = 0;
    if (std::from_chars(last.data(), last.data() + last.size(), number).ec == std::errc())
      numbers_.push_back(number);
  }
  std::sort(numbers_.begin(), numbers_.end());
  folder_ = folder;
  return numbers_;
}

}  // namespace cffs
