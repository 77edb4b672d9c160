#include "pipeline/schedules/shapes.h"

namespace flowtrain {
namespace {

std::unique_ptr<Schedule> make_exponential(const Settings& settings, const ScheduleInput&) {
  return std::make_unique<Divided>(settings.real("decay_rate"), [](double at) { return at; });
}

}  // namespace

ScheduleEntry exponential_entry() {
  Key each = decay_rate_key();
  each.required = true;
  each.help = "what it is divided by each time";
  return {"exponential", "divided each iteration, or epoch", {each}, make_exponential};
}

}  // namespace flowtrain
