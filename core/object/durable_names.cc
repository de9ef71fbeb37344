#include "core/object/durable_names.h"

namespace cffs {

std::string DurableNames::folder_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? std::string(".") : name.substr(0, slash);
}

DurableNames::Number DurableNames::came(const std::string& name) {
  const MutexLock guard(newest_mutex_);
  const Number number = ++last_;
  newest_[folder_of(name)] = number;
  return number;
}

DurableNames::Number DurableNames::newest_beside(const std::string& name) const {
  const MutexLock guard(newest_mutex_);
  const auto it = newest_.find(folder_of(name));
  return it == newest_.end() ? 0 : it->second;
}

Status DurableNames::make_durable(const std::string& name, Number number) {
  const std::string folder = folder_of(name);
  const MutexLock guard(mutex_);
  const auto it = covered_.find(folder);
  if (it != covered_.end() && it->second >= number) return {};
  // Nobody removes a folder: one that is known to be durable stays so. Of another, any above may be as new as it.
  const bool folders_are_durable = it != covered_.end();
  const Number begin = last_.load();
  CFFS_TRY_VOID(sync_folder_(folder));
  for (std::string above = folder; !folders_are_durable && above != ".";) {
    above = folder_of(above);
    CFFS_TRY_VOID(sync_now(above));
  }
  covered_[folder] = begin;
  return {};
}

Status DurableNames::sync(const std::string& folder) {
  const MutexLock guard(mutex_);
  return sync_now(folder);
}

Status DurableNames::sync_now(const std::string& folder) {
  const Number begin = last_.load();
  CFFS_TRY_VOID(sync_folder_(folder));
  // Where it is not known whether the folder itself is durable, that stays to be found out.
  if (const auto it = covered_.find(folder); it != covered_.end()) it->second = begin;
  return {};
}

}  // namespace cffs
