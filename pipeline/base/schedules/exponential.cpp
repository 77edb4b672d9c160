#include "pipeline/base/schedules/shapes.h"

namespace flowtrain {
namespace {

std::unique_ptr<Schedule> make_exponential(const Settings& settings, const ScheduleInput&) {
  return std::make_unique<Formula>(
      [by = settings.real("decay_rate")](double value, double at) { return value / std::pow(by, at); });
}

}  // namespace

ScheduleEntry exponential_entry() {
  Key each = decay_rate_key();
  each.required = true;
  each.help = "divisor of each iteration or epoch";
  return {"exponential", "divides the value in every iteration or epoch", {each}, make_exponential};
}

}  // namespace flowtrain
