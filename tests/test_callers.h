// Who calls the library in tests, where it does not matter: somebody who may everything.
#pragma once

#include "core/fs/caller.h"

namespace cffs::test {

inline const Caller kRoot = Caller::privileged();

}  // namespace cffs::test
