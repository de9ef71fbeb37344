#include "core/follow/unchanging_file_system.h"

#include "core/fs/moment.h"

namespace cffs {
namespace {

tl::unexpected<Error> unchangeable() { return fail(EROFS, "a mount that follows is for reading only"); }

}  // namespace

Result<Attributes> UnchangingFileSystem::mknod(InodeId, std::string_view, mode_t, std::uint64_t,
                                               const Caller&) {
  return unchangeable();
}
Result<Attributes> UnchangingFileSystem::mkdir(InodeId, std::string_view, mode_t, const Caller&) {
  return unchangeable();
}
Result<Attributes> UnchangingFileSystem::symlink(InodeId, std::string_view, std::string_view, const Caller&) {
  return unchangeable();
}
Result<Attributes> UnchangingFileSystem::make_unnamed(InodeId, mode_t, const Caller&) {
  return unchangeable();
}
Result<Attributes> UnchangingFileSystem::link(InodeId, InodeId, std::string_view) { return unchangeable(); }
Status UnchangingFileSystem::unlink(InodeId, std::string_view) { return unchangeable(); }
Status UnchangingFileSystem::rmdir(InodeId, std::string_view) { return unchangeable(); }
Status UnchangingFileSystem::rename(InodeId, std::string_view, InodeId, std::string_view, RenameMode,
                                    const Caller&) {
  return unchangeable();
}
Result<Attributes> UnchangingFileSystem::setattr(InodeId, const AttributeChange&, const Caller&) {
  return unchangeable();
}
Status UnchangingFileSystem::setxattr(InodeId, std::string_view, std::string_view, XattrMode, const Caller&) {
  return unchangeable();
}
Status UnchangingFileSystem::removexattr(InodeId, std::string_view) { return unchangeable(); }
Status UnchangingFileSystem::write(InodeId, std::uint64_t, ConstBytes, const Caller&) {
  return unchangeable();
}
Status UnchangingFileSystem::compress(const Compression&) { return unchangeable(); }
Status UnchangingFileSystem::dedupe(bool) { return unchangeable(); }
Status UnchangingFileSystem::skip_inodes(InodeId) { return unchangeable(); }

Status UnchangingFileSystem::allocate(InodeId, std::uint64_t, std::uint64_t, AllocateMode, bool,
                                      const Caller&) {
  return unchangeable();
}
Result<std::uint64_t> UnchangingFileSystem::copy_range(InodeId, std::uint64_t, InodeId, std::uint64_t,
                                                       std::uint64_t, const Caller&) {
  return unchangeable();
}
Result<std::vector<std::string>> UnchangingFileSystem::load(std::vector<std::vector<NewFile>>) {
  return unchangeable();
}
Result<std::unique_ptr<Moment>> UnchangingFileSystem::hold_moment(BlobKeeper&) { return unchangeable(); }

}  // namespace cffs
