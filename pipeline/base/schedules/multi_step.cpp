#include <algorithm>
#include <functional>

#include "pipeline/base/schedules/shapes.h"

namespace flowtrain {
namespace {

std::unique_ptr<Schedule> make_multi_step(const Settings& settings, const ScheduleInput&) {
  const auto& milestones = settings.integers("milestones");
  if (milestones.empty() || std::ranges::adjacent_find(milestones, std::greater_equal()) != milestones.end())
    throw settings.error("milestones", "expected growing numbers, got " + to_toml(settings.value("milestones")));
  return std::make_unique<Formula>(
      [milestones, by = settings.real("decay_rate")](double value, double at) {
        const auto passed =
            std::ranges::count_if(milestones, [at](auto place) { return at >= static_cast<double>(place); });
        return value / std::pow(by, static_cast<double>(passed));
      },
      static_cast<double>(milestones.back()));
}

}  // namespace

ScheduleEntry multi_step_entry() {
  return {"multi_step",
          "divides the value at each of the milestones",
          {{.name = "milestones",
            .kind = Kind::integers,
            .fallback = std::vector<std::int64_t>{},
            .help = "iterations or epochs since the schedule's begin",
            .min = 1,
            .max = 9e15,
            .required = true},
           decay_rate_key()},
          make_multi_step};
}

}  // namespace flowtrain
