#include "core/base/checksum.h"

#include <xxhash.h>

namespace cffs {

std::uint64_t checksum(ConstBytes bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace cffs
