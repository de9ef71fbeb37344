// Gives the plain bytes of a packed composite that is in memory as a whole; stores read theirs frame by frame (packed_object.h).
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace cffs {

// In `plain`, whose memory is used again. `corruption` where the bytes are no packed composite, or a frame has not its checksum.
Status unpack(std::string_view packed, std::string& plain);

}  // namespace cffs
