// Composites as objects: names, creation, appending, reading a subfile. Their rows are kept by
// CompositeAccounts.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/base/favours.h"
#include "core/composite/composite_builder.h"
#include "core/composite/composites_at_work.h"
#include "core/composite/medium_measure.h"
#include "core/composite/next_composite.h"
#include "core/composite/read_ahead.h"
#include "core/object/object_cache.h"
#include "core/packed/compression.h"
#include "core/packed/frame_cache.h"
#include "core/packed/packed_object.h"

namespace cffs {

class CompositeStore {
 public:
  // `background`: it may read by itself what a reader will come to next.
  CompositeStore(ObjectStore& store, std::size_t open_objects, bool background,
                 std::size_t frame_cache_bytes = FrameCache::kUsualBytes)
      : store_(store),
        frames_(std::make_shared<FrameCache>(frame_cache_bytes)),
        open_(store, open_objects,
              [this](std::shared_ptr<Object> object, const std::string& name) {
                return unpacked(std::move(object), name);
              }),
        next_(
            store, [this](CompositeId id) { return open(id); }, read_ahead_),
        measure_([this](CompositeId id) { return open(id); }, read_ahead_),
        background_(background) {}
  // Called where a sync failed: asked again, the medium may say that all is well.
  void on_failed_sync(std::function<void()> call) { failed_sync_ = std::move(call); }
  // Asked of files that are not in memory: of the bytes of the file's group, what is wanted by who comes to it; 0: not known.
  void on_absent(std::function<double(InodeId)> call) { planned_share_ = std::move(call); }

  // Called where a reader is likely to go through the group of a file that he reads, which is in memory or on its way there: once for each
  // visit of a group, by who reads. Set before others come.
  struct Wish;
  void on_likely_group(std::function<void(const Wish&)> call) {
    likely_group_ = std::move(call);
    read_ahead_.hand_over(likely_group_ != nullptr);
  }

  static std::string object_name(CompositeId id);
  static std::uint64_t folder_of(CompositeId id);
  static std::string folder_name(std::uint64_t folder);

  // How composites are compressed from now on.
  void compress(const Compression& how) {
    compression_ = static_cast<std::uint16_t>(static_cast<unsigned>(how.codec) << 8 | how.level);
  }
  // From now on composites that are opened may be packed. Before that none is looked at for it.
  void expect_packed() { may_be_packed_ = true; }
  Compression compression() const {
    const unsigned how = compression_;
    return {static_cast<Codec>(how >> 8), static_cast<std::uint8_t>(how & 0xff)};
  }

  // Writes the builder's bytes where they belong, creating the object if they are its first, else to `into` (null: by
  // name); `sync`: they are durable on return. Where they are `all` that there will be, they are packed as compress() says.
  enum class Content { part, all };
  Status append(const CompositeBuilder& builder, bool sync, std::shared_ptr<Object> into = nullptr,
                Content content = Content::part);
  // With its plain bytes.
  Result<std::shared_ptr<Object>> open(CompositeId id);
  // The same of a composite's object that somebody opened elsewhere.
  static Result<std::shared_ptr<Object>> plain(std::shared_ptr<Object> object, const std::string& name);
  // Closes what is kept open and nobody uses; returns how many.
  std::size_t close_idle() { return open_.close_idle(); }
  // Forgets its handle: for who has just moved it to another name.
  void drop(CompositeId id) { open_.drop(object_name(id)); }
  // The name goes; handles stay good. ENOENT is success: a crash may have come between object and row.
  Status remove(CompositeId id);

  // How a composite that was opened is packed; none: it is not.
  static Compression compression_of(const Object& plain);
  // `corruption`: it is packed, and one of the two indexes of its frames is damaged. A pack() of it mends that.
  static Status check_index(const Object& plain);
  // All plain bytes of a composite; where a frame or a block of it cannot be read, zeros. What says nothing of it fails
  // (Error::is_shortage()).
  static Result<std::string> read_what_can_be(const Object& plain);

  // --- packing what is there (docs/COMPRESSION.md) ---
  // While somebody appends to a composite it is not packed.
  CompositesAtWork& being_filled() { return being_filled_; }
  // While the rows of what was loaded into a composite come in several batches, its records without a row may get one.
  CompositesAtWork& being_named() { return being_named_; }
  // Writes beside the composite's object, of which a row names so many bytes, a copy of it that is compressed like that, and syncs
  // that; of `zeros` (offset, length) it has zeros. False, and nothing is there: it is as it should be, would not shrink, or is being
  // filled. `corruption`: a large member has rotted. Parts of it would be read by the checksums of their frames alone. `is_used` says
  // whether a record is a file's; without it all are.
  using Piece = std::pair<std::uint64_t, std::uint64_t>;
  using IsUsed = std::function<Result<bool>(const RecordMeta& record)>;
  Result<bool> make_copy(CompositeId id, std::uint64_t bytes, const Compression& how,
                         std::span<const Piece> zeros = {}, const IsUsed& is_used = nullptr);
  // The copy takes the object's place, while a row names it and nobody can change that.
  Status take_copy(CompositeId id);
  static bool is_copy(std::string_view object);
  void drop_copy(CompositeId id);

  // Reads the subfile's bytes [offset, offset + out.size()) that exist, and checks the checksum. A cold member's group comes
  // with it: for those who go through all of it.
  static Result<std::size_t> read(const Object& object, const Extent& extent, std::uint64_t offset,
                                  Bytes out);
  // Who wants which file.
  struct Wish {
    ReaderId reader = 0;
    InodeId file;
  };
  // The same for one of many readers: what comes with the member is read_ahead()'s to say.
  Result<std::size_t> read_for(const Wish& wish, const Object& object, const Extent& extent,
                               std::uint64_t offset, Bytes out);
  // Whether such a read is checked by frames: of a large member's part, whose checksum then was not looked at.
  static bool is_checked_by_frames(const Object& object, const Extent& extent, std::uint64_t offset,
                                   ConstBytes out);
  // The same of a member whose checksum was looked at since somebody looked it up: it is not looked at again.
  Result<std::size_t> read_again(const Wish& wish, const Object& object, const Extent& extent,
                                 std::uint64_t offset, Bytes out);
  // Nothing is read from now on but what is asked for.
  void stop_reading_ahead() {
    next_.stop();
    measure_.stop();
    frames_ahead_.stop();
  }
  const ReadAhead& read_ahead() const { return read_ahead_; }
  // Of the members beside that one, so many were put into the reader's cache, who will not come for them.
  void handed_over(ReaderId reader, const Extent& beside, std::uint64_t bytes, std::uint64_t files) {
    read_ahead_.handed_over(reader, beside, bytes, files);
  }
  FrameCounters frames() const { return frames_->counters(); }
  std::uint64_t frame_bytes() const { return frames_->bytes(); }  // decompressed, in memory
  // Since it was made, copies that are packed included.
  std::uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }

  // Calls visit for each record in order of slots. Stops at the first malformed one with `corruption`.
  Status scan(CompositeId id, std::uint64_t object_bytes,
              const std::function<void(const RecordMeta&, std::uint64_t data_offset)>& visit);
  // The same of a composite's bytes, all that there are.
  static Status scan_bytes(CompositeId id, std::string_view bytes,
                           const std::function<void(const RecordMeta&, std::uint64_t data_offset)>& visit);

 private:
  // What of some bytes is in memory or on its way (nullopt: not known), and read_ahead_.asks() before that was asked.
  struct Look {
    std::optional<double> share;
    std::uint64_t asks = 0;
  };
  Look look_for(const Object& object, std::uint64_t at, std::uint64_t bytes) const;
  Result<std::size_t> fetch(const Wish& wish, const Object& object, const Extent& extent, Bytes out);
  Result<std::size_t> wait_for(const Wish& wish, const Object& object, const Extent& extent, std::uint64_t at,
                               Bytes out, const Look& look);
  // The run before of the same operation asked for it, or found that somebody had.
  class Arriving;
  Result<std::size_t> go_on(std::unique_ptr<Arriving> left, const Object& object, Bytes out);
  ReadAhead::Advice come_to(const Wish& wish, const Extent& extent, ReadAhead::Found found,
                            std::uint64_t composite_bytes, const Look& look);
  Result<std::shared_ptr<Object>> unpacked(std::shared_ptr<Object> object, const std::string& name);
  ObjectStore& store_;
  const std::shared_ptr<FrameCache> frames_;
  Favours<PackedObject::Ahead> frames_ahead_{"a thread that decompresses", &PackedObject::make_next_ready};
  std::atomic<std::uint16_t> compression_{
      0};  // codec, level: two bytes at once, on every compiler without a library
  std::atomic<bool> may_be_packed_{false};
  std::atomic<std::uint64_t> bytes_written_{0};
  CompositesAtWork being_filled_;
  CompositesAtWork being_named_;
  ObjectCache open_;
  ReadAhead read_ahead_;
  NextComposite next_;
  MediumMeasure measure_;
  const bool background_;
  std::function<void()> failed_sync_;              // set before others come
  std::function<double(InodeId)> planned_share_;   // the same
  std::function<void(const Wish&)> likely_group_;  // the same
};

}  // namespace cffs
