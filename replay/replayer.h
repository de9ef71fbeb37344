// Replays document requests on a target as open, read to the end, close, at zero think time.
//
// Each client's requests keep their order: a client belongs to one thread, and a thread plays its clients' requests in
// log order. Clients are dealt out so that threads have about equally many requests.
#pragma once

#include <string>

#include "core/fs/file_system.h"
#include "replay/document_tree.h"
#include "replay/latency_histogram.h"

namespace cffs::replay {

// Where documents are read from. read() is called from many threads.
class ReadTarget {
 public:
  virtual ~ReadTarget() = default;
  // Opens the file, reads all of it through `buffer`, closes it; returns the bytes read.
  virtual Result<std::uint64_t> read(const std::string& path, std::string& buffer) = 0;
};

// A directory of any file system.
class DirectoryTarget final : public ReadTarget {
 public:
  explicit DirectoryTarget(std::string directory) : directory_(std::move(directory)) {}
  Result<std::uint64_t> read(const std::string& path, std::string& buffer) override;

 private:
  const std::string directory_;
};

// A store through the library, without FUSE.
class LibraryTarget final : public ReadTarget {
 public:
  explicit LibraryTarget(FileSystem& fs) : fs_(fs) {}
  Result<std::uint64_t> read(const std::string& path, std::string& buffer) override;

 private:
  FileSystem& fs_;
};

struct ReplayReport {
  LatencyHistogram latency;
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;
  std::uint64_t failed = 0;
  std::uint64_t wrong_size = 0;  // read fewer or more bytes than the tree says
  std::string first_problem;
  double seconds = 0;
};

ReplayReport replay(const DocumentTree& tree, ReadTarget& target, unsigned threads);

}  // namespace cffs::replay
