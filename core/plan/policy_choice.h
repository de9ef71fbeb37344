// From the flags of a command to a policy: name, plan file, rules for references.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/object/object_store.h"
#include "core/packed/compression.h"
#include "grouping/plan_groups.h"
#include "grouping/policy.h"

namespace cffs {

struct PolicyChoice {
  std::string name = "directory";
  std::string plan;       // frequency: a file made by cffs analyze; empty: the one the store keeps, if any
  std::string site_root;  // reference: where root-relative URLs begin, a path in the store
  unsigned depth = 1;     // reference
  unsigned shared = 8;    // reference

  std::shared_ptr<const grouping::PlanGroups> groups;  // of `plan`, once check_choice() has read it
};

// Checks what can be checked without a store: the name, and that flags go with it. Reads the plan file,
// into `groups`: of one choice it is read once.
Status check_choice(PolicyChoice& choice);
// The policy that was chosen and checked. Pure: reads the store's own plan where none is given, and changes nothing; to
// make the policy the store's is adopt_policy()'s (core/reorganise).
Result<std::shared_ptr<const grouping::Policy>> choose_policy(ObjectStore& store, const PolicyChoice& choice);

// What a daemon is asked to do with its store; to and from one JSON object.
struct RegroupRequest {
  std::optional<PolicyChoice> choice;      // none: files stay where they are
  std::optional<Compression> compression;  // none: as it is
  std::optional<bool> dedupe;              // the same
  bool dry_run = false;
  bool cancel = false;  // nothing but that: what is under way ends
};
std::string request_json(const RegroupRequest& request);
Result<RegroupRequest> request_of_json(const std::string& text);

}  // namespace cffs
