#include "core/rados/address.h"

#include <algorithm>
#include <vector>

namespace cffs {
namespace {

constexpr const char* kForm =
    "rados:POOL/NAME, rados:POOL/NAMESPACE/NAME, with :id=USER and :conf=FILE where needed";

std::vector<std::string> split(std::string_view text, char between) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(between, at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

bool is_store_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

}  // namespace

Result<RadosAddress> RadosAddress::parse(std::string_view text) {
  const auto wrong = [&](const std::string& what) {
    return fail(Error::command_line(std::string(text) + ": " + what + "; an address is " + kForm));
  };
  if (!is_one(text)) return wrong("no address of a store in a Ceph pool");
  const std::vector<std::string> words = split(text.substr(text.find(':') + 1), ':');
  const std::vector<std::string> place = split(words[0], '/');
  if (place.size() < 2 || place.size() > 3) return wrong("pool and name are not both there");
  RadosAddress address;
  address.pool = place.front();
  address.name = place.back();
  if (place.size() == 3) address.pool_namespace = place[1];
  if (address.pool.empty()) return wrong("the pool has no name");
  if (place.size() == 3 && address.pool_namespace.empty()) return wrong("the namespace has no name");
  if (!is_store_name(address.name)) return wrong("the store's name is not letters, digits, '-' and '_'");
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::string& value = words[i].starts_with("id=") ? address.id : address.conf;
    if (!words[i].starts_with("id=") && !words[i].starts_with("conf="))
      return wrong("'" + words[i] + "' is neither id= nor conf=, and a path inside begins with '/'");
    if (!value.empty()) return wrong("'" + words[i] + "' is there twice");
    value = words[i].substr(words[i].find('=') + 1);
    if (value.empty()) return wrong("'" + words[i] + "' has no value");
  }
  return address;
}

std::string RadosAddress::text() const {
  std::string text = "rados:" + pool + "/" + (pool_namespace.empty() ? "" : pool_namespace + "/") + name;
  if (!id.empty()) text += ":id=" + id;
  if (!conf.empty()) text += ":conf=" + conf;
  return text;
}

}  // namespace cffs
