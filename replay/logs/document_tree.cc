#include "replay/logs/document_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "replay/logs/line_reader.h"
#include "replay/logs/line_sample.h"
#include "replay/logs/site_path.h"

namespace cffs::replay {
namespace {

constexpr std::size_t kNamesShown = 5;

}  // namespace

Status DocumentTree::read_log(const std::string& path) {
  log_ = AccessLog();
  return each_line(path, [&](const std::string& line, std::uint64_t) -> Status {
    ++lines_;
    if (const auto record = log_.parse(line)) {
      add(*record);
      return {};
    }
    ++malformed_;
    if (samples_.size() < kNamesShown) {
      samples_.push_back(fmt::format("{} line {}: {}", path, lines_, line_sample(line)));
    }
    return {};
  });
}

void DocumentTree::add(const LoggedRequest& record) {
  const std::string_view path = path_of_target(record.target);
  const bool served = record.status == 200 || record.status == 206 || record.status == 304;
  const bool possible = path.size() <= kLongestPath && record.size <= kMostFileBytes;
  if (record.method != "GET" || !served || path.empty() || !possible) {
    ++skipped_;
    return;
  }
  const auto client = static_cast<std::uint32_t>(clients_.size());
  const auto file = static_cast<std::uint32_t>(files_.size());
  const auto [c, new_client] = clients_.try_emplace(std::string(record.client), client);
  const auto [f, new_file] = by_path_.try_emplace(file_of_url_path(path), file);
  if (new_file) {
    files_.push_back({f->first, 0});
    has_full_reply_.push_back(false);
  }
  Document& document = files_[f->second];
  if (record.status == 200 && !has_full_reply_[f->second]) {
    has_full_reply_[f->second] = true;
    document.size = record.size;
  } else if (record.status == 200 || (record.status == 206 && !has_full_reply_[f->second])) {
    document.size = std::max(document.size, record.size);
  }
  requests_.push_back({c->second, f->second, record.time_ms});
}

void DocumentTree::settle() {
  // Parts of the files' own paths, not copies: of a path of 2,000 levels these would take a thousand times its bytes.
  std::unordered_set<std::string_view> directories;
  for (const Document& file : files_) {
    const std::string_view path = file.path;
    for (std::size_t slash = path.rfind('/'); slash != path.npos && slash > 0;
         slash = path.rfind('/', slash - 1)) {
      if (!directories.insert(path.substr(0, slash)).second) break;  // and so are those above it
    }
  }
  // A path that is a directory too becomes its index; where that is a file already, both are one.
  std::vector<std::uint32_t> becomes(files_.size());
  std::vector<Document> settled;
  std::unordered_map<std::string, std::uint32_t> index;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    std::string path = files_[i].path;
    while (directories.contains(path)) path += "/index.html";
    const auto [it, fresh] = index.try_emplace(path, static_cast<std::uint32_t>(settled.size()));
    if (fresh) settled.push_back({path, 0});
    settled[it->second].size = std::max(settled[it->second].size, files_[i].size);
    becomes[i] = it->second;
  }
  files_ = std::move(settled);
  for (DocumentRequest& request : requests_) request.file = becomes[request.file];
  by_path_.clear();
}

void DocumentTree::repeat(unsigned copies) {
  if (copies <= 1) return;
  const std::vector<Document> site = std::exchange(files_, {});
  for (unsigned host = 0; host < copies; ++host) {
    for (const Document& file : site)
      files_.push_back({fmt::format("host{:02}/{}", host, file.path), file.size});
  }
  for (DocumentRequest& request : requests_) {
    request.file += static_cast<std::uint32_t>(site.size()) * (request.client % copies);
  }
}

std::uint64_t DocumentTree::bytes() const {
  std::uint64_t sum = 0;
  for (const Document& file : files_) sum += file.size;
  return sum;
}

std::vector<std::string> DocumentTree::client_names() const {
  std::vector<std::string> names(clients_.size());
  for (const auto& [name, index] : clients_) names[index] = name;
  return names;
}

}  // namespace cffs::replay
