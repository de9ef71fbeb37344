#include "core/transfer/waiting_links.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace cffs {
namespace {

std::size_t hash_of(InodeId parent, const std::string& name) {
  return std::hash<std::string>()(std::to_string(parent.value) + "/" + name);
}

}  // namespace

bool WaitingLinks::concern(InodeId parent, const std::string& name) const {
  return std::any_of(links_.begin(), links_.end(), [&](const Link& link) {
    return (link.first_parent == parent && link.first_name == name) ||
           (link.parent == parent && link.name == name);
  });
}

std::vector<WaitingLinks::Link> WaitingLinks::take() { return std::exchange(links_, {}); }

void WaitingLinks::did_not_come(InodeId parent, const std::string& name) {
  const std::size_t hash = hash_of(parent, name);
  const MutexLock guard(mutex_);
  missing_.insert(hash);
}

void WaitingLinks::comes_again(InodeId parent, const std::string& name) {
  const std::size_t hash = hash_of(parent, name);
  const MutexLock guard(mutex_);
  missing_.erase(hash);
}

void WaitingLinks::all_come_again() {
  const MutexLock guard(mutex_);
  missing_.clear();
}

Result<WaitingLinks::Made> WaitingLinks::make(const Link& link, bool update) {
  {
    const MutexLock guard(mutex_);
    if (missing_.contains(hash_of(link.first_parent, link.first_name)))
      return fail(Error::usage("its first name, '" + link.first_name + "', did not come"));
  }
  const auto first = to_.look(link.first_parent, link.first_name);
  if (!first && first.error().errno_value != ENOENT) return fail(first.error());
  if (!first) return fail(Error::usage("its first name is missing"));
  const auto there = to_.look(link.parent, link.name);
  if (!there && there.error().errno_value != ENOENT) return fail(there.error());
  if (there && S_ISDIR(there->mode)) return Made::not_over_a_directory;
  if (there && there->ino == first->ino) return Made::was_there;
  if (there && !update) return Made::not_over_another;
  const std::string as = there ? to_.temporary_name() : link.name;
  CFFS_TRY_VOID(to_.make_link(link.first_parent, link.first_name, link.parent, as));
  if (!there) return Made::anew;
  CFFS_TRY_VOID(existing_.take_name(link.parent, as, link.name));
  return Made::replaced;
}

}  // namespace cffs
