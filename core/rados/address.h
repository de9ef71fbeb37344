// Where a store in a Ceph cluster is: rados:POOL[/NAMESPACE]/NAME[:id=USER][:conf=FILE], as users of RBD know it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace cffs {

struct RadosAddress {
  std::string pool;
  std::string pool_namespace;  // empty: the pool's default one
  std::string name;            // of the store: letters, digits, '-', '_'
  std::string id;              // the user's name behind "client."; empty: Ceph's default
  std::string conf;            // the configuration file; empty: Ceph's default

  static bool is_one(std::string_view text) { return text.starts_with("rados:"); }
  // `usage`: what is wrong with it.
  static Result<RadosAddress> parse(std::string_view text);
  std::string text() const;
};

}  // namespace cffs
