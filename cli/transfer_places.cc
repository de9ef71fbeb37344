#include "cli/transfer_places.h"

#include <fmt/format.h>
#include <unistd.h>

#include <vector>

#include "core/backend/store_at.h"
#include "core/rados/address.h"
#include "fusefs/nested_places.h"

namespace cffs::cli {

bool is_left_out(const Excludes& excludes, const std::filesystem::path& inside, bool directory) {
  std::filesystem::path at;
  for (auto name = inside.begin(); name != inside.end();) {
    at /= *name++;
    if (excludes.match(at.string(), name != inside.end() || directory)) return true;
  }
  return false;
}

Status check_store_apart(const MountEntry& mount, const std::string& source, const Excludes& excludes) {
  const std::string& store = mount.source;
  if (RadosAddress::is_one(store) || !is_store_at(store)) return {};
  if (path_inside(source, store))
    return fail(Error::usage(fmt::format(
        "{} is of the store that {} is a mount of: it would be imported into itself", source, mount.point)));
  const auto inside = path_inside(store, source);
  std::error_code problem;
  const bool directory = std::filesystem::is_directory(store, problem);
  if (!inside || is_left_out(excludes, *inside, directory)) return {};
  return fail(
      Error::usage(fmt::format("store {} of the mount {} lies in {}: it would be imported into itself; "
                               "leave it out with --exclude=/{}",
                               store, mount.point, source, inside->string())));
}

Status check_not_erased(const std::string& store, const std::string& destination, const Excludes& excludes) {
  std::vector<std::string> places{store};
  if (const auto mount = cffs_mount_of(store)) places.push_back(mount->source);
  for (const std::string& place : places) {
    if (RadosAddress::is_one(place) || ::access(place.c_str(), F_OK) != 0) continue;
    const auto inside = path_inside(place, destination);
    std::error_code problem;
    const bool directory = std::filesystem::is_directory(place, problem);
    if (!inside || is_left_out(excludes, *inside, directory)) continue;
    return fail(Error::usage(
        fmt::format("{} lies in {}: --delete would take it away{}", place, destination,
                    *inside == "." ? std::string() : "; leave it out with --exclude=/" + inside->string())));
  }
  return {};
}

}  // namespace cffs::cli
