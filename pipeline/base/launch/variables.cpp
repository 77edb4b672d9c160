#include "pipeline/base/launch/variables.h"

#include <algorithm>
#include <cstdlib>

#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"

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
  for (auto name : names)
    if (auto value = find(name)) return *value;
  throw UserError(ExitCode::distributed,
                  reader_ + " needs the environment variable " + *names.begin() + ", which is not set", hint_);
}

std::int64_t Variables::checked_number(std::initializer_list<const char*> names, std::int64_t least,
                                       std::int64_t most) const {
  const std::string value = text(names);
  if (const auto number = parse_number<std::int64_t>(value); number && *number >= least && *number <= most)
    return *number;
  const auto* name = std::find_if(names.begin(), names.end(), [this](auto candidate) { return has(candidate); });
  throw UserError(ExitCode::distributed,
                  concat("the environment variable ", *name, " is \"", value, "\": expected a whole number from ",
                         least, " to ", most),
                  hint_);
}

}  // namespace flowtrain
