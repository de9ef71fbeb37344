#include "fusefs/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "core/object/file_descriptor.h"

namespace cffs {

bool tell_service_manager(const std::string& lines) {
  const char* const name = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // '@' stands for the null byte that an abstract name begins with. Others (vsock:...) are for virtual machines.
  if (name == nullptr || (name[0] != '/' && name[0] != '@')) return false;
  const std::size_t length = std::strlen(name);
  if (length < 2 || length > sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, name, length);
  if (name[0] == '@') address.sun_path[0] = '\0';
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return false;
  const auto address_bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  return ::sendto(socket.get(), lines.data(), lines.size(), MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr*>(&address),
                  address_bytes) == static_cast<ssize_t>(lines.size());
}

}  // namespace cffs
