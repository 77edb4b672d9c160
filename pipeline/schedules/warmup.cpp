#include "pipeline/schedules/schedule.h"

namespace flowtrain {
namespace {

/// Linear, over what the other schedules make of the value: P. Goyal et al., "Accurate, Large Minibatch SGD", 2017.
class Warmup final : public Schedule {
 public:
  Warmup(const Settings& settings, const ScheduleInput& input)
      : length_(static_cast<double>(settings.integer("length"))),
        fixed_(settings.text("mode") == "fix"),
        init_lr_(settings.real("init_lr")),
        factor_(settings.text("mode") == "factor" ? settings.real("factor")
                                                  : 1 / (length_ * static_cast<double>(input.iterations_per_unit))) {}

  double apply(double value, double at) const override {
    if (at >= length_) return value;
    const double start = fixed_ ? init_lr_ : factor_ * value;
    return start + (value - start) * (at / length_);
  }
  double reach() const override { return length_; }

 private:
  double length_;
  bool fixed_;
  double init_lr_, factor_;
};

std::unique_ptr<Schedule> make_warmup(const Settings& settings, const ScheduleInput& input) {
  return std::make_unique<Warmup>(settings, input);
}

}  // namespace

ScheduleEntry warmup_entry() {
  return {
      "warmup",
      "linear, from a small value to what the other schedules make of it",
      {{"length", Kind::integer, std::int64_t{1}, "its length", 1, 9e15, {}, true},
       {.name = "mode",
        .kind = Kind::text,
        .fallback = std::string("auto"),
        .help = "starts from init_lr (fix), from factor * the value (factor), or from the value / iterations (auto)",
        .choices = {"fix", "factor", "auto"}},
       {"init_lr", Kind::real, 0.0, "fix: value of the first iteration", 0, 1e300},
       {"factor", Kind::real, 0.1, "factor: share of the value in the first iteration", 0, 1},
       {"smooth", Kind::boolean, true, "changes within epochs, too, where by = \"epoch\""}},
      make_warmup,
      {.comes_last = true}};
}

}  // namespace flowtrain
