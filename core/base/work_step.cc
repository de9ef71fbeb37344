#include "core/base/work_step.h"

#include <nlohmann/json.hpp>

namespace cffs {

std::function<void(const std::string&)> tell_names(const WorkTeller& tell) {
  if (!tell) return {};
  return [tell](const std::string& name) { tell({name}); };
}

std::string step_json(const WorkStep& step) {
  const nlohmann::ordered_json j{{"what", step.what},
                                 {"done", step.done},
                                 {"in_all", step.in_all},
                                 {"unit", step.unit},
                                 {"aside", step.aside},
                                 {"effort", step.effort},
                                 {"effort_in_all", step.effort_in_all}};
  return j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

WorkStep step_of_json(const std::string& json) {
  const auto j = nlohmann::json::parse(json, nullptr, false);
  WorkStep step;
  if (!j.is_object()) return step;
  const auto text = [&](const char* key) {
    const auto found = j.find(key);
    return found != j.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto number = [&](const char* key) {
    const auto found = j.find(key);
    return found != j.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
  };
  step.what = text("what");
  step.done = number("done");
  step.in_all = number("in_all");
  step.unit = text("unit");
  step.aside = text("aside");
  step.effort = number("effort");
  step.effort_in_all = number("effort_in_all");
  return step;
}

}  // namespace cffs
