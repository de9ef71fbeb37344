// Whether this machine's kernel labels files.
#pragma once

#include <unistd.h>

namespace cffs {

inline bool selinux_is_on() { return ::access("/sys/fs/selinux/enforce", F_OK) == 0; }
inline constexpr const char* kSelinuxLabel = "security.selinux";

}  // namespace cffs
