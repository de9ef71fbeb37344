#include "replay/spark/part.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "core/base/checksum.h"
#include "grouping/mining/closed.h"
#include "replay/spark/columns.h"

namespace cffs::replay {
namespace {

constexpr std::size_t kRows = 1u << 16;  // of a frame

void write(std::FILE* out, std::string& frame) {
  (void)std::fwrite(frame.data(), 1, frame.size(), out);
  frame.clear();
}

void write_version(std::FILE* out) {
  std::string frame;
  put_text(frame, 'V', CFFS_VERSION);
  write(out, frame);
}

void write_problem(std::FILE* out, const std::string& sentence) {
  std::string frame;
  put_text(frame, 'E', sentence);
  write(out, frame);
}

std::string no_sessions(const grouping::Transactions& transactions) {
  return std::string("the temporary file for sessions; TMPDIR names its place: ") +
         std::strerror(transactions.problem());
}

class AccessFrames {
 public:
  explicit AccessFrames(std::FILE* out) : out_(out) {}
  void add(const grouping::Access& access, std::uint64_t file) {
    times_.push_back(static_cast<std::uint64_t>(access.time_ms));
    streams_.push_back(access.stream);
    files_.push_back(file);
    crawlers_.push_back(access.crawler ? 1 : 0);
    if (times_.size() == kRows) flush();
  }
  void flush() {
    if (times_.empty()) return;
    put_head(frame_, 'A', times_.size());
    put_column<std::uint64_t>(frame_, times_);
    put_column<std::uint64_t>(frame_, streams_);
    put_column<std::uint64_t>(frame_, files_);
    put_column<std::uint8_t>(frame_, crawlers_);
    write(out_, frame_);
    times_.clear(), streams_.clear(), files_.clear(), crawlers_.clear();
  }

 private:
  std::FILE* const out_;
  std::string frame_;
  std::vector<std::uint64_t> times_, streams_, files_;
  std::vector<std::uint8_t> crawlers_;
};

void write_files(std::FILE* out, const AccessReader& reader, const std::vector<std::uint64_t>& hashes,
                 const std::vector<std::uint64_t>& firsts) {
  std::string frame;
  for (std::size_t from = 0; from < firsts.size(); from += kRows) {
    const std::size_t to = std::min(from + kRows, firsts.size());
    std::vector<std::uint64_t> bytes, accesses;
    std::vector<std::uint8_t> full;
    std::vector<std::uint32_t> lengths;
    std::string paths;
    for (std::size_t i = from; i < to; ++i) {
      const LoggedFile& f = reader.files()[i];
      bytes.push_back(f.bytes);
      accesses.push_back(f.accesses);
      full.push_back(reader.has_full_reply(static_cast<grouping::Item>(i)) ? 1 : 0);
      lengths.push_back(static_cast<std::uint32_t>(f.path.size()));
      paths += f.path;
    }
    put_head(frame, 'F', to - from);
    put_column(frame, std::span(hashes).subspan(from, to - from));
    put_column<std::uint64_t>(frame, bytes);
    put_column<std::uint64_t>(frame, accesses);
    put_column(frame, std::span(firsts).subspan(from, to - from));
    put_column<std::uint8_t>(frame, full);
    put_column<std::uint32_t>(frame, lengths);
    frame += paths;
    write(out, frame);
  }
}

}  // namespace

void write_accesses(const std::vector<std::string>& logs, const AccessReaderOptions& options,
                    std::FILE* out) {
  write_version(out);
  AccessReader reader(options);
  AccessFrames frames(out);
  std::vector<std::uint64_t> hashes, firsts;  // of each file
  std::uint64_t count = 0;
  LogFormat first_format = LogFormat::automatic;
  for (const std::string& log : logs) {
    const auto visit = [&](const grouping::Access& access) {
      if (count == 0) first_format = reader.format();
      if (access.item == hashes.size()) {
        hashes.push_back(checksum(reader.files()[access.item].path));
        firsts.push_back(count);
      }
      ++count;
      frames.add(access, hashes[access.item]);
    };
    if (const Status read = reader.read(log, visit); !read) return write_problem(out, read.error().message());
  }
  frames.flush();
  write_files(out, reader, hashes, firsts);
  nlohmann::ordered_json all{
      {"accesses", count}, {"first_format", name_of(first_format)}, {"format", name_of(reader.format())}};
  for (const LogInput& input : reader.inputs()) {
    all["inputs"].push_back({{"name", input.name},
                             {"format", name_of(input.format)},
                             {"hash", input.hash},
                             {"lines", input.lines},
                             {"malformed", input.malformed},
                             {"accesses", input.accesses},
                             {"errors", input.errors},
                             {"others", input.others},
                             {"first_ms", input.first_ms},
                             {"last_ms", input.last_ms},
                             {"samples", input.samples}});
  }
  std::string frame;
  put_text(frame, 'S', all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  write(out, frame);
}

LogFormat format_of_head(const std::string& path) {
  AccessReader reader{AccessReaderOptions()};
  // That it breaks off is no matter; what was read until then is.
  (void)reader.read(path, [](const grouping::Access&) {});
  return reader.format();
}

void write_closed_part(std::FILE* in, std::FILE* out) {
  write_version(out);
  ColumnReader reader(in);
  const auto bounds = reader.column<std::uint64_t>(3);
  const auto share = reader.column<std::uint32_t>(3);
  grouping::Transactions transactions;
  std::vector<std::uint64_t> numbers;  // of each
  char kind = 0;
  std::uint32_t rows = 0;
  while (reader.head(kind, rows)) {
    const auto number = reader.column<std::uint64_t>(rows);
    const auto lengths = reader.column<std::uint32_t>(rows);
    std::size_t total = 0;
    for (const std::uint32_t length : lengths) total += length;
    const auto items = reader.column<std::uint32_t>(total);
    if (kind != 'T' || items.size() != total || lengths.size() != rows)
      return write_problem(out, "a part of the sessions came incomplete");
    for (std::size_t row = 0, at = 0; row < rows; at += lengths[row++]) {
      if (!transactions.add(std::span(items).subspan(at, lengths[row])))
        return write_problem(out, no_sessions(transactions));
      numbers.push_back(number[row]);
    }
  }
  if (!reader.whole() || share.size() != 3 || share[0] == 0)
    return write_problem(out, "a part of the sessions came incomplete");
  std::vector<grouping::Item> roots;
  for (grouping::Item item = share[1]; item < share[2]; item += share[0]) roots.push_back(item);
  const grouping::MiningResult found =
      grouping::mine_closed_part(transactions, roots, {bounds[0], bounds[1], bounds[2], 0});
  if (transactions.problem() != 0) return write_problem(out, no_sessions(transactions));
  if (found.gave_up) return write_problem(out, "too many");
  std::string frame;
  for (std::size_t from = 0; from < found.itemsets.size(); from += kRows) {
    const auto part = std::span(found.itemsets).subspan(from, std::min(kRows, found.itemsets.size() - from));
    std::vector<std::uint64_t> supports, lasts;
    std::vector<std::uint32_t> lengths, items;
    for (const grouping::Itemset& set : part) {
      supports.push_back(set.support);
      lasts.push_back(numbers[set.last]);
      lengths.push_back(static_cast<std::uint32_t>(set.items.size()));
      items.insert(items.end(), set.items.begin(), set.items.end());
    }
    put_head(frame, 'I', part.size());
    put_column<std::uint64_t>(frame, supports);
    put_column<std::uint64_t>(frame, lasts);
    put_column<std::uint32_t>(frame, lengths);
    put_column<std::uint32_t>(frame, items);
    write(out, frame);
  }
}

}  // namespace cffs::replay
