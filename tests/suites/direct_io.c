// LD_PRELOAD: whatever is opened for writing is opened with O_DIRECT, so that a suite that knows no direct I/O does it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/types.h>

static int direct(int flags) { return (flags & O_ACCMODE) == O_RDWR ? flags | O_DIRECT : flags; }

static mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? (mode_t)va_arg(arguments, int) : 0;
}

#define WRAP_OPEN(name)                                                        \
  int name(const char* path, int flags, ...) {                                 \
    static int (*real)(const char*, int, ...);                                 \
    if (real == NULL) real = (int (*)(const char*, int, ...))dlsym(RTLD_NEXT, #name); \
    va_list arguments;                                                         \
    va_start(arguments, flags);                                                \
    const mode_t mode = mode_of(flags, arguments);                             \
    va_end(arguments);                                                         \
    return real(path, direct(flags), mode);                                    \
  }

WRAP_OPEN(open)
WRAP_OPEN(open64)
