#pragma once

#include <sys/ioctl.h>

#include <cstddef>

namespace cffs::cli {

// Columns; 0: what is open there is no terminal, or does not know.
inline std::size_t terminal_width(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace cffs::cli
