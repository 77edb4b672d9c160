#include "pipeline/launch/variables.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "sampling/core/error.h"

namespace flowtrain {

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

std::optional<std::string> Variables::find(const std::string& name) const {
  auto value = environment_(name);
  return value && value->empty() ? std::nullopt : value;
}

std::string Variables::text(std::initializer_list<const char*> names) const {
  for (auto name : names) {
    if (auto value = find(name)) return *value;
  }
  throw UserError(ExitCode::distributed,
                  reader_ + " needs the environment variable " + *names.begin() + ", which is not set", hint_);
}

std::int64_t Variables::checked_number(std::initializer_list<const char*> names, std::int64_t least,
                                       std::int64_t most) const {
  const std::string value = text(names);
  std::int64_t number = 0;
  const char* end = value.data() + value.size();
  auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error == std::errc() && stop == end && number >= least && number <= most) return number;
  const auto* name = std::find_if(names.begin(), names.end(), [this](auto candidate) { return has(candidate); });
  throw UserError(ExitCode::distributed,
                  "the environment variable " + std::string(*name) + " is \"" + value +
                      "\": expected a whole number from " + std::to_string(least) + " to " + std::to_string(most),
                  hint_);
}

}  // namespace flowtrain
