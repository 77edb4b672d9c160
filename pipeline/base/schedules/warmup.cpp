#include "pipeline/base/schedules/shapes.h"

namespace flowtrain {
namespace {

/// Rises linearly on top of the other schedules: P. Goyal et al., "Accurate, Large Minibatch SGD", 2017.
std::unique_ptr<Schedule> make_warmup(const Settings& settings, const ScheduleInput& input) {
  const auto length = static_cast<double>(settings.integer("length"));
  const std::string& mode = settings.text("mode");
  const double factor = mode == "factor" ? settings.real("factor") : 1 / (length * input.iterations_per_unit);
  return std::make_unique<Formula>(
      [=, fixed = mode == "fix", init_lr = settings.real("init_lr")](double value, double at) {
        if (at >= length) return value;
        const double start = fixed ? init_lr : factor * value;
        return start + (value - start) * (at / length);
      },
      length);
}

}  // namespace

ScheduleEntry warmup_entry() {
  return {
      "warmup",
      "grows linearly from a small value to the value of the other schedules",
      {{"length", Kind::integer, std::int64_t{1}, "length of the warm-up", 1, 9e15, {}, true},
       {.name = "mode",
        .kind = Kind::text,
        .fallback = std::string("auto"),
        .help = "starts from init_lr (fix), from factor * the value (factor), or from the value / iterations (auto)",
        .choices = {"fix", "factor", "auto"}},
       {"init_lr", Kind::real, 0.0, "value of the first iteration, with fix", 0, 1e300},
       {"factor", Kind::real, 0.1, "share of the value in the first iteration, with factor", 0, 1},
       {"smooth", Kind::boolean, true, "changes within epochs, too, if by = \"epoch\""}},
      make_warmup,
      {.comes_last = true}};
}

}  // namespace flowtrain
