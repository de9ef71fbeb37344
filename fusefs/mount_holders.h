// Who keeps a mount alive, found in /proc without a request to the mount itself: its daemon may be wedged.
//
// A FUSE file system ends when its last mount is gone and nobody has anything of it open. Copies of a mount are made by
// bind mounts and by every new mount namespace (containers, `unshare -m`); each is known by the device number that all
// share.
#pragma once

#include <string>
#include <vector>

#include "fusefs/mount_table.h"

namespace cffs {

// Who makes umount(2) of this very mount say EBUSY, each as "pid 17 (tail -f log; file /mnt/log)". Empty: not to be seen.
std::vector<std::string> users_of(const MountEntry& mount);

// Who keeps the file system alive after the mount that we saw is gone; a line for each mount namespace with a copy of it, and for
// each process with something open. `daemon`, its server, is named where nobody else is. The kernel uses a device's number again
// once the file system is gone: who knows that it is (mount_is_over) must not ask.
std::vector<std::string> holders_of(const MountEntry& mount, pid_t daemon);

// Whether the kernel still has that file system; unknown where /sys/fs/fuse/connections is not mounted.
enum class Connection { lives, gone, unknown };
Connection connection_of(const std::string& device);
// By which the kernel lists it: the number that it has for a device.
unsigned long connection_number(const std::string& device);
// Ends the connection of a mount that is there: whoever waits for an answer gets an error. False where the kernel's list of them is not
// mounted, or the mount is somebody else's.
bool abort_connection(const std::string& device);

}  // namespace cffs
