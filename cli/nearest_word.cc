#include "cli/nearest_word.h"

#include <algorithm>
#include <utility>

namespace cffs::cli {

std::size_t letters_apart(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::exchange(last, row);
  }
  return last[b.size()];
}

std::string nearest_word(std::string_view typed, const std::vector<std::string>& words) {
  std::string best;
  std::size_t least = ~std::size_t{0};
  for (const std::string& word : words) {
    const bool begins = typed.size() >= 2 && word.starts_with(typed);
    const std::size_t apart = begins ? 0 : letters_apart(typed, word);
    if (!begins && apart > std::max<std::size_t>(1, std::max(word.size(), typed.size()) / 3)) continue;
    if (apart < least) {
      least = apart;
      best = word;
    }
  }
  return best;
}

}  // namespace cffs::cli
