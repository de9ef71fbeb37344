// Which of some words somebody may have meant who typed another.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cffs::cli {

// How many letters must be put in, taken out, replaced, or swapped with their neighbour (optimal string alignment).
std::size_t letters_apart(std::string_view a, std::string_view b);
// The nearest one: it begins with what was typed, or a third of its letters differ at most. Empty: none is near.
std::string nearest_word(std::string_view typed, const std::vector<std::string>& words);

}  // namespace cffs::cli
