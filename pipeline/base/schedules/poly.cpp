#include "pipeline/base/schedules/shapes.h"

namespace flowtrain {
namespace {

std::unique_ptr<Schedule> make_poly(const Settings& settings, const ScheduleInput& input) {
  return std::make_unique<Formula>(
      [length = input.length, end = settings.real("min_factor"), power = settings.real("power")](
          double value, double at) { return value * between(end, 1 - std::pow(1 - at / length, power)); });
}

}  // namespace

ScheduleEntry poly_entry() {
  return {"poly",
          "multiplies the value by (1 - share of the length)^power",
          {{"power", Kind::real, 1.0, "exponent; 1 is a straight line", 1e-3, 1e3}, min_factor_key()},
          make_poly};
}

}  // namespace flowtrain
