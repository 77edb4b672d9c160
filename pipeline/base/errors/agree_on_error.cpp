#include "pipeline/base/errors/agree_on_error.h"

#include <exception>
#include <nlohmann/json.hpp>

#include "pipeline/base/errors/leaders_work.h"
#include "pipeline/base/errors/policies.h"
#include "pipeline/base/telemetry/json_text.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

using nlohmann::json;

std::string described(const std::exception& error) {
  json fields{{"text", first_line(error.what())}};
  if (const auto* users = dynamic_cast<const UserError*>(&error))
    fields.update({{"code", static_cast<int>(users->code())}, {"hint", users->hint()}});
  else if (is_survivable(error))
    fields.update({{"code", static_cast<int>(ExitCode::usage)}, {"hint", ""}});  // the net or its script failed
  return json_text(fields);
}

}  // namespace

void together(Group& group, const char* what, const std::function<void()>& work) {
  if (group.size() == 1) return work();
  std::string error;
  try {
    work();
  } catch (const std::exception& thrown) {
    error = described(thrown);
  }
  for (auto& each : group.gather(what, error)) {
    if (each.empty()) continue;
    const json fields = json::parse(each);
    if (!fields.contains("code")) throw InternalError(fields.at("text").get<std::string>());
    throw UserError(static_cast<ExitCode>(fields.at("code").get<int>()), fields.at("text"), fields.at("hint"));
  }
}

void in_leader(Group& group, const char* what, const std::function<void()>& work) {
  std::exception_ptr error;
  let_leader_work(group, what, [&] {
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
  });
  together(group, what, [&] {
    if (error) std::rethrow_exception(error);
  });
}

}  // namespace flowtrain
