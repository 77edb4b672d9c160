#include "pipeline/base/schedules/shapes.h"

namespace flowtrain {
namespace {

std::unique_ptr<Schedule> make_cosine(const Settings& settings, const ScheduleInput& input) {
  return std::make_unique<Formula>([length = input.length, end = settings.real("min_factor")](double value, double at) {
    return value * between(end, half_cosine(at / length));
  });
}

}  // namespace

ScheduleEntry cosine_entry() {
  return {"cosine", "falls along half a cosine wave, from the beginning to the end", {min_factor_key()}, make_cosine};
}

}  // namespace flowtrain
