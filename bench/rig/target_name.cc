#include "bench/rig/target_name.h"

#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "bench/rig/peer_image.h"
#include "core/packed/compression.h"

namespace cffs::bench {
namespace {

const std::vector<std::string> kFileSystems{"ext2", "ext3", "ext4", "xfs", "btrfs"};
const std::vector<std::string> kPolicies{"none", "directory", "reference", "frequency"};

bool among(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace

TargetName target_name_of(const std::string& name) {
  TargetName parts;
  const std::size_t at = name.find('@');
  parts.kind = name.substr(0, at);
  if (at != std::string::npos) parts.below = name.substr(at + 1);
  const std::size_t plus = parts.kind.find('+');
  if (plus != std::string::npos) {
    parts.compression = parts.kind.substr(plus + 1);
    parts.kind.resize(plus);
  }
  return parts;
}

bool is_file_system(const std::string& kind) { return among(kFileSystems, kind); }

Status check_target(const std::string& name) {
  if (name.starts_with("dir:")) {
    struct stat st;
    if (::stat(name.c_str() + 4, &st) != 0) return fail(errno, "target " + name);
    if (!S_ISDIR(st.st_mode)) return fail(ENOTDIR, "target " + name);
    return {};
  }
  const auto [kind, compression, after] = target_name_of(name);
  const std::string below = name.find('@') == std::string::npos ? "ext4" : after;
  CFFS_TRY(const auto peer, peer_name_of(kind));
  const bool known = peer || is_file_system(kind) || among(kPolicies, kind) || kind == "passthrough" ||
                     kind == "floor" || kind == "floor-xattrs" || kind == "library" || kind == "predict" ||
                     kind == "regions";
  const bool is_store = among(kPolicies, kind) || kind == "library" || kind == "predict";
  if (!compression.empty()) {
    CFFS_TRY_VOID(parse_compression(compression));
    if (!is_store)
      return fail(Error::command_line("target " + name + ": only stores of cffs are compressed"));
  }
  if (known && (is_file_system(below) || (is_store && below == "region"))) return {};
  return fail(Error::command_line(
      "there is no target '" + name +
      "'; there are ext2, ext3, ext4, xfs, btrfs, passthrough, floor, floor-xattrs, none, directory, "
      "reference, frequency, "
      "library, predict, regions, squashfs:CODEC, erofs:CODEC, dir:PATH; +zstd or +lz4 behind a store "
      "compresses it, @xfs or @btrfs behind one puts it on that, @region a store on no file system"));
}

bool is_peer(const std::string& name) {
  const auto peer = peer_name_of(target_name_of(name).kind);
  return peer && peer->has_value();
}

Status try_out_target(const std::string& name, const std::string& work) {
  CFFS_TRY(const auto peer, peer_name_of(target_name_of(name).kind));
  return peer ? PeerImage::try_out(*peer, work) : Status();
}

}  // namespace cffs::bench
