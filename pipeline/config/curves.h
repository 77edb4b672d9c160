#pragma once
// How an optimizer's figures move while it trains: the kinds of [[schedule]]. All but one are pure functions of the
// iteration, so that a resumed run needs no state of them.

#include <cstdint>
#include <memory>

namespace flowtrain {

template <class Part, class Input>
class Registry;
class Settings;

/// What a figure becomes at a place of its schedule. Any thread.
class Curve {
 public:
  virtual ~Curve() = default;
  /// `value`: what it would be without this curve. `at`: from 0 to CurveInput::length, in its unit.
  virtual double apply(double value, double at) const = 0;
  /// The place from which on it stays what it is; beyond the last iteration's: a part of it is never reached.
  virtual double reach() const { return 0; }
};

struct CurveInput {
  double length = 0;  ///< of the schedule, from `begin` to `end`, in its unit: iterations or epochs
  std::uint64_t iterations_per_unit = 1, iterations_per_epoch = 1;
};

/// All kinds by name: step, multi_step, exponential, cosine, poly, one_cycle, warmup; and plateau, which goes by
/// validations and not by the iteration: as a curve it does nothing (pipeline/validation/plateau.h has it). Formulas
/// are those of torch.optim.lr_scheduler's classes of these names, with factors in place of absolute rates.
Registry<Curve, CurveInput>& curves();

/// One [[schedule]]: a curve from `begin` to `end`. Before, the figure is left alone; after, it stays as the curve left
/// it.
class ScheduledCurve {
 public:
  /// `settings`: keys of [[schedule]] and of its kind. `last`: the run's last iteration, which is the end unless given.
  /// Throws UserError(usage) where the end is not after the beginning.
  ScheduledCurve(const Settings& settings, std::uint64_t iterations_per_epoch, std::uint64_t last);

  /// What becomes of `value` at `iteration` (from 1).
  double apply(double value, std::uint64_t iteration) const;
  /// Warm-ups come after all others, which go on underneath.
  bool is_warmup() const { return warmup_; }
  /// Some of it is beyond the run's end.
  bool is_cut_short() const { return cut_short_; }

 private:
  std::uint64_t per_unit_;
  double begin_, length_;
  bool smooth_, warmup_, cut_short_;
  std::unique_ptr<const Curve> curve_;
};

}  // namespace flowtrain
