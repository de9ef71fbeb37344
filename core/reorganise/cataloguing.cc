#include "core/reorganise/cataloguing.h"

#include <algorithm>

#include "core/base/no_room.h"
#include "core/table/catalogue.h"
#include "core/table/table.h"

namespace cffs {
namespace {

constexpr std::int64_t kQuiets = 5;         // times quiet_ms without a change
constexpr std::int64_t kLongestWait = 300;  // times quiet_ms, where changes do not end
constexpr std::int64_t kLeastPauseMs = 1000;
constexpr std::int64_t kShare = 100;             // of the time
constexpr std::int64_t kBytesPerMs = 128;        // in the long run
constexpr std::uint64_t kRoomShare = 8;          // of what is left
constexpr std::uint64_t kMostData = 16u << 20;   // bytes of inline data
constexpr std::uint64_t kSpaceEvery = 1u << 20;  // bytes between two looks at the room

class Writing {
 public:
  Writing(FileSystem& fs, const std::function<bool()>& go_on, Object& to)
      : fs_(fs), go_on_(go_on), moment_(moment(fs)), writer_(to, moment_), rows_(fs.table().snapshot()) {}

  Result<std::uint64_t> run() {
    CFFS_TRY_VOID(
        copy(Key{0, 0}, Key{kInodeLimit - 1, ~std::uint64_t{0}}, [&](Key key, std::string_view value) {
          return row_kind(key, value) == RowKind::entries ? writer_.add_row(InodeId{key.upper}, value)
                                                          : Status();
        }));
    CFFS_TRY_VOID(copy(Key::tagged(KeyTag::file_data, 0, 0),
                       Key::tagged(KeyTag::file_data, kInodeLimit - 1, ~std::uint64_t{0}),
                       [&](Key key, std::string_view value) { return copy_data(key, value); }));
    CFFS_TRY_VOID(writer_.finish());
    return writer_.bytes();
  }

 private:
  // The number is asked for before the snapshot is taken: whatever has a higher one is newer for sure.
  static CatalogueMoment moment(FileSystem& fs) {
    return {fs.clock().now_ns(), fs.next_inode().value, fs.file_count().value_or(0)};
  }

  Status copy(Key first, Key last, const std::function<Status(Key, std::string_view)>& add) {
    Status done;
    CFFS_TRY_VOID(rows_->scan(first, last, [&](Key key, std::string_view value) {
      done = go_on_() ? add(key, value) : fail(EINTR, "the catalogue was not finished");
      if (done) done = look_for_room();
      return done.has_value();
    }));
    return done;
  }

  // Where there is more than a little, composites are not what keeps files here, and data has no place in a list of names.
  Status copy_data(Key key, std::string_view value) {
    data_ += value.size();
    return data_ <= kMostData ? writer_.add_data(InodeId{key.number()}, key.lower, value) : Status();
  }

  Status look_for_room() {
    if (writer_.bytes() < looked_at_) return {};
    looked_at_ = writer_.bytes() + kSpaceEvery;
    CFFS_TRY(const SpaceInfo space, fs_.statfs());
    if (space.available_bytes / kRoomShare >= looked_at_) return {};
    return fail(ENOSPC, "the catalogue");
  }

  FileSystem& fs_;
  const std::function<bool()>& go_on_;
  const CatalogueMoment moment_;
  CatalogueWriter writer_;
  const std::unique_ptr<TableSnapshot> rows_;
  std::uint64_t data_ = 0, looked_at_ = 0;
};

}  // namespace

Result<std::uint64_t> write_catalogue(FileSystem& fs, const std::function<bool()>& go_on) {
  ObjectStore& store = fs.objects();
  auto written = [&]() -> Result<std::uint64_t> {
    CFFS_TRY(const auto object, store.create(kUnfinishedCatalogue, ObjectStore::Create::truncate));
    return Writing(fs, go_on, *object).run();
  }();
  if (!written) {
    (void)store.remove(kUnfinishedCatalogue);
    return written;
  }
  // Which of the two a power cut leaves does not matter: both are whole.
  CFFS_TRY_VOID(store.rename(kUnfinishedCatalogue, kCatalogueObject));
  return written;
}

void catalogue_what_came(FileSystem& fs, std::uint64_t added, const std::function<bool()>& go_on) {
  constexpr std::uint64_t kMostInAll = 8;  // files of the store for each that was added
  if (added == 0 || fs.table().failed() || fs.file_count().value_or(0) / kMostInAll > added) return;
  if (!fs.commit()) return;  // whoever closes the store is told
  if (const auto written = write_catalogue(fs, go_on); !written && written.error().errno_value != EINTR)
    fs.log("there is no new catalogue: " + written.error().message());
}

Cataloguing::Cataloguing(FileSystem& fs, std::int64_t quiet_ms)
    : fs_(fs),
      quiet_ms_(quiet_ms),
      written_(fs.table().namespace_changes()),
      seen_(written_),
      changed_ms_(fs.clock().steady_ms()) {}

// Whether an earlier user has left things out: files that were made or removed show, and what does not comes with the next change.
void Cataloguing::compare_with_former(std::int64_t at) {
  compared_ = true;
  const auto moment = catalogue_moment(fs_.objects());
  const std::uint64_t inodes = fs_.file_count().value_or(0);
  const bool same = moment && *moment && (*moment)->next_inode == fs_.next_inode().value &&
                    (inodes == 0 || (*moment)->inodes == inodes);
  if (!same) behind_since_ms_ = at;
}

bool Cataloguing::is_due(std::int64_t at) {
  if (!compared_) compare_with_former(at);
  const std::uint64_t now = fs_.table().namespace_changes();
  if (now != seen_) changed_ms_ = at;
  seen_ = now;
  const bool changed = now != written_;
  if (changed && !behind_since_ms_) behind_since_ms_ = at;
  if (!behind_since_ms_ || at < not_before_ms_ || fs_.table().failed()) return false;
  // What an earlier user has left is in no hurry: a store that is only read is left in peace for a while.
  return (changed && at - changed_ms_ >= kQuiets * quiet_ms_) ||
         at - *behind_since_ms_ >= kLongestWait * quiet_ms_;
}

void Cataloguing::run(const std::function<bool()>& go_on) {
  const std::int64_t began = fs_.clock().steady_ms();
  if (!is_due(began)) return;
  // Times that wait for a commit are in no row before; what comes of a failed one is the committer's to tell.
  (void)fs_.commit();
  const std::uint64_t changes = seen_ = fs_.table().namespace_changes();
  const auto bytes = write_catalogue(fs_, go_on);
  const std::int64_t ended = fs_.clock().steady_ms();
  const std::int64_t pause = std::max({kShare * (ended - began), kQuiets * quiet_ms_, kLeastPauseMs});
  not_before_ms_ = ended + pause;
  if (bytes) {
    not_before_ms_ = ended + std::max(pause, static_cast<std::int64_t>(*bytes) / kBytesPerMs);
    written_ = changes;
    behind_since_ms_.reset();
    return;
  }
  const int reason = bytes.error().errno_value;
  const bool no_room = is_no_room(reason);
  if (no_room) not_before_ms_ = ended + std::max(pause, kLongestWait * quiet_ms_);
  if (no_room || reason == EINTR || bytes.error().message() == last_problem_) return;
  last_problem_ = bytes.error().message();
  fs_.log("the catalogue stays as it was: " + last_problem_);
}

}  // namespace cffs
