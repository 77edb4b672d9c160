#include <algorithm>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "pipeline/base/schedules/shapes.h"
#include "pipeline/base/values/improvement.h"
#include "pipeline/base/values/metric_keys.h"

namespace flowtrain {
namespace {

/// torch.optim.lr_scheduler.ReduceLROnPlateau, with validations in place of epochs.
class Plateau final : public Schedule {
 public:
  Plateau(const Settings& settings, const ScheduleInput& input)
      : improvement_{{input.metric, input.lower_wins}, settings.real("min_delta"), settings.boolean("relative")},
        // A metric that is never measured must not lower the rate.
        patience_(input.measured ? static_cast<std::uint64_t>(settings.integer("patience"))
                                 : std::numeric_limits<std::uint64_t>::max()),
        cooldown_(static_cast<std::uint64_t>(settings.integer("cooldown"))),
        decay_rate_(settings.real("decay_rate")),
        min_factor_(settings.real("min_factor")) {}

  double apply(double value, double) const override { return value * factor_; }

  void record(const Scalars& scalars) override {
    if (improvement_.record(best_, scalars))
      since_ = 0;
    else
      ++since_;
    if (cooling_ > 0) {
      --cooling_;
      since_ = 0;
    }
    if (since_ <= patience_) return;
    factor_ = std::max(factor_ / decay_rate_, min_factor_);
    cooling_ = cooldown_;
    since_ = 0;
  }

  // Writes "FACTOR SINCE COOLING BEST DIRECTION METRIC", with all digits, before the first validation up to COOLING.
  std::string state() const override {
    std::ostringstream text;
    text.precision(std::numeric_limits<double>::max_digits10);
    text << factor_ << ' ' << since_ << ' ' << cooling_;
    if (best_) text << ' ' << best_->value << (best_->of.lower_wins ? " min " : " max ") << best_->of.name;
    return text.str();
  }
  void restore(const std::string& state) override {
    std::istringstream text(state);
    if (!(text >> factor_ >> since_ >> cooling_))
      throw std::invalid_argument("'" + state + "' is not a state of plateau");
    best_.reset();
    BestValue best;
    std::string direction;
    if (!(text >> best.value >> direction >> std::ws && std::getline(text, best.of.name))) return;
    best.of.lower_wins = direction == "min";
    if (best.of == improvement_.of)
      best_ = best;
    else
      since_ = 0;  // validations counted for another metric
  }

 private:
  Improvement improvement_;
  std::uint64_t patience_, cooldown_;
  double decay_rate_, min_factor_;
  std::optional<BestValue> best_;          // value that later ones must beat
  std::uint64_t since_ = 0, cooling_ = 0;  // validations without improvement; remaining ones that do not count
  double factor_ = 1;                      // product of all reductions
};

}  // namespace

ScheduleEntry plateau_entry() {
  return {
      "plateau",
      "divides the value when a metric of validation has not improved for some time; saved with snapshots",
      {metric_key(),
       {"patience", Kind::integer, std::int64_t{10}, "validations in a row without an improvement that are tolerated",
        0, 1 << 24},
       mode_key(),
       min_delta_key(),
       relative_key(),
       {"cooldown", Kind::integer, std::int64_t{0}, "validations after a division that do not count", 0, 1 << 24},
       decay_rate_key(),
       min_factor_key()},
      [](const Settings& settings, const ScheduleInput& input) { return std::make_unique<Plateau>(settings, input); },
      {.has_state = true}};
}

}  // namespace flowtrain
