#include "core/base/error.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cffs {

std::string Error::message() const {
  if (kind == ErrorKind::usage) return context;
  std::string text = context;
  if (kind == ErrorKind::corruption) return text.empty() ? "corrupt data" : text;
  if (!text.empty()) text += ": ";
  return text + std::strerror(errno_value);
}

void invariant_broken(const char* what, const char* file, int line) {
  std::fprintf(stderr, "cffs: broken invariant '%s' at %s:%d\n", what, file, line);
  std::abort();
}

}  // namespace cffs
