#include <algorithm>

#include "pipeline/base/schedules/shapes.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

/// L. N. Smith, N. Topin, "Super-Convergence: Very Fast Training of Neural Networks Using Large Learning Rates", 2018.
std::unique_ptr<Schedule> make_one_cycle(const Settings& settings, const ScheduleInput& input) {
  // The peak and the end are iterations, not the gaps between them: the run's last iteration has end_factor.
  const double last = input.length - 1, peak = settings.real("rise") * input.length - 1;
  if (peak <= 0 || peak >= last)
    throw settings.error("rise",
                         concat(settings.real("rise"), " of ", input.length, " leaves no time to rise and fall"));
  const bool linear = settings.text("anneal") == "linear";
  return std::make_unique<Formula>(
      [=, start = settings.real("start_factor"), end = settings.real("end_factor")](double value, double at) {
        const auto way = [&](double from, double to, double share) {
          return from + (to - from) * (linear ? share : half_cosine(share));
        };
        if (at <= peak) return value * way(start, 1, at / peak);
        return value * way(1, end, std::min(1.0, (at - peak) / (last - peak)));
      });
}

}  // namespace

ScheduleEntry one_cycle_entry() {
  return {"one_cycle",
          "rises to the optimizer's own value, then falls",
          {{"rise", Kind::real, 0.3, "share of the length in which the value rises", 1e-6, 1},
           {"start_factor", Kind::real, 0.04, "value at the beginning, as a share of the peak", 0, 1e6},
           {"end_factor", Kind::real, 4e-6, "value at the end, as a share of the peak", 0, 1e6},
           {.name = "anneal",
            .kind = Kind::text,
            .fallback = std::string("cos"),
            .help = "shape of rise and fall",
            .choices = {"cos", "linear"}}},
          make_one_cycle};
}

}  // namespace flowtrain
