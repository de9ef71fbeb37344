// Places that lie in one another: a store's directory is its own, and what is copied must not go into itself, or away with it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/error.h"

namespace cffs {

// Where in `outer` another path is, "." for the same, whether by its name or by a bind mount; nullopt: it is not. Neither need exist.
std::optional<std::filesystem::path> path_inside(const std::string& inner, const std::string& outer);

// The store in whose directory a path lies; nullopt: in none. A store does not lie in itself.
std::optional<std::string> store_around(const std::string& path);

// Nothing but a store's own objects belongs into its directory: what is made there is in their way, and a mount hides them.
Status check_outside_stores(const std::string& path);

}  // namespace cffs
