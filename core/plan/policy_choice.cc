#include "core/plan/policy_choice.h"

#include <nlohmann/json.hpp>

#include "core/plan/plan_database.h"
#include "core/reorganise/plan_object.h"
#include "grouping/frequency_policy.h"
#include "grouping/reference_policy.h"

namespace cffs {
namespace {

Status check_flags(const PolicyChoice& choice) {
  if (!grouping::make_policy(choice.name)) {
    return fail(
        Error::command_line("unknown policy '" + choice.name + "'; there is: " + grouping::policy_names()));
  }
  if (!choice.plan.empty() && choice.name != "frequency") {
    return fail(Error::command_line("--plan goes with --policy=frequency, not with " + choice.name));
  }
  if (!choice.site_root.empty() && choice.name != "reference") {
    return fail(Error::command_line("--site-root goes with --policy=reference, not with " + choice.name));
  }
  const PolicyChoice usual;
  if ((choice.depth != usual.depth || choice.shared != usual.shared) && choice.name != "reference") {
    return fail(
        Error::command_line("--depth and --shared go with --policy=reference, not with " + choice.name));
  }
  if (grouping::leads_out(choice.site_root)) {
    return fail(
        Error::command_line("--site-root=" + choice.site_root +
                            " leads out of the tree; give the directory in it where the site begins"));
  }
  return {};
}

}  // namespace

Status check_choice(PolicyChoice& choice) {
  CFFS_TRY_VOID(check_flags(choice));
  if (choice.plan.empty() || choice.groups) return {};
  CFFS_TRY(const grouping::Plan plan, read_plan(choice.plan));
  choice.groups = std::make_shared<grouping::PlanGroups>(plan);
  return {};
}

Result<std::shared_ptr<const grouping::Policy>> choose_policy(ObjectStore& store,
                                                              const PolicyChoice& choice) {
  if (choice.name == "reference") {
    grouping::ReferenceOptions options;
    if (!choice.site_root.empty()) options.resolve.site_root = grouping::normalised(choice.site_root);
    options.depth = choice.depth;
    options.shared = choice.shared;
    return std::make_shared<grouping::ReferencePolicy>(options);
  }
  if (choice.name == "frequency") {
    std::shared_ptr<const grouping::PlanGroups> groups = choice.groups;
    if (!groups) {
      CFFS_TRY(auto kept, read_plan_object(store));
      if (kept) groups = std::make_shared<grouping::PlanGroups>(std::move(*kept));
    }
    return std::make_shared<grouping::FrequencyPolicy>(groups);
  }
  return std::shared_ptr<const grouping::Policy>(grouping::make_policy(choice.name));
}

std::string request_json(const RegroupRequest& request) {
  if (request.cancel) return R"({"cancel":true})";
  nlohmann::json j{{"dry_run", request.dry_run}};
  if (request.choice) {
    const PolicyChoice& c = *request.choice;
    j.update({{"policy", c.name},
              {"plan", c.plan},
              {"site_root", c.site_root},
              {"depth", c.depth},
              {"shared", c.shared}});
  }
  if (request.compression) j["compress"] = compression_text(*request.compression);
  if (request.dedupe) j["dedupe"] = *request.dedupe;
  return j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<RegroupRequest> request_of_json(const std::string& text) {
  const auto j = nlohmann::json::parse(text, nullptr, false);
  if (!j.is_object()) return fail(Error::usage("a regrouping is asked for by a JSON object"));
  RegroupRequest request;
  const auto string_at = [&](const char* key) {
    const auto it = j.find(key);
    return it != j.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  const auto number_at = [&](const char* key, unsigned otherwise) {
    const auto it = j.find(key);
    return it != j.end() && it->is_number_unsigned() ? it->get<unsigned>() : otherwise;
  };
  const auto cancel = j.find("cancel");
  request.cancel = cancel != j.end() && cancel->is_boolean() && cancel->get<bool>();
  if (request.cancel) return request;
  const auto dry = j.find("dry_run");
  request.dry_run = dry != j.end() && dry->is_boolean() && dry->get<bool>();
  if (j.contains("compress")) {
    CFFS_TRY(request.compression, parse_compression(string_at("compress")));
  }
  if (const auto dedupe = j.find("dedupe"); dedupe != j.end() && dedupe->is_boolean())
    request.dedupe = dedupe->get<bool>();
  PolicyChoice c;
  c.name = string_at("policy");
  if (c.name.empty() && (request.compression || request.dedupe)) return request;
  c.plan = string_at("plan");
  c.site_root = string_at("site_root");
  c.depth = number_at("depth", c.depth);
  c.shared = number_at("shared", c.shared);
  CFFS_TRY_VOID(check_choice(c));
  request.choice = std::move(c);
  return request;
}

}  // namespace cffs
