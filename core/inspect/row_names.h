// How rows (core/table/key_text.h) and names appear in messages, and whether a row beside the namespace is one that this program knows.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/table/key_text.h"

namespace cffs {

// Of a row outside the namespace: whether its kind is known and its bytes decode.
Status check_row(Key key, std::string_view value);

}  // namespace cffs
