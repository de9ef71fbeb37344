#include "core/backend/store_place.h"

#include <sys/stat.h>

#include "core/backend/store_at.h"
#include "core/rados/address.h"

namespace cffs {

std::string StorePlace::name_of(const std::string& below) const {
  std::string name = has_path || !below.empty() ? store + ":" + path : store;
  if (below.empty()) return name;
  if (RadosAddress::is_one(store) && path.empty()) name += '/';  // an address and a path need it between them
  if (!path.empty() && !path.ends_with('/')) name += '/';
  return name + below;
}

StorePlace split_store_place(const std::string& text,
                             const std::function<PlaceKind(const std::string&)>& kind_of) {
  const auto cut = [&](std::size_t colon) {
    return StorePlace{text.substr(0, colon), text.substr(colon + 1), true};
  };
  if (RadosAddress::is_one(text)) {
    const std::size_t colon = text.find(":/");
    if (colon != std::string::npos) return cut(colon);
    return text.ends_with(':') ? cut(text.size() - 1) : StorePlace{text, "", false};
  }
  if (kind_of(text) != PlaceKind::nothing) return {text, "", false};
  std::size_t longest = std::string::npos;
  for (std::size_t end = text.size(); end > 0;) {
    const std::size_t colon = text.rfind(':', end - 1);
    if (colon == std::string::npos) break;
    end = colon;
    if (colon == 0) break;
    const PlaceKind kind = kind_of(text.substr(0, colon));
    if (kind == PlaceKind::store) return cut(colon);
    if (kind == PlaceKind::something && longest == std::string::npos) longest = colon;
  }
  if (longest != std::string::npos) return cut(longest);
  const std::size_t colon = text.find(':');
  return colon == std::string::npos || colon == 0 ? StorePlace{text, "", false} : cut(colon);
}

StorePlace split_store_place(const std::string& text) {
  return split_store_place(text, [](const std::string& path) {
    struct stat st;
    if (::stat(path.c_str(), &st) != 0) return PlaceKind::nothing;
    return is_store_at(path) ? PlaceKind::store : PlaceKind::something;
  });
}

}  // namespace cffs
