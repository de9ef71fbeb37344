// A store whose objects of one folder are wrapped in objects of a test's own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tests/passing_object.h"
#include "tests/passing_store.h"

namespace cffs::test {

class WrappingStore final : public PassingStore {
 public:
  using Wrap = std::function<std::shared_ptr<Object>(std::shared_ptr<Object>)>;

  // `prefix`: of the names of those that are wrapped.
  WrappingStore(ObjectStore& below, std::string prefix, Wrap wrap)
      : PassingStore(below), prefix_(std::move(prefix)), wrap_(std::move(wrap)) {}

  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override {
    return wrapped(name, below_.create(name, how));
  }
  Result<std::shared_ptr<Object>> open(std::string_view name) override {
    return wrapped(name, below_.open(name));
  }

 private:
  Result<std::shared_ptr<Object>> wrapped(std::string_view name,
                                          Result<std::shared_ptr<Object>> object) const {
    if (!object || !name.starts_with(prefix_)) return object;
    return wrap_(std::move(*object));
  }

  const std::string prefix_;
  const Wrap wrap_;
};

}  // namespace cffs::test
