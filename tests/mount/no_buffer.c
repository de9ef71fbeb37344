// Preloaded: what libfuse asks for as a thread's buffer is not to be had, but for the first thread, for as long as the file
// $NO_BUFFER is there.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static const size_t least = 1u << 20, most = (1u << 20) + (1u << 16);

void* malloc(size_t size) {
  static void* (*next)(size_t);
  static _Thread_local int inside;
  if (!next) next = (void* (*)(size_t))dlsym(RTLD_NEXT, "malloc");
  const char* const file = getenv("NO_BUFFER");
  if (size >= least && size < most && !inside && file && gettid() != getpid()) {
    inside = 1;
    const int refused = access(file, F_OK) == 0;
    inside = 0;
    if (refused) {
      errno = ENOMEM;
      return NULL;
    }
  }
  return next(size);
}
