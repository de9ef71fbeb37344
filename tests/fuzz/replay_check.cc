// LevelDB's log and manifest, judged before they are replayed. The first byte says what the rest is:
//   0  a log, as it is        1  a manifest, as it is        2  records, a length (u8) before each: a log with right
//   checksums                 3  the same as a manifest      4  as 2, cut after the half: a torn tail
#include "core/table/replay_check.h"

#include "core/object/log_filler.h"
#include "core/table/table_log.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

using namespace cffs;

std::string log_of_records(std::string_view bytes) {
  std::vector<LogRecord> records;
  while (!bytes.empty()) {
    const auto length = static_cast<std::uint8_t>(bytes[0]);
    bytes.remove_prefix(1);
    const std::string_view record = bytes.substr(0, length);
    bytes.remove_prefix(record.size());
    records.push_back({0, 0, std::string(record)});
  }
  std::vector<const LogRecord*> all;
  for (const LogRecord& record : records) all.push_back(&record);
  return write_log(all);
}

// "\x02\x05\x09\x00": the log is number 5, none before it.
const std::string kManifest = log_of_records(std::string_view("\x04\x02\x05\x09\x00", 5));

void judge(std::string_view manifest, std::string_view log) {
  MemoryStore store;
  fuzz::put(store, "table/CURRENT", "MANIFEST-000004\n");
  fuzz::put(store, "table/MANIFEST-000004", manifest);
  fuzz::put(store, "table/000005.log", log);
  fuzz::put(store, "table/000006.log", log);
  const auto refused = check_replay(store, "table", false, true);
  const auto plan = check_replay(store, "table", true, true);
  CFFS_INVARIANT(plan);
  for (const auto& [name, bytes] : plan->instead) CFFS_INVARIANT(!read_log(bytes).damaged());
  for (const auto& [name, bytes] : plan->until) {
    CFFS_INVARIANT(bytes <= log.size());
    if (plan->dropped.empty()) CFFS_INVARIANT(!read_log(log.substr(0, bytes)).damaged());
  }
  for (const LogDamage& damage : plan->dropped) CFFS_INVARIANT(!damage.sentence().empty());
  if (refused && refused->dropped.empty()) CFFS_INVARIANT(refused->instead.empty());
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest = fuzz::text_of(data + 1, size - 1);
  const LogContent raw = read_log(rest);
  CFFS_INVARIANT(raw.intact <= rest.size());
  switch (data[0] % 5) {
    case 0:
      judge(kManifest, rest);
      break;
    case 1:
      judge(rest, "");
      break;
    case 2: {
      const std::string log = log_of_records(rest);
      CFFS_INVARIANT(!read_log(log).damaged());
      judge(kManifest, log);
      const std::string with_room = log + log_filler(log.size(), 5000);
      const LogContent content = read_log(with_room);
      CFFS_INVARIANT(!content.damaged() && content.before.size() == read_log(log).before.size());
      judge(kManifest, with_room);
      break;
    }
    case 3:
      judge(log_of_records(rest), "");
      break;
    default: {
      const std::string log = log_of_records(rest);
      judge(kManifest, std::string_view(log).substr(0, log.size() / 2));
    }
  }
  return 0;
}
