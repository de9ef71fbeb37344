// How requests come from the kernel: over io_uring, which costs less for each, or by reading /dev/fuse.
#pragma once

#include <optional>
#include <string>

#include "core/base/error.h"

namespace cffs {

enum class Transport {
  automatic,  // the ring where the kernel offers it and the system lets us, else the device
  ring,       // or no mount at all
  device,
};
inline constexpr const char* kTransportNames = "auto, ring, device";

// `option` is what the error calls it.
Result<Transport> transport_of(const std::string& name, const std::string& option);

// Whether a mount may begin that wants this; usage: the ring is wanted, and this kernel has none or has it switched off.
Status check_transport(Transport wanted);
bool ring_is_on();
// Why there is no ring although it is wanted and the kernel has it.
Error no_ring(const Error& why);

// What whoever mounts may want to know: the kernel has the ring, and it is switched off.
std::optional<std::string> transport_remark(Transport wanted);

}  // namespace cffs
