// A store that is being made, and what one left that was killed meanwhile: the next format takes that for what it is, and begins anew.
//
// `superblock.unfinished` is there from before the first object that format makes until it gets the superblock's bytes and, by a
// rename, its name; and a salvage gives the superblock of its new store that name again until all files are there. So a place has either a
// superblock or this mark, and what lies beside the mark, by the names that stores use, is nobody's: no mount and no other command took it
// for a store. What has other names is somebody's, and so is what has these without the mark.
#pragma once

#include <string_view>

#include "core/base/error.h"
#include "core/object/object_store.h"

namespace cffs {

inline constexpr const char* kUnfinishedSuperblock = "superblock.unfinished";

// Whether stores have such a name, or a folder of it, at their top.
bool is_store_name(std::string_view top_name);

// Whether a store can be made there: it is empty, or has what was left by who was killed while he made one. `usage` with EEXIST where
// a store is, with ENOTEMPTY where something else is, which it names. Changes nothing.
Status check_formattable(ObjectStore& store);

// The same, of a place that is locked; then takes that away, and makes the mark.
Status begin_format(ObjectStore& store);

// For who has a new store open and fills it: it is none for anybody else until it is whole.
Status set_superblock_aside(ObjectStore& store);
Status put_superblock_back(ObjectStore& store);

}  // namespace cffs
