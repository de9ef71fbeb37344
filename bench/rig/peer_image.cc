#include "bench/rig/peer_image.h"

#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "bench/rig/image.h"
#include "bench/rig/loop_device.h"
#include "bench/rig/process.h"

namespace cffs::bench {
namespace {

struct PeerKind {
  const char* type;
  const char* program;
  const char* package;
  std::array<const char*, 3> codecs;
};
constexpr std::array<PeerKind, 2> kPeerKinds{
    {{"squashfs", "mksquashfs", "squashfs-tools", {"zstd", "lz4", "xz"}},
     {"erofs", "mkfs.erofs", "erofs-utils", {"zstd", "lz4", "lz4hc"}}}};

const PeerKind* peer_kind_of(std::string_view type) {
  const auto* const found =
      std::find_if(kPeerKinds.begin(), kPeerKinds.end(), [&](const PeerKind& k) { return type == k.type; });
  return found == kPeerKinds.end() ? nullptr : found;
}

}  // namespace

Result<std::optional<PeerName>> peer_name_of(std::string_view target) {
  const std::string_view type = target.substr(0, target.find(':'));
  const PeerKind* kind = peer_kind_of(type);
  if (kind == nullptr) return std::optional<PeerName>();
  PeerName name{std::string(type), "", ""};
  if (type.size() < target.size()) {
    const std::string_view rest = target.substr(type.size() + 1);
    name.codec = rest.substr(0, rest.find(':'));
    if (name.codec.size() < rest.size()) name.level = rest.substr(name.codec.size() + 1);
  }
  const bool known = std::find(kind->codecs.begin(), kind->codecs.end(), name.codec) != kind->codecs.end();
  const bool has_levels = name.codec == "zstd" || name.codec == "lz4hc";
  const bool level_fits = name.level.empty()
                              ? !target.ends_with(':')
                              : has_levels && name.level.size() <= 2 && name.level != "0" &&
                                    name.level.find_first_not_of("0123456789") == std::string::npos;
  if (known && level_fits) return std::optional(std::move(name));
  return fail(Error::command_line(
      fmt::format("target {}: {} is compressed with {}, {} or {}, the levels of zstd (and "
                  "EROFS's lz4hc) behind that: {}:{}:9",
                  target, kind->type, kind->codecs[0], kind->codecs[1], kind->codecs[2], kind->type,
                  kind->codecs[type == "erofs" ? 2 : 0])));
}

std::vector<std::string> peer_command(const PeerName& name, const std::string& tree,
                                      const std::string& image) {
  if (name.type == "squashfs") {
    std::vector<std::string> words{"mksquashfs", tree,        image,          "-comp",
                                   name.codec,   "-noappend", "-no-progress", "-quiet"};
    if (!name.level.empty()) words.insert(words.end(), {"-Xcompression-level", name.level});
    return words;
  }
  // Its own units are 4 KiB, and nothing of one file helps another. Both are what it has against that; a program that is too old for some
  // of it (fragments: before 1.6) passes over the word.
  return {"mkfs.erofs",
          "--quiet",
          "-z" + name.codec + (name.level.empty() ? "" : "," + name.level),
          "-C65536",
          "-Efragments,dedupe,ztailpacking",
          image,
          tree};
}

Status PeerImage::try_out(const PeerName& name, const std::string& work) {
  const PeerKind& kind = *peer_kind_of(name.type);
  if (!is_installed(kind.program)) {
    return fail(
        Error::usage(fmt::format("{} is not installed: apt-get install {}", kind.program, kind.package)));
  }
  const std::filesystem::path place = std::filesystem::path(work) / "peer";
  std::error_code error;
  std::filesystem::remove_all(place, error);
  std::filesystem::create_directories(place / "tree", error);
  std::filesystem::create_directories(place / "mnt", error);
  if (error) return fail(error.value(), place);
  std::ofstream(place / "tree" / "file") << std::string(100'000, 'a');
  Status done;
  {
    PeerImage image(name, place / "image", place / "mnt");
    done = image.make(place / "tree");
    if (!done) {
      const bool too_old = name.type == "erofs" && name.codec == "zstd";
      done = fail(Error::usage(
          fmt::format("{} here cannot compress with {}{}{}", kind.program, name.codec,
                      name.level.empty() ? "" : " at level " + name.level,
                      too_old ? ": EROFS can from erofs-utils 1.8 on, which Debian has from 13 on" : "")));
    } else {
      done = image.mount();
      if (!done)
        done =
            fail(Error::usage(fmt::format("this kernel does not mount {} with {}", name.type, name.codec)));
    }
  }
  std::filesystem::remove_all(place, error);
  return done;
}

Status PeerImage::make(const std::string& tree) {
  CFFS_TRY_VOID(run(peer_command(name_, tree, image_)));
  is_made_ = true;
  return {};
}

Status PeerImage::mount() {
  CFFS_TRY(const LoopDevice loop, LoopDevice::over(image_, LoopDevice::Access::read_only));
  device_number_ = loop.number();
  if (::mount(loop.path().c_str(), point_.c_str(), name_.type.c_str(), MS_RDONLY | MS_NOATIME, nullptr) != 0)
    return fail(errno, fmt::format("{} on {}", name_.type, loop.path()));
  is_mounted_ = true;
  return {};
}

Status PeerImage::unmount() {
  if (!is_mounted_) return {};
  CFFS_TRY_VOID(unmount_patiently(point_));
  is_mounted_ = false;
  return wait_until_free(device_number_, image_);
}

std::uint64_t PeerImage::bytes() const {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(image_, error);
  return error ? 0 : bytes;
}

PeerImage::~PeerImage() { (void)unmount(); }

}  // namespace cffs::bench
