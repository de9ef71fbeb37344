// The report of cffs advise for programs: names are stable, quantities are bytes and seconds.
#include <nlohmann/json.hpp>

#include "cli/advise_report.h"

namespace cffs::cli {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const auto& histogram) {
  Json classes = Json::array();
  for (std::size_t i = 0; i < histogram.classes.size(); ++i) {
    Json one{{"files", histogram.classes[i].files}, {"bytes", histogram.classes[i].bytes}};
    one["at_most"] = i < histogram.limits.size() ? Json(histogram.limits[i]) : Json(nullptr);
    classes.push_back(std::move(one));
  }
  return classes;
}

Json json_of(const std::vector<Remark>& remarks) {
  Json list = Json::array();
  for (const Remark& remark : remarks) list.push_back({{"code", remark.code}, {"text", remark.text}});
  return list;
}

Json tree_json(const TreeSurvey& s) {
  Json j{{"files", s.files},
         {"bytes", s.bytes},
         {"allocated_bytes", s.allocated_bytes},
         {"directories", s.directories.size()},
         {"symlinks", s.symlinks},
         {"specials", s.specials},
         {"further_names", s.further_names},
         {"inodes", s.inodes()},
         {"largest_directory", s.largest_directory},
         {"on_other_devices", s.on_other_devices},
         {"vanished", s.vanished},
         {"failed", s.failed},
         {"problems", s.problems},
         {"seconds", s.seconds},
         {"sizes", json_of(s.sizes)},
         {"changed_seconds_ago", json_of(s.changed)},
         {"read_seconds_ago", json_of(s.read)}};
  for (const auto& [extension, tally] : s.extensions)
    j["extensions"][extension] = {{"files", tally.files}, {"bytes", tally.bytes}};
  return j;
}

Json store_json(const StorePrediction& s, const Duplicates& duplicates) {
  const ImportOutline& o = s.outline;
  return {{"name", s.name},
          {"compress", s.compression},
          {"composites", o.composites},
          {"members", o.members},
          {"composite_bytes", o.composite_bytes},
          {"stored_bytes", s.stored_bytes},
          {"share", s.share},
          {"share_standard_error", s.uncertainty},
          {"inline_files", o.inline_files},
          {"blobs", o.blobs},
          {"blob_bytes", o.blob_bytes},
          {"rows", s.rows},
          {"table_bytes", s.table_bytes},
          {"objects", s.objects},
          {"object_bytes", s.object_bytes},
          {"reserve_bytes", s.reserve_bytes},
          {"inodes", s.inodes},
          {"object_bytes_deduped", s.bytes_deduped(duplicates)},
          {"import_seconds", s.import_s},
          {"decompression_seconds", s.unpack_s},
          {"daemon_bytes", s.daemon_bytes}};
}

Json read_json(const ReadPrediction& r) {
  return {{"sweep_seconds", r.sweep_s},
          {"sweep_requests", r.requests},
          {"random_files_a_second", r.random_files_s}};
}

}  // namespace

std::string advice_json(const Advice& a) {
  const ContentSample& c = a.sample;
  const Duplicates& d = a.duplicates;
  Json j{{"directory", a.directory}, {"tree", tree_json(a.survey)}};
  j["sample"] = {{"bytes", c.bytes},      {"files", c.files},           {"composites", c.composites},
                 {"of_composites", c.of}, {"unreadable", c.unreadable}, {"whole", c.whole}};
  j["duplicates"] = {{"files", d.files},           {"bytes", d.bytes},       {"shared_bytes", d.shared_bytes},
                     {"candidates", d.candidates}, {"compared", d.compared}, {"whole", d.whole}};
  for (const StorePrediction& s : a.prediction.stores) j["stores"].push_back(store_json(s, d));
  for (const DiskPrediction& on : a.prediction.disks) {
    Json one{{"name", on.disk.name},
             {"ms_a_place", on.disk.seek_ms},
             {"bytes_per_second", on.disk.bytes_per_second},
             {"directory", read_json(on.directory)}};
    for (std::size_t i = 0; i < on.stores.size(); ++i)
      one["stores"][a.prediction.stores[i].name] = read_json(on.stores[i]);
    j["disks"].push_back(std::move(one));
  }
  if (a.log)
    j["log"] = {{"best_policy", a.log->best_policy},
                {"latency_of_none", a.log->latency_of_none},
                {"groups", a.log->groups},
                {"covered", a.log->covered}};
  const Recommendation& r = a.recommendation;
  j["advice"] = {{"worth", name_of(r.worth)},     {"disk", a.judged_disk},   {"policy", r.policy},
                 {"compress", r.compression},     {"wins", json_of(r.wins)}, {"slower", json_of(r.losses)},
                 {"against", json_of(r.against)}, {"commands", a.commands()}};
  return j.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace cffs::cli
