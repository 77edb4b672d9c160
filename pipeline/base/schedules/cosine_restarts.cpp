#include "pipeline/base/schedules/shapes.h"

namespace flowtrain {
namespace {

/// I. Loshchilov, F. Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", ICLR 2017, as
/// torch.optim.lr_scheduler.CosineAnnealingWarmRestarts.
std::unique_ptr<Schedule> make_cosine_restarts(const Settings& settings, const ScheduleInput&) {
  const auto first = static_cast<double>(settings.integer("period"));
  const auto growth = static_cast<double>(settings.integer("growth"));
  return std::make_unique<Formula>(
      [=, end = settings.real("min_factor")](double value, double at) {
        double period = first, since = at;
        if (growth == 1) since = std::fmod(at, period);
        while (since >= period) {
          since -= period;
          period *= growth;
        }
        return value * between(end, half_cosine(since / period));
      },
      first - 1);
}

}  // namespace

ScheduleEntry cosine_restarts_entry() {
  return {
      "cosine_restarts",
      "falls along half a cosine wave again and again, from the whole value each time",
      {{"period", Kind::integer, std::int64_t{1}, "length of the first wave", 1, 9e15, {}, true},
       {"growth", Kind::integer, std::int64_t{1}, "factor by which each wave is longer than the one before", 1, 1e6},
       min_factor_key()},
      make_cosine_restarts};
}

}  // namespace flowtrain
