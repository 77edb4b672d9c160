#include "pipeline/base/schedules/shapes.h"
#include "pipeline/base/values/periods.h"

namespace flowtrain {
namespace {

std::unique_ptr<Schedule> make_step(const Settings& settings, const ScheduleInput& input) {
  const Period every = period(settings, "stepsize");
  Every size = every.count;
  if (every.unit != Period::Unit::iterations) {
    if (settings.text("by") == "epoch" && every.unit == Period::Unit::per_epoch)
      throw settings.error("stepsize", "\"N per epoch\" does not go with by = \"epoch\"", ExitCode::usage,
                           "set by = \"iter\"");
    if (settings.text("by") == "iter") size = every.to_iterations(input.epoch);
  }
  return std::make_unique<Formula>(
      [length = static_cast<double>(size.length), parts = static_cast<double>(size.parts),
       by = settings.real("decay_rate")](double value, double at) {
        return length > 0 ? value / std::pow(by, std::floor(at * parts / length)) : value;
      },
      size.mean_length());
}

}  // namespace

ScheduleEntry step_entry() {
  return {"step",
          "divides the value after every stepsize",
          {{"stepsize", Kind::integer_or_text, std::int64_t{0}, "iterations or epochs from decay to decay; 0 = never",
            0, 9e15},
           decay_rate_key()},
          make_step};
}

}  // namespace flowtrain
