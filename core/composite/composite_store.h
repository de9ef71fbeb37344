// Composites as objects: names, creation, appending, reading a subfile. Their rows are kept by
// CompositeAccounts.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "core/composite/composite_builder.h"
#include "core/composite/medium_measure.h"
#include "core/composite/next_composite.h"
#include "core/composite/read_ahead.h"
#include "core/object/object_cache.h"

namespace cffs {

class CompositeStore {
 public:
  // `background`: it may read by itself what a reader will come to next.
  CompositeStore(ObjectStore& store, std::size_t open_objects, bool background)
      : open_(store, open_objects),
        next_(
            store, [this](CompositeId id) { return open(id); }, read_ahead_),
        measure_([this](CompositeId id) { return open(id); }, read_ahead_),
        background_(background) {}
  // Called where a sync failed: asked again, the medium may say that all is well.
  void on_failed_sync(std::function<void()> call) { failed_sync_ = std::move(call); }
  // Asked of files that are not in memory: of the bytes of the file's group, what is wanted by who comes to it; 0: not known.
  void on_absent(std::function<double(InodeId)> call) { planned_share_ = std::move(call); }

  static std::string object_name(CompositeId id);
  static std::uint64_t folder_of(CompositeId id);
  static std::string folder_name(std::uint64_t folder);

  // Writes the builder's bytes where they belong, creating the object if they are its first, else to `into` (null: by
  // name); `sync`: they are durable on return.
  Status append(const CompositeBuilder& builder, bool sync, std::shared_ptr<Object> into = nullptr);
  Result<std::shared_ptr<Object>> open(CompositeId id);
  // Closes what is kept open and nobody uses; returns how many.
  std::size_t close_idle() { return open_.close_idle(); }
  // Forgets its handle: for who has just moved it to another name.
  void drop(CompositeId id) { open_.drop(object_name(id)); }
  // The name goes; handles stay good. ENOENT is success: a crash may have come between object and row.
  Status remove(CompositeId id);

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
  // The same of a member whose checksum was looked at since somebody looked it up: it is not looked at again.
  Result<std::size_t> read_again(const Wish& wish, const Object& object, const Extent& extent,
                                 std::uint64_t offset, Bytes out);
  // Nothing is read from now on but what is asked for.
  void stop_reading_ahead() {
    next_.stop();
    measure_.stop();
  }
  const ReadAhead& read_ahead() const { return read_ahead_; }

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
  ObjectCache open_;
  ReadAhead read_ahead_;
  NextComposite next_;
  MediumMeasure measure_;
  const bool background_;
  std::function<void()> failed_sync_;             // set before others come
  std::function<double(InodeId)> planned_share_;  // the same
};

}  // namespace cffs
