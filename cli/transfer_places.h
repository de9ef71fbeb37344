// From where to where an import or an export may go: never a store into its own mount, nor a store away with what lies beside it.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/error.h"
#include "core/transfer/import_rules.h"
#include "fusefs/mount_table.h"

namespace cffs::cli {

// Whether a path of the tree is left out, by its own name or with what it lies in.
bool is_left_out(const Excludes& excludes, const std::filesystem::path& inside, bool directory);
// A mount's own store is no source for it: the daemon would write into what is read, without an end.
Status check_store_apart(const MountEntry& mount, const std::string& source, const Excludes& excludes);
// What is in the way of an export goes: that must be neither the store, nor the mount that it is read from.
Status check_not_erased(const std::string& store, const std::string& destination, const Excludes& excludes);

}  // namespace cffs::cli
