// Records the requests of a mount as a trace.
//
// observe() copies a request into a queue; a thread of its own finds out paths, and writes. What is kept in memory is one
// entry for each file that was seen, and what was not written yet. The trace takes its name when the mount ends.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "fusefs/request_observer.h"
#include "replay/trace/trace_builder.h"
#include "replay/trace/trace_file.h"

namespace cffs::cli {

class MountRecorder final : public RequestObserver {
 public:
  static Result<std::unique_ptr<RequestObserver>> create(const std::string& path,
                                                         const std::string& mount_point);
  ~MountRecorder() override;
  void observe(const ObservedRequest& request) override;

 private:
  struct Noted : ObservedRequest {
    std::string name_text, second_text;
  };
  struct Place {
    InodeId parent;
    std::string name;
  };

  MountRecorder(replay::TraceWriter writer, const std::string& mount_point);
  void work();
  void process(const Noted& noted);
  std::optional<std::string> path_of(InodeId node) const;
  void know(InodeId parent, const std::string& name, InodeId node);
  void forget(InodeId parent, const std::string& name);
  bool on_node(const Noted& noted, replay::Operation& o);
  bool on_name(const Noted& noted, replay::Operation& o);
  bool fill(const Noted& noted, replay::Operation& o);

  replay::TraceWriter writer_;
  replay::TraceBuilder builder_;
  std::unordered_map<InodeId, Place> places_;
  std::map<std::pair<InodeId, std::string>, InodeId> nodes_;

  std::mutex mutex_;  // leaf: the next two
  std::condition_variable wake_;
  std::vector<Noted> queue_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace cffs::cli
