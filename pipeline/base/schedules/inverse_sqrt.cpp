#include "pipeline/base/schedules/shapes.h"

namespace flowtrain {
namespace {

/// A. Vaswani et al., "Attention Is All You Need", NeurIPS 2017, scaled to a peak of 1 as in transformers'
/// get_inverse_sqrt_schedule.
std::unique_ptr<Schedule> make_inverse_sqrt(const Settings& settings, const ScheduleInput&) {
  const auto rise = static_cast<double>(settings.integer("rise"));
  const auto given = static_cast<double>(settings.integer("timescale"));
  const double timescale = given > 0 ? given : rise > 0 ? rise : 10'000;
  return std::make_unique<Formula>(
      [=](double value, double at) {
        return at < rise ? value * at / rise : value / std::sqrt((at - rise + timescale) / timescale);
      },
      rise);
}

}  // namespace

ScheduleEntry inverse_sqrt_entry() {
  return {"inverse_sqrt",
          "rises linearly from 0, then falls with the square root of the time",
          {{"rise", Kind::integer, std::int64_t{0}, "length of the rise", 0, 9e15},
           {"timescale", Kind::integer, std::int64_t{0},
            "time after the rise until the value has fallen by sqrt(2); 0 = rise, or 10,000 without one", 0, 9e15}},
          make_inverse_sqrt};
}

}  // namespace flowtrain
