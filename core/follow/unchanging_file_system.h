// A FileSystem of which nobody changes anything: what would is refused, EROFS, and what only follows from changes is nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/fs/file_system.h"

namespace cffs {

class UnchangingFileSystem : public FileSystem {
 public:
  Result<Attributes> mknod(InodeId, std::string_view, mode_t, std::uint64_t, const Caller&) override;
  Result<Attributes> mkdir(InodeId, std::string_view, mode_t, const Caller&) override;
  Result<Attributes> symlink(InodeId, std::string_view, std::string_view, const Caller&) override;
  Result<Attributes> make_unnamed(InodeId, mode_t, const Caller&) override;
  Result<Attributes> link(InodeId, InodeId, std::string_view) override;
  Status unlink(InodeId, std::string_view) override;
  Status rmdir(InodeId, std::string_view) override;
  Status rename(InodeId, std::string_view, InodeId, std::string_view, RenameMode, const Caller&) override;
  Result<Attributes> setattr(InodeId, const AttributeChange&, const Caller&) override;
  Status setxattr(InodeId, std::string_view, std::string_view, XattrMode, const Caller&) override;
  Status removexattr(InodeId, std::string_view) override;
  Status write(InodeId, std::uint64_t, ConstBytes, const Caller&) override;
  Status allocate(InodeId, std::uint64_t, std::uint64_t, AllocateMode, bool, const Caller&) override;
  Result<std::uint64_t> copy_range(InodeId, std::uint64_t, InodeId, std::uint64_t, std::uint64_t,
                                   const Caller&) override;
  Status compress(const Compression&) override;
  Compression compression() const override { return {}; }
  Status dedupe(bool) override;
  Status skip_inodes(InodeId) override;
  Result<std::vector<std::string>> load(std::vector<std::vector<NewFile>>) override;
  Result<std::unique_ptr<Moment>> hold_moment(BlobKeeper&) override;

  // There is nothing to be made durable, accounted for or relieved.
  Status fsync(InodeId) override { return {}; }
  Status sync() override { return {}; }
  Status commit() override { return {}; }
  void accessed(InodeId) override {}
  std::uint64_t set_ids_dropped() const override { return 0; }
  std::uint64_t load_limit() const override { return 0; }
  bool loads(std::uint64_t, const std::function<Result<std::size_t>(std::uint64_t, Bytes)>&) const override {
    return false;
  }
  void set_policy(std::shared_ptr<const grouping::Policy>) override {}
  void note_access(InodeId, std::uint64_t) override {}
  AccessRecord* access_record() override { return nullptr; }
  void on_shortage(std::function<bool(std::uint64_t)>) override {}
  bool holds_moment() const override { return false; }
};

}  // namespace cffs
