// Records the requests of a mount as a trace.
//
// observe() appends a request to a buffer, which goes to a spool file when it is full: that is all that a request pays. A
// thread that runs only when nobody else wants the processor turns the spool into a trace; what it did not get to is done
// when the mount ends, and then the trace takes its name, if the mount ever served. In memory is one entry for each file that was seen.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/base/mutex.h"
#include "core/object/file_descriptor.h"
#include "fusefs/request_observer.h"
#include "replay/import/trace_builder.h"
#include "replay/trace/trace_file.h"

namespace cffs::cli {

class MountRecorder final : public RequestObserver {
 public:
  static Result<std::unique_ptr<RequestObserver>> create(const std::string& path,
                                                         const std::string& mount_point);
  ~MountRecorder() override;
  void observe(const ObservedRequest& request) override;
  Status end(bool served) override;

 private:
  struct Noted : ObservedRequest {
    std::string name_text, second_text;
  };
  struct Entry {
    InodeId parent;
    std::string name;
  };

  MountRecorder(replay::TraceWriter writer, FileDescriptor spool, const std::string& mount_point);
  void work();
  void join();
  void spill() CFFS_REQUIRES(mutex_);
  // Converts what is in the spool by now; false: there was nothing new.
  Result<bool> convert();
  bool convert_within_memory();
  void process(const Noted& noted);
  std::optional<std::string> path_of(InodeId node) const;
  void know(InodeId parent, const std::string& name, InodeId node);
  void forget(InodeId parent, const std::string& name);
  bool on_node(const Noted& noted, replay::Operation& o);
  bool on_name(const Noted& noted, replay::Operation& o);
  bool fill(const Noted& noted, replay::Operation& o);

  replay::TraceWriter writer_;
  replay::TraceBuilder builder_;
  std::unordered_map<InodeId, Entry> entries_;  // where a node was seen last
  std::map<std::pair<InodeId, std::string>, InodeId> nodes_;

  const FileDescriptor spool_;
  Mutex mutex_;  // leaf: the buffer and its way into the spool
  std::string buffer_ CFFS_GUARDED_BY(mutex_);
  int spool_errno_ CFFS_GUARDED_BY(mutex_) = 0;  // of the write that failed; from then on nothing goes there
  std::atomic<std::uint64_t> spooled_{0};
  std::uint64_t converted_ = 0;  // of the converting thread, as what follows
  std::optional<Error> cut_;     // why what was spooled behind this is not in the trace
  std::atomic<bool> over_{false};
  std::atomic<bool> ended_{false};  // before the mount: what comes is not recorded
  std::thread thread_;
};

}  // namespace cffs::cli
