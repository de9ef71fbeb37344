// READ, WRITE, FSYNC, FSYNCDIR, LSEEK, FALLOCATE, COPY_FILE_RANGE; and OPEN, refused on purpose where no other daemon writes.
#include <fcntl.h>
#include <linux/falloc.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "core/base/thread_room.h"
#include "core/follow/followed_file_system.h"
#include "core/object/blocking_section.h"
#include "core/object/suspension.h"
#include "fusefs/parked_requests.h"
#include "fusefs/reply.h"
#include "fusefs/reply_route.h"
#include "fusefs/request_counts.h"

namespace cffs::fuse {
namespace {

// Where the transport has room for the reply itself; else one buffer for each serving thread: a reply is copied to the kernel
// before the next request is read.
Bytes thread_buffer(std::size_t size) {
  if (std::byte* room = reply_room(size)) return {room, size};
  thread_local ThreadRoom buffer;
  return buffer.of(size);
}

void open(fuse_req_t req, fuse_ino_t node, fuse_file_info* file) {
  FollowedFileSystem* const followed = context(req).followed;
  if (followed == nullptr) {
    fuse_reply_err(req, ENOSYS);
    return;
  }
  guarded(req, "open", [&] {
    const Status opened = followed->opened(inode_of(node));
    if (!opened) {
      fuse_reply_err(req, errno_of(opened));
      return;
    }
    file->keep_cache = 1;  // as long as the node is the same, so is what it has
    if (fuse_reply_open(req, file) != 0) followed->closed(inode_of(node));
  });
}

// Only where an open was answered.
void release(fuse_req_t req, fuse_ino_t node, fuse_file_info*) {
  guarded(req, "release", [&] {
    if (FollowedFileSystem* const followed = context(req).followed) followed->closed(inode_of(node));
    fuse_reply_err(req, 0);
  });
}

struct ReadCall {
  fuse_req_t req;
  InodeId file;
  std::uint64_t offset;
  std::size_t size;
  bool notes_time;
};

// One run of it. False: it is suspended, `left` says what for, and `seen` goes on with the next run.
bool run_read(const ReadCall& call, std::optional<ObservedRequest>& seen, std::unique_ptr<Suspension>& left) {
  const Bytes out = thread_buffer(call.size);
  const pid_t process = fuse_req_ctx(call.req)->pid;  // the reply frees the request
  FileSystem& engine = fs(call.req);
  Watch watch(call.req, Watch::What::read, call.file);
  if (seen) watch.go_on_with(*seen);
  watch.seen().offset = call.offset;
  watch.seen().length = call.size;
  SuspendableRun run(std::move(left));
  const auto n = engine.read(call.file, call.offset, out, static_cast<ReaderId>(process));
  if (run.is_suspended()) {
    left = run.leave();
    seen = watch.leave();
    return false;
  }
  watch.ended(n ? static_cast<std::int64_t>(*n) : -errno_of(n.error()));
  if (!n) {
    fuse_reply_err(call.req, errno_of(n.error()));
  } else {
    if (call.notes_time) engine.accessed(call.file);
    fuse_reply_buf(call.req, reinterpret_cast<const char*>(out.data()), *n);
    if (call.offset == 0) engine.note_access(call.file, static_cast<std::uint64_t>(process));
  }
  return true;
}

class ParkedRead final : public ParkedRequest {
 public:
  // `held`: what it may have left something in.
  ParkedRead(const ReadCall& call, std::optional<ObservedRequest> seen, std::unique_ptr<Suspension> left,
             std::shared_ptr<const void> held)
      : call_(call), held_(std::move(held)), seen_(std::move(seen)), left_(std::move(left)) {}
  bool resume() override {
    bool answered = true;
    RequestCounts::go_on_with(counted_);
    guarded(call_.req, "read", [&] { answered = run_read(call_, seen_, left_); });
    if (!answered) counted_ = RequestCounts::leave();
    return answered;
  }

 private:
  const ReadCall call_;
  const std::shared_ptr<const void> held_;  // goes after what was left
  std::optional<ObservedRequest> seen_;
  std::unique_ptr<Suspension> left_;
  ServedRequest counted_ = RequestCounts::leave();
};

void read(fuse_req_t req, fuse_ino_t node, std::size_t size, off_t offset, fuse_file_info* file) {
  guarded(req, "read", [&] {
    const ReadCall call{req, inode_of(node), static_cast<std::uint64_t>(offset), size,
                        file == nullptr || (file->flags & O_NOATIME) == 0};
    std::optional<ObservedRequest> seen;
    FollowedFileSystem* const followed = context(req).followed;
    auto held = followed != nullptr ? followed->hold(call.file) : nullptr;
    std::unique_ptr<Suspension> left;
    if (run_read(call, seen, left)) return;
    Parking::of_this_thread()->park(
        std::make_unique<ParkedRead>(call, std::move(seen), std::move(left), std::move(held)));
  });
}

void write(fuse_req_t req, fuse_ino_t node, const char* data, std::size_t size, off_t offset,
           fuse_file_info* file) {
  guarded(req, "write", [&] {
    MountContext& mount = context(req);
    Watch watch(req, Watch::What::write, inode_of(node));
    watch.seen().offset = static_cast<std::uint64_t>(offset);
    watch.seen().length = size;
    watch.seen().result = static_cast<std::int64_t>(size);
    const SetIdWatch set_id(req);
    const Status done = fs(req).write(inode_of(node), static_cast<std::uint64_t>(offset),
                                      as_bytes(std::string_view(data, size)), caller(req));
    // Pages of a mapping. Told behind the answer: before it, an inode that goes waits for these pages, and the kernel's search
    // for it would wait for that. Who is told is nobody's affair: pages are written back for no task.
    const bool mapped = file != nullptr && file->writepage != 0;
    if (!mapped) set_id.changed(inode_of(node));
    if (!watch.outcome(done)) {
      fuse_reply_err(req, errno_of(done));
    } else {
      const bool late = mapped && mount.receipts.file_may_be_late(0);
      fuse_reply_write(req, size);
      if (late) forget_attributes(mount, inode_of(node));
    }
  });
}

void fsync(fuse_req_t req, fuse_ino_t node, int, fuse_file_info*) {
  guarded(req, "fsync", [&] {
    Watch watch(req, Watch::What::fsync, inode_of(node));
    reply_status(req, watch.outcome(fs(req).fsync(inode_of(node))));
  });
}

void lseek(fuse_req_t req, fuse_ino_t node, off_t offset, int whence, fuse_file_info*) {
  guarded(req, "lseek", [&] {
    if (offset < 0) {
      fuse_reply_err(req, ENXIO);
      return;
    }
    FileSystem& engine = fs(req);
    const auto from = static_cast<std::uint64_t>(offset);
    const auto found =
        whence == SEEK_DATA ? engine.next_data(inode_of(node), from) : engine.next_hole(inode_of(node), from);
    const auto attributes = engine.getattr(inode_of(node));
    if (!found || !attributes) {
      fuse_reply_err(req, errno_of(found ? attributes.error() : found.error()));
    } else if (whence == SEEK_DATA && *found >= attributes->size) {
      fuse_reply_err(req, ENXIO);
    } else {
      fuse_reply_lseek(req, static_cast<off_t>(*found));
    }
  });
}

void fallocate(fuse_req_t req, fuse_ino_t node, int mode, off_t offset, off_t length, fuse_file_info*) {
  guarded(req, "fallocate", [&] {
    constexpr int kKnown = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE;
    const bool punches = (mode & FALLOC_FL_PUNCH_HOLE) != 0;
    const bool zeroes = (mode & FALLOC_FL_ZERO_RANGE) != 0;
    const bool keep_size = (mode & FALLOC_FL_KEEP_SIZE) != 0;
    if ((mode & ~kKnown) != 0 || (punches && (zeroes || !keep_size))) {
      fuse_reply_err(req, EOPNOTSUPP);
      return;
    }
    if (offset < 0 || length <= 0) {
      fuse_reply_err(req, EINVAL);
      return;
    }
    const AllocateMode what = punches  ? AllocateMode::punch_hole
                              : zeroes ? AllocateMode::zero_range
                                       : AllocateMode::reserve;
    // A trace knows no allocation; what one can see of it is the size.
    std::optional<Watch> watch;
    if (!keep_size && context(req).observer != nullptr) {
      const auto before = fs(req).getattr(inode_of(node));
      const auto end = static_cast<std::uint64_t>(offset) + static_cast<std::uint64_t>(length);
      if (before && end > before->size) {
        watch.emplace(req, Watch::What::truncate, inode_of(node)).seen().length = end;
      }
    }
    const SetIdWatch set_id(req);
    const Status done = fs(req).allocate(inode_of(node), static_cast<std::uint64_t>(offset),
                                         static_cast<std::uint64_t>(length), what, keep_size, caller(req));
    set_id.changed(inode_of(node));
    if (done && keep_size) attributes_changed(req, inode_of(node));
    if (watch) (void)watch->outcome(done);
    reply_status(req, done);
  });
}

void copy_file_range(fuse_req_t req, fuse_ino_t from, off_t from_offset, fuse_file_info*, fuse_ino_t to,
                     off_t to_offset, fuse_file_info*, std::size_t length, int) {
  guarded(req, "copy_file_range", [&] {
    // A request is answered whole; a caller that wants more asks again.
    constexpr std::size_t kMost = 16u << 20;
    announce_blocking();
    Watch reading(req, Watch::What::read, inode_of(from));
    Watch writing(req, Watch::What::write, inode_of(to));
    const SetIdWatch set_id(req);
    const auto copied =
        fs(req).copy_range(inode_of(from), static_cast<std::uint64_t>(from_offset), inode_of(to),
                           static_cast<std::uint64_t>(to_offset), std::min(length, kMost), caller(req));
    set_id.changed(inode_of(to));
    reading.seen().offset = static_cast<std::uint64_t>(from_offset);
    writing.seen().offset = static_cast<std::uint64_t>(to_offset);
    for (Watch* watch : {&reading, &writing}) {
      watch->seen().length = copied ? *copied : length;
      watch->ended(copied ? static_cast<std::int64_t>(*copied) : -errno_of(copied.error()));
    }
    if (!copied) {
      fuse_reply_err(req, errno_of(copied.error()));
    } else {
      fs(req).accessed(inode_of(from));
      fuse_reply_write(req, *copied);
    }
  });
}

}  // namespace

void add_data_operations(fuse_lowlevel_ops& ops) {
  ops.open = open;
  ops.release = release;
  ops.read = read;
  ops.write = write;
  ops.fsync = fsync;
  ops.fsyncdir = fsync;
  ops.lseek = lseek;
  ops.fallocate = fallocate;
  ops.copy_file_range = copy_file_range;
}

}  // namespace cffs::fuse
