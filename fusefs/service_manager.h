// What a service manager hears of a mount that it runs in the foreground: sd_notify(3)'s protocol, a datagram to the socket that
// NOTIFY_SOCKET names. It is a few lines, so cffs needs no library of systemd's, and other managers that speak it do as well.
#pragma once

#include <string>

namespace cffs {

// "READY=1", "STATUS=...", "STOPPING=1", a line each. Nothing where nobody wants to hear; whether it was sent.
bool tell_service_manager(const std::string& lines);

}  // namespace cffs
