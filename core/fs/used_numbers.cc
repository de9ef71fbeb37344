#include "core/fs/used_numbers.h"

#include <charconv>

#include "core/blob/blob_store.h"
#include "core/composite/composite_store.h"
#include "core/table/catalogue.h"
#include "core/table/system_rows.h"

namespace cffs {
namespace {

// Those whose keys begin with the number of an inode or a composite; the others with a length, a hash, nothing.
constexpr KeyTag kNumbered[] = {KeyTag::namespace_,  KeyTag::staged_directory,   KeyTag::pending_removal,
                                KeyTag::document,    KeyTag::wasteful_composite, KeyTag::embeds,
                                KeyTag::embedded_by, KeyTag::block_sums,         KeyTag::file_data};

// By halves: a scan goes forwards only, and of file data there may be much.
Result<std::uint64_t> largest_number(const Table& table, KeyTag tag) {
  const Key last = Key::tagged(tag, kInodeLimit - 1, ~std::uint64_t{0});
  std::uint64_t largest = 0;
  for (std::uint64_t low = 0, end = kInodeLimit; low < end;) {
    const std::uint64_t middle = low + (end - low) / 2;
    bool met = false;
    CFFS_TRY_VOID(table.scan(Key::tagged(tag, middle, 0), last, [&](Key key, std::string_view) {
      largest = key.number();
      met = true;
      return false;
    }));
    if (met) {
      low = largest + 1;
    } else {
      end = middle;
    }
  }
  return largest;
}

}  // namespace

Status UsedNumbers::note_keys(const Table& table) {
  for (const KeyTag tag : kNumbered) {
    CFFS_TRY(const std::uint64_t largest, largest_number(table, tag));
    note(largest);
  }
  return {};
}

void UsedNumbers::note_object(const std::string& name) {
  const std::string_view digits = std::string_view(name).substr(name.rfind('/') + 1);
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (problem != std::errc() || end != digits.data() + digits.size()) return;
  const bool is_data = name.ends_with(BlobStore::object_name(InodeId{number})) ||
                       name.ends_with(CompositeStore::object_name(CompositeId{number}));
  if (is_data) note(number);
}

void UsedNumbers::note_catalogue(ObjectStore& store) {
  const auto moment = catalogue_moment(store);
  if (moment && *moment && (*moment)->next_inode > 0) note((*moment)->next_inode - 1);
}

Result<UsedNumbers::Counter> UsedNumbers::judge_counter(const Table& table, ObjectStore& store) {
  constexpr SystemField kField = SystemField::first_unreserved;
  CFFS_TRY_VOID(note_keys(table));
  note_catalogue(store);
  CFFS_TRY(const auto names, store.list(""));
  for (const std::string& name : names) note_object(name);
  CFFS_TRY(const auto row, table.get(system_key(kField)));
  const auto gives = row ? decode_system_number(kField, *row) : Result<std::uint64_t>(kFirstInode);
  Counter counter;
  if (!gives) return counter;
  counter.gives = *gives;
  counter.is_behind = *gives < next();
  counter.is_beyond = *gives > kInodeLimit;
  return counter;
}

}  // namespace cffs
