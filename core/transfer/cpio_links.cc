#include "core/transfer/cpio_links.h"

#include <utility>

namespace cffs {

bool CpioLinks::has(const std::string& first, const Place& place) const {
  const auto at = files_.find(first);
  return at != files_.end() && at->second.names.contains({place.parent, place.name});
}

Status CpioLinks::add(const std::string& first, bool is_first, const Place& place, const Inode& attributes,
                      const Bring& bring) {
  if (is_first) {
    if (const auto former = files_.find(first); former != files_.end()) {
      make_empty(former->second);
      files_.erase(former);
    }
  }
  const auto [at, is_new] = files_.try_emplace(first);
  File& file = at->second;
  if (is_new) {
    file.place = place;
    file.attributes = attributes;
  }
  if (file.names.emplace(place.parent, place.name).second && !is_new)
    target_.hard_link(place.parent, place.name, file.place.parent, file.place.name);
  holders_[{place.parent, place.name}] = first;
  if (attributes.size > 0 && std::exchange(file.given_up, false)) {
    target_.failed("'" + place.path +
                   "': its data comes after another member has taken one of its names; it is empty");
  }
  return attributes.size == 0 ? Status() : give(first, attributes.size, bring);
}

Status CpioLinks::give(const std::string& first, std::uint64_t size, const Bring& bring) {
  const auto at = files_.find(first);
  if (at == files_.end() || !std::exchange(at->second.waits, false)) return {};
  at->second.attributes.size = size;
  return bring(at->second.place, at->second.attributes);
}

void CpioLinks::settle() {
  for (auto& [first, file] : files_) make_empty(file);
}

void CpioLinks::settle(const Name& name) {
  const auto holder = holders_.find(name);
  if (holder == holders_.end()) return;
  const auto at = files_.find(holder->second);
  holders_.erase(holder);
  if (at == files_.end() || at->second.names.erase(name) == 0) return;
  File& file = at->second;
  if (file.names.empty()) {  // whoever comes by another is the first
    files_.erase(at);
    return;
  }
  file.given_up = file.waits;
  make_empty(file);
  if (std::pair(file.place.parent, file.place.name) != name) return;
  const auto& [parent, other] = *file.names.begin();
  file.place = {parent, other, other};
}

void CpioLinks::make_empty(File& file) {
  if (!std::exchange(file.waits, false)) return;
  target_.small_file(file.place.parent, file.place.name, file.attributes,
                     [](Inode&) -> Result<std::string> { return std::string(); });
}

}  // namespace cffs
