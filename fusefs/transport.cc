#include "fusefs/transport.h"

#include "fusefs/kernel_ring.h"

namespace cffs {
namespace {

std::string how_to_switch_on() {
  std::string said = "root switches it on with: echo Y > ";
  said += kRingParameter;
  return said;
}

}  // namespace

Result<Transport> transport_of(const std::string& name, const std::string& option) {
  if (name == "auto") return Transport::automatic;
  if (name == "ring") return Transport::ring;
  if (name == "device") return Transport::device;
  return fail(Error::command_line(option + " wants one of " + kTransportNames + ", not '" + name + "'"));
}

Status check_transport(Transport wanted) {
  if (wanted != Transport::ring) return {};
  switch (kernel_ring()) {
    case KernelRing::absent:
      return fail(Error::usage(
          "this kernel has no FUSE over io_uring, which came with Linux 6.14; mount with transport=device"));
    case KernelRing::off:
      return fail(Error::usage("FUSE over io_uring is switched off in this kernel; " + how_to_switch_on()));
    case KernelRing::on:
      return {};
  }
  return {};
}

bool ring_is_on() { return kernel_ring() == KernelRing::on; }

Error no_ring(const Error& why) {
  return Error::usage("FUSE over io_uring is not to be had here: " + why.message() +
                      "; mount with transport=device");
}

std::optional<std::string> transport_remark(Transport wanted) {
  if (wanted != Transport::automatic || kernel_ring() != KernelRing::off) return {};
  return "requests would cost less over io_uring, which this kernel has and is switched off; " +
         how_to_switch_on();
}

}  // namespace cffs
