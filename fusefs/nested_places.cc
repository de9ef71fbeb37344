#include "fusefs/nested_places.h"

#include "core/backend/store_at.h"
#include "core/rados/address.h"
#include "fusefs/mount_table.h"

namespace cffs {

namespace fs = std::filesystem;

std::optional<fs::path> path_inside(const std::string& inner, const std::string& outer) {
  std::error_code problem;
  const fs::path real_inner = fs::weakly_canonical(inner, problem);
  fs::path inside;
  if (!problem) inside = real_inner.lexically_relative(fs::weakly_canonical(outer, problem));
  const auto leads_in = [](const fs::path& way) { return !way.empty() && *way.begin() != ".."; };
  if (!problem && leads_in(inside)) return inside;
  const auto inner_place = device_place_of(inner), outer_place = device_place_of(outer);
  if (!inner_place || !outer_place || inner_place->device != outer_place->device) return std::nullopt;
  inside = fs::path(inner_place->path).lexically_relative(outer_place->path);
  return leads_in(inside) ? std::optional(inside) : std::nullopt;
}

std::optional<std::string> store_around(const std::string& path) {
  if (RadosAddress::is_one(path)) return std::nullopt;
  std::error_code problem;
  fs::path at = fs::weakly_canonical(fs::absolute(path, problem), problem);
  if (!at.has_filename()) at = at.parent_path();  // written with a slash behind it
  while (!problem && at.has_relative_path()) {
    at = at.parent_path();
    // Others may have a file of that name.
    if (is_store_at(at.string()) && fs::is_directory(at / "table", problem)) return at.string();
    problem.clear();
  }
  return std::nullopt;
}

Status check_outside_stores(const std::string& path) {
  const auto store = store_around(path);
  if (!store) return {};
  return fail(Error::usage(path + " lies in the store " + *store + "; name a place outside of it"));
}

}  // namespace cffs
