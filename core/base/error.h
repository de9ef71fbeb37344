// Errors are values. Every fallible function of the engine returns Result<T>; exceptions do not cross its
// API.
//
// An Error carries what a program needs (kind, errno) and what a person needs (a context that names the
// object or file concerned). Hot negative answers such as ENOENT keep the context empty, so they do not
// allocate.
#pragma once

#include <cerrno>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace cffs {

enum class ErrorKind {
  os,          // an errno from below, or one that POSIX prescribes for the call
  corruption,  // bytes on the medium contradict their checksum or their format
  usage,       // the caller asked for something that makes no sense (bad option, wrong store)
};

struct [[nodiscard]] Error {
  ErrorKind kind = ErrorKind::os;
  int errno_value = EIO;
  std::string context;
  // What was asked for is wrong whatever it is asked of: a word that is no size, options that exclude each other. A command ends
  // with 2 for it, not with 1, as for an option that it does not have.
  bool of_command_line = false;

  static Error os(int errno_value, std::string context = {}) {
    return {ErrorKind::os, errno_value, std::move(context)};
  }
  // Bad bytes always surface as EIO: the caller cannot mend them, fsck can name them.
  static Error corruption(std::string context) { return {ErrorKind::corruption, EIO, std::move(context)}; }
  static Error usage(std::string context) { return {ErrorKind::usage, EINVAL, std::move(context)}; }
  static Error command_line(std::string context) {
    return {ErrorKind::usage, EINVAL, std::move(context), true};
  }

  // The process had too few descriptors or too little memory just then, or a pool did not answer or has shut it out: this says nothing
  // about what was to be read.
  bool is_shortage() const {
    return errno_value == EMFILE || errno_value == ENFILE || errno_value == ENOMEM ||
           errno_value == ETIMEDOUT || errno_value == ESHUTDOWN;
  }
  // The bytes are not what was written, or the medium does not give them: a sector that cannot be read, what the file system below
  // found damaged itself. Whoever goes on past damage goes on past this.
  bool is_damage() const {
    return kind == ErrorKind::corruption || errno_value == EIO || errno_value == EUCLEAN ||
           errno_value == EBADMSG || errno_value == ENODATA;
  }
  // One sentence for a person.
  std::string message() const;
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> fail(int errno_value, std::string context = {}) {
  return tl::unexpected(Error::os(errno_value, std::move(context)));
}
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected(std::move(error)); }

// For states that only our own bug can reach; stays on in every build.
[[noreturn]] void invariant_broken(const char* what, const char* file, int line);

}  // namespace cffs

#define CFFS_INVARIANT(condition) \
  ((condition) ? (void)0 : ::cffs::invariant_broken(#condition, __FILE__, __LINE__))

#define CFFS_CONCAT_INNER(a, b) a##b
#define CFFS_CONCAT(a, b) CFFS_CONCAT_INNER(a, b)
// CFFS_TRY(auto x, f()): x is f()'s value, or this function returns f()'s error. __COUNTER__ lets them nest.
#define CFFS_TRY(declaration, expression) \
  CFFS_TRY_INNER(CFFS_CONCAT(try_result_, __COUNTER__), declaration, expression)
#define CFFS_TRY_INNER(result, declaration, expression)                           \
  auto result = (expression);                                                     \
  if (!result) return ::tl::unexpected<::cffs::Error>(std::move(result).error()); \
  declaration = std::move(*result)
#define CFFS_TRY_VOID(expression) CFFS_TRY_VOID_INNER(CFFS_CONCAT(try_status_, __COUNTER__), expression)
#define CFFS_TRY_VOID_INNER(status, expression)                          \
  do {                                                                   \
    if (auto status = (expression); !status)                             \
      return ::tl::unexpected<::cffs::Error>(std::move(status).error()); \
  } while (false)
