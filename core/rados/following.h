// Who follows the writer of a store in a Ceph pool: a shared RADOS lock on the store's head, beside its owner's, that ends by itself when it
// is not renewed. So a reader that is gone is forgotten after a while, by the cluster's clock.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "core/object/object_store.h"
#include "core/rados/pool.h"

namespace cffs::rados {

class Following final : public StoreLock {
 public:
  static constexpr int kLeaseSeconds = 30;

  static Result<std::unique_ptr<StoreLock>> begin(std::shared_ptr<Pool> pool, std::string head);
  // Whether somebody does. Where that cannot be learnt somebody may.
  static bool is_followed(const Pool& pool, const std::string& head);
  ~Following() override;

 private:
  Following(std::shared_ptr<Pool> pool, std::string head);
  // 0, or librados's error.
  int renew() const;
  void keep_renewing();

  const std::shared_ptr<Pool> pool_;
  const std::string head_;
  const std::string cookie_;
  Mutex mutex_;
  CondVar wake_;
  bool ending_ CFFS_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace cffs::rados
