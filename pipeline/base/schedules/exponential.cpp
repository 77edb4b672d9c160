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
  each.help = "what it is divided by each time";
  return {"exponential", "divided each iteration, or epoch", {each}, make_exponential};
}

}  // namespace flowtrain
