// Names that an entry may have.
#pragma once

#include <string_view>

#include "core/base/error.h"
#include "core/fs/limits.h"

namespace cffs {

// ENOENT: empty; EEXIST: "." or ".."; ENAMETOOLONG; EINVAL: a byte that no name has.
inline Status check_new_name(std::string_view name) {
  if (name.empty() || name == "." || name == "..") return fail(name.empty() ? ENOENT : EEXIST);
  if (name.size() > kNameMax) return fail(ENAMETOOLONG);
  if (name.find('/') != std::string_view::npos || name.find('\0') != std::string_view::npos)
    return fail(EINVAL);
  return {};
}

}  // namespace cffs
