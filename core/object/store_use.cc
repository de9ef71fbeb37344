#include "core/object/store_use.h"

#include <unistd.h>

#include <array>

namespace cffs {
namespace {

Result<std::unique_ptr<StoreLock>> told(Result<std::unique_ptr<StoreLock>> locked, const ObjectStore& store) {
  if (locked || locked.error().errno_value != EBUSY) return locked;
  return fail(Error{ErrorKind::usage, EBUSY,
                    "store " + store.description() + " is in use by " + locked.error().context +
                        "; unmount it, or wait for that command"});
}

}  // namespace

std::string this_process() {
  std::array<char, 256> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  return "pid " + std::to_string(::getpid()) + " on " + host.data();
}

Result<std::unique_ptr<StoreLock>> use_alone(ObjectStore& store, std::string_view owner) {
  return told(store.lock(owner), store);
}

Result<std::unique_ptr<StoreLock>> use_to_look(ObjectStore& store) {
  return told(store.lock_for_reading(), store);
}

}  // namespace cffs
