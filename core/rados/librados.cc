#include "core/rados/librados.h"

#include <dlfcn.h>

namespace cffs::rados {
namespace {

constexpr const char* kLibrary = "librados.so.2";

struct Loaded {
  Librados functions;
  std::string problem;  // empty: there is none
};

Loaded load() {
  Loaded loaded;
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    loaded.problem = std::string("a store in a Ceph pool needs ") + kLibrary +
                     " (Debian: librados2): " + (why == nullptr ? "" : why);
    return loaded;
  }
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (function == nullptr && loaded.problem.empty())
      loaded.problem = std::string(kLibrary) + " has no " + name + ": it is too old, Ceph 16 is needed";
  };
#define CFFS_LIBRADOS_FIND(name) find("rados_" #name, loaded.functions.name);
  CFFS_LIBRADOS_FUNCTIONS(CFFS_LIBRADOS_FIND)
#undef CFFS_LIBRADOS_FIND
  return loaded;
}

const Librados* others = nullptr;  // instead of the library's

// Never unloaded: it has threads.
const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

}  // namespace

Status load_librados() {
  if (others != nullptr) return {};
  if (!loaded().problem.empty()) return fail(Error::usage(loaded().problem));
  return {};
}

const Librados& librados() { return others != nullptr ? *others : loaded().functions; }

void use_librados(const Librados& functions) { others = &functions; }

}  // namespace cffs::rados
