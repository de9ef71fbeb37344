#include "core/fs/content_claims.h"

namespace cffs {

ContentClaims::Held::~Held() {
  if (keys_.empty()) return;
  const MutexLock lock(claims_.mutex_);
  for (const Key key : keys_) claims_.claimed_.erase(key);
  claims_.ended_.notify_all();
}

ContentClaims::Held::Answer ContentClaims::Held::claim(Key content) {
  if (keys_.contains(content)) return Answer::had_already;
  std::set<Key> place{
      content};  // all memory that is needed is there before anything is claimed: nobody would end the claim
  const MutexLock lock(claims_.mutex_);
  if (!claims_.claimed_.insert(content).second) return Answer::anothers;
  keys_.merge(place);
  return Answer::taken;
}

void ContentClaims::Held::give_up(Key content) {
  const MutexLock lock(claims_.mutex_);
  claims_.claimed_.erase(content);
  keys_.erase(content);
  claims_.ended_.notify_all();
}

void ContentClaims::wait_for(const std::vector<Key>& contents) {
  const MutexLock lock(mutex_);
  for (const Key key : contents) {
    while (claimed_.contains(key)) ended_.wait(mutex_);
  }
}

}  // namespace cffs
