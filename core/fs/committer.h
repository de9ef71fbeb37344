// Commits every few seconds (TableFS §3.6), in a thread of its own.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace cffs {

class FileSystem;

class Committer {
 public:
  explicit Committer(FileSystem& fs);
  ~Committer();

 private:
  void run();

  FileSystem& fs_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  bool reported_ = false;
  std::thread thread_;
};

}  // namespace cffs
