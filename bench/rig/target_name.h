// What a target is called: KIND[+COMPRESSION][@BELOW], or dir:PATH (bench/rig/rig.h says what there is).
#pragma once

#include <string>

#include "core/base/error.h"

namespace cffs::bench {

struct TargetName {
  std::string kind, compression, below;  // below: empty where it is not said
};
TargetName target_name_of(const std::string& name);
// One of the machine's own that a disk can be made with.
bool is_file_system(const std::string& kind);

// Whether there is such a target.
Status check_target(const std::string& name);
// Whether it is an image that is made of a tree, and only read (bench/rig/peer_image.h).
bool is_peer(const std::string& name);
// The error is one sentence: what this machine lacks for it. Tried with something small in `work`.
Status try_out_target(const std::string& name, const std::string& work);

}  // namespace cffs::bench
