// The document tree that a web log implies: which files its site must have had, how large, and which request read
// which file.
//
// A file is a path that a GET got with 200, 206 or 304. Its size is the largest reply of status 200, else of 206.
// A directory URL stands for its index.html, also where the log names both /a and /a/b (site_path.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"
#include "replay/logs/access_log.h"

namespace cffs::replay {

struct DocumentRequest {
  std::uint32_t client = 0;
  std::uint32_t file = 0;    // index into files()
  std::int64_t time_ms = 0;  // since the epoch; 0: not readable
};

struct Document {
  std::string path;  // relative
  std::uint64_t size = 0;
};

class DocumentTree {
 public:
  // Reads a whole log; several may be read, clients of the same name are the same.
  Status read_log(const std::string& path);
  // Ends the reading: settles which paths are directories.
  void settle();
  // Repeats the site as `copies` virtual hosts (host00/..., host01/...), each client assigned to one. After settle().
  void repeat(unsigned copies);

  const std::vector<Document>& files() const { return files_; }
  const std::vector<DocumentRequest>& requests() const { return requests_; }  // in log order
  std::size_t clients() const { return clients_.size(); }
  std::vector<std::string> client_names() const;  // index: client
  std::uint64_t lines() const { return lines_; }
  std::uint64_t malformed() const { return malformed_; }
  std::uint64_t skipped() const { return skipped_; }  // well-formed, but no successful GET of a path
  const std::vector<std::string>& malformed_samples() const { return samples_; }
  std::uint64_t bytes() const;

 private:
  AccessLog log_;
  void add(const LoggedRequest& record);

  std::unordered_map<std::string, std::uint32_t> clients_;
  std::unordered_map<std::string, std::uint32_t> by_path_;
  std::vector<Document> files_;
  std::vector<bool> has_full_reply_;
  std::vector<DocumentRequest> requests_;
  std::uint64_t lines_ = 0, malformed_ = 0, skipped_ = 0;
  std::vector<std::string> samples_;
};

}  // namespace cffs::replay
