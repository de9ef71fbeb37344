// The plan that a store keeps, as it is, and with its checksum made right.
#include "core/reorganise/plan_object.h"

#include "tests/fuzz/fuzz_input.h"

namespace {

using namespace cffs;

void read(std::string_view bytes) {
  MemoryStore store;
  fuzz::put(store, "plan", bytes);
  const auto plan = read_plan_object(store);
  if (!plan || !*plan) return;
  CFFS_INVARIANT(write_plan_object(store, **plan));
  const std::string written = fuzz::get(store, "plan");
  const auto again = read_plan_object(store);
  CFFS_INVARIANT(again && *again && (*again)->size() == (*plan)->size());
  CFFS_INVARIANT(write_plan_object(store, **again));
  CFFS_INVARIANT(fuzz::get(store, "plan") == written);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(fuzz::text_of(data, size));
  read(bytes);
  if (bytes.size() >= 8) fuzz::seal(bytes, bytes.size() - 8);
  read(bytes);
  return 0;
}
