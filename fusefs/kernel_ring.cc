#include "fusefs/kernel_ring.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace cffs {

KernelRing kernel_ring() {
  std::ifstream parameter(kRingParameter);
  std::string word;
  if (!(parameter >> word)) return KernelRing::absent;
  return word == "Y" ? KernelRing::on : KernelRing::off;
}

// The kernel's list has ranges and numbers: "0-3,8-11".
unsigned possible_processors() {
  std::ifstream file("/sys/devices/system/cpu/possible");
  std::string list, range;
  file >> list;
  unsigned count = 0;
  for (std::istringstream ranges(list); std::getline(ranges, range, ',');) {
    unsigned first = 0, last = 0;
    char dash = 0;
    std::istringstream numbers(range);
    if (!(numbers >> first)) continue;
    if (!(numbers >> dash >> last)) last = first;
    if (last >= first) count += last - first + 1;
  }
  if (count == 0) count = static_cast<unsigned>(std::max(1l, ::sysconf(_SC_NPROCESSORS_CONF)));
  return count;
}

}  // namespace cffs
