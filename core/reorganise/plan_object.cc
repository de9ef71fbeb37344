#include "core/reorganise/plan_object.h"

#include <cmath>

#include "core/base/bytes.h"
#include "core/base/sealed_bytes.h"

namespace cffs {
namespace {

constexpr std::string_view kName = "plan";
constexpr std::string_view kUnfinished = "plan.unfinished";
constexpr std::string_view kMagic = "cffsPLAN";
constexpr std::uint32_t kFormat = 1;
constexpr std::uint32_t kFormatWithRest = 2;    // says what becomes of files without a place
constexpr std::uint32_t kFormatWithTable = 3;   // and, if it is known, which files are too small for one
constexpr std::uint32_t kFormatWithShares = 4;  // and how much of each group is wanted by who comes to it
constexpr double kWholeShare = 255;

// The oldest that has fields for all that it says.
std::uint32_t format_of(const grouping::PlanGroups& plan) {
  for (std::size_t g = 0; g < plan.size(); ++g) {
    if (plan.share(g) > 0) return kFormatWithShares;
  }
  if (plan.table_bytes() > 0) return kFormatWithTable;
  return plan.rest_bytes() ? kFormatWithRest : kFormat;
}

}  // namespace

Status write_plan_object(ObjectStore& store, const grouping::PlanGroups& plan) {
  const auto rest_bytes = plan.rest_bytes();
  const std::uint32_t format = format_of(plan);
  std::string bytes = begin_sealed(kMagic, format);
  ByteWriter w(bytes);
  if (format >= kFormatWithTable) {
    w.varint(plan.table_bytes());
    w.u8(rest_bytes ? 1 : 0);
  }
  if (rest_bytes) w.varint(*rest_bytes);
  w.varint(plan.size());
  for (std::size_t g = 0; g < plan.size(); ++g) {
    if (format == kFormatWithShares)
      w.u8(static_cast<std::uint8_t>(std::lround(plan.share(g) * kWholeShare)));
    w.varint(plan.members(g).size());
    for (const auto& member : plan.members(g)) {
      w.varint(member.file);
      w.string(member.path);
    }
  }
  seal(bytes);
  CFFS_TRY(const auto object, store.create(kUnfinished, ObjectStore::Create::truncate));
  CFFS_TRY_VOID(object->write_at(0, as_bytes(bytes)));
  CFFS_TRY_VOID(object->sync());
  CFFS_TRY_VOID(store.rename(kUnfinished, kName));
  return store.sync_names();
}

Result<std::optional<grouping::PlanGroups>> read_plan_object(ObjectStore& store) {
  auto object = store.open(kName);
  if (!object && object.error().errno_value == ENOENT) return std::optional<grouping::PlanGroups>();
  const auto damaged = [] {
    return fail(Error::corruption("object plan: its bytes differ from its checksum"));
  };
  const auto whole = object ? read_whole(**object) : Result<std::string>(fail(object.error()));
  if (!whole && whole.error().errno_value == EFBIG) return damaged();
  if (!whole && whole.error().kind == ErrorKind::os && whole.error().is_damage())
    return fail(Error::corruption("object plan cannot be read: " + whole.error().message()));
  if (!whole) return fail(whole.error());
  const auto body = unsealed(*whole, kMagic);
  if (!body) return damaged();
  ByteReader r(*body);
  const std::uint32_t format = r.u32();
  if (format < kFormat || format > kFormatWithShares) {
    return fail(Error::usage("object plan has format " + std::to_string(format) + ", this program reads " +
                             std::to_string(kFormat) + " to " + std::to_string(kFormatWithShares) +
                             "; mount with a newer cffs, or give a plan of your own with --plan"));
  }
  grouping::PlanGroups plan;
  if (format >= kFormatWithTable) plan.set_table_bytes(r.varint());
  const bool says_rest = format == kFormatWithRest || (format >= kFormatWithTable && r.u8() != 0);
  if (says_rest) plan.set_rest_bytes(r.varint());
  for (std::uint64_t groups = r.varint(); groups > 0 && r.ok(); --groups) {
    const double share = format == kFormatWithShares ? r.u8() / kWholeShare : 0;
    std::vector<grouping::PlanGroups::Member> members;
    for (std::uint64_t m = r.varint(); m > 0 && r.ok(); --m) {
      const std::uint64_t file = r.varint();
      members.push_back({std::string(r.string()), file});
    }
    // A byte of a stranger's plan makes an empty group, which takes twenty here.
    if (!members.empty()) plan.add_group(std::move(members), share);
  }
  if (!r.ok()) return damaged();
  return std::optional<grouping::PlanGroups>(std::move(plan));
}

}  // namespace cffs
