#include "pipeline/config/curves.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "pipeline/config/words.h"
#include "sampling/core/registry.h"
#include "sampling/core/say.h"

namespace flowtrain {
namespace {

constexpr double most = 9e15;
const Key decay_rate{"decay_rate", Kind::real, 10.0, "what each decay divides by", 1e-6, 1e6};
const Key min_factor{"min_factor", Kind::real, 0.0, "the least it becomes, as a share of where it began", 0, 1e6};

/// `value` times a function of the place.
class Factor final : public Curve {
 public:
  using Shape = std::function<double(double at)>;
  explicit Factor(Shape shape, double reach = 0) : shape_(std::move(shape)), reach_(reach) {}
  double apply(double value, double at) const override { return value * shape_(at); }
  double reach() const override { return reach_; }

 private:
  Shape shape_;
  double reach_;
};

/// Divided once at each of some places.
class Divided final : public Curve {
 public:
  using Count = std::function<double(double at)>;
  Divided(double by, Count count, double reach = 0) : by_(by), count_(std::move(count)), reach_(reach) {}
  double apply(double value, double at) const override { return value / std::pow(by_, count_(at)); }
  double reach() const override { return reach_; }

 private:
  double by_;
  Count count_;
  double reach_;
};

std::unique_ptr<Curve> make_step(const Settings& settings, const CurveInput& input) {
  const Period every = period(settings, "stepsize");
  double size = static_cast<double>(every.count);
  if (every.unit != Period::Unit::iterations) {
    if (settings.text("by") == "epoch" && every.unit == Period::Unit::per_epoch)
      throw settings.error("stepsize", "counts parts of an epoch, and by = \"epoch\"", Exit::usage, "by = \"iter\"");
    if (settings.text("by") == "iter") size = static_cast<double>(every.to_iterations(input.iterations_per_epoch));
  }
  return std::make_unique<Divided>(
      settings.real("decay_rate"), [size](double at) { return size > 0 ? std::floor(at / size) : 0; }, size);
}

std::unique_ptr<Curve> make_multi_step(const Settings& settings, const CurveInput&) {
  const auto& milestones = settings.integers("milestones");
  if (milestones.empty() || !std::is_sorted(milestones.begin(), milestones.end()))
    throw settings.error("milestones", "expected places that grow, got " + to_toml(settings.value("milestones")));
  return std::make_unique<Divided>(
      settings.real("decay_rate"),
      [milestones](double at) {
        return static_cast<double>(std::count_if(milestones.begin(), milestones.end(),
                                                 [at](auto place) { return at >= static_cast<double>(place); }));
      },
      static_cast<double>(milestones.back()));
}

std::unique_ptr<Curve> make_exponential(const Settings& settings, const CurveInput&) {
  return std::make_unique<Divided>(settings.real("decay_rate"), [](double at) { return at; });
}

/// From 1 to `end` along a shape that goes from 0 to 1.
double between(double end, double shape) { return 1 + (end - 1) * shape; }

double cosine_of(double share) { return (1 - std::cos(std::numbers::pi * share)) / 2; }

std::unique_ptr<Curve> make_cosine(const Settings& settings, const CurveInput& input) {
  return std::make_unique<Factor>([length = input.length, end = settings.real("min_factor")](double at) {
    return between(end, cosine_of(at / length));
  });
}

std::unique_ptr<Curve> make_poly(const Settings& settings, const CurveInput& input) {
  return std::make_unique<Factor>(
      [length = input.length, end = settings.real("min_factor"), power = settings.real("power")](double at) {
        return between(end, 1 - std::pow(1 - at / length, power));
      });
}

/// L. N. Smith, N. Topin, "Super-Convergence: Very Fast Training of Neural Networks Using Large Learning Rates", 2018.
std::unique_ptr<Curve> make_one_cycle(const Settings& settings, const CurveInput& input) {
  // The peak and the end are iterations, not the gaps between them: the run's last iteration has end_factor.
  const double last = input.length - 1, peak = settings.real("rise") * input.length - 1;
  if (peak <= 0 || peak >= last)
    throw settings.error("rise", say(settings.real("rise"), " of ", input.length, " leaves no time for both ways"));
  const bool linear = settings.text("anneal") == "linear";
  return std::make_unique<Factor>(
      [=, start = settings.real("start_factor"), end = settings.real("end_factor")](double at) {
        const auto way = [&](double from, double to, double share) {
          return from + (to - from) * (linear ? share : cosine_of(share));
        };
        if (at <= peak) return way(start, 1, at / peak);
        return way(1, end, std::min(1.0, (at - peak) / (last - peak)));
      });
}

/// Linear, over what the other curves make of the figure: P. Goyal et al., "Accurate, Large Minibatch SGD", 2017.
class Warmup final : public Curve {
 public:
  Warmup(const Settings& settings, const CurveInput& input)
      : length_(static_cast<double>(settings.integer("t"))),
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

std::unique_ptr<Curve> make_warmup(const Settings& settings, const CurveInput& input) {
  return std::make_unique<Warmup>(settings, input);
}

Registry<Curve, CurveInput> built_in() {
  Registry<Curve, CurveInput> all("schedule");
  all.add(
      {"step",
       "divided after every stepsize",
       {{"stepsize", Kind::integer_or_text, std::int64_t{0}, "from decay to decay; 0 = never", 0, most}, decay_rate},
       make_step});
  all.add({"multi_step",
           "divided at each of the milestones",
           {{"milestones",
             Kind::integers,
             std::vector<std::int64_t>{},
             "places, from the schedule's begin on",
             1,
             most,
             {},
             true},
            decay_rate},
           make_multi_step});
  Key each = decay_rate;
  each.required = true;
  each.help = "what it is divided by each time";
  all.add({"exponential", "divided each iteration, or epoch", {each}, make_exponential});
  all.add({"cosine", "half a cosine's wave, from the beginning to the end", {min_factor}, make_cosine});
  all.add({"poly",
           "(1 - share of the way)^power",
           {{"power", Kind::real, 1.0, "1: a straight line", 1e-3, 1e3}, min_factor},
           make_poly});
  all.add({"one_cycle",
           "up to the optimizer's own figure, then down",
           {{"rise", Kind::real, 0.3, "share of the way that goes up", 1e-6, 1},
            {"start_factor", Kind::real, 0.04, "where it begins, as a share of the peak", 0, 1e6},
            {"end_factor", Kind::real, 4e-6, "where it ends, as a share of the peak", 0, 1e6},
            {.name = "anneal",
             .kind = Kind::text,
             .fallback = std::string("cos"),
             .help = "the way's form",
             .choices = {"cos", "linear"}}},
           make_one_cycle});
  all.add({"plateau",
           "divided when a figure of the validation has not improved for a while; saved with snapshots",
           {{"metric", Kind::text, std::string(),
             "one of val.metrics, or loss; empty: the first of val.metrics; \"-loss\": lower is better"},
            {"patience", Kind::integer, std::int64_t{10},
             "validations in a row without an improvement that are let pass", 0, 1 << 24},
            {.name = "mode",
             .kind = Kind::text,
             .fallback = std::string("auto"),
             .help = "what is better; auto: as the metric has it",
             .choices = {"auto", "min", "max"}},
            {"min_delta", Kind::real, 0.0, "by which it must be better to count as improved", 0, 1e300},
            {"relative", Kind::boolean, false, "min_delta is a share of the best figure"},
            {"cooldown", Kind::integer, std::int64_t{0}, "validations after a division that do not count", 0, 1 << 24},
            decay_rate,
            min_factor},
           [](const Settings&, const CurveInput&) { return std::make_unique<Factor>([](double) { return 1.0; }); }});
  all.add(
      {"warmup",
       "linear, from a small figure to what the other schedules make of it",
       {{"t", Kind::integer, std::int64_t{1}, "its length", 1, most, {}, true},
        {.name = "mode",
         .kind = Kind::text,
         .fallback = std::string("auto"),
         .help = "starts from init_lr (fix), from factor * the figure (factor), or from the figure / iterations (auto)",
         .choices = {"fix", "factor", "auto"}},
        {"init_lr", Kind::real, 0.0, "fix: figure of the first iteration", 0, 1e300},
        {"factor", Kind::real, 0.1, "factor: share of the figure in the first iteration", 0, 1},
        {"smooth", Kind::boolean, true, "changes within epochs, too, where by = \"epoch\""}},
       make_warmup});
  return all;
}

}  // namespace

Registry<Curve, CurveInput>& curves() {
  static auto& all = *new Registry<Curve, CurveInput>(built_in());
  return all;
}

ScheduledCurve::ScheduledCurve(const Settings& settings, std::uint64_t iterations_per_epoch, std::uint64_t last)
    : per_unit_(settings.text("by") == "epoch" ? iterations_per_epoch : 1),
      begin_(static_cast<double>(settings.integer("begin"))),
      smooth_(per_unit_ == 1 || settings.boolean("smooth")),
      warmup_(settings.text("name") == "warmup") {
  const auto end = static_cast<double>(settings.integer("end"));
  if (end > 0 && end <= begin_)
    throw settings.error("end", say(end, " is not after begin = ", begin_), Exit::usage, "0 = with the run");
  const auto place_of = [this](std::uint64_t iterations) {
    return static_cast<double>(iterations) / static_cast<double>(per_unit_);
  };
  const double run_end = place_of(last), last_place = place_of(std::max<std::uint64_t>(last, 1) - 1);
  length_ = std::max(1.0, (end > 0 ? end : run_end) - begin_);
  curve_ = curves().at(settings.text("name")).make(settings, {length_, per_unit_, iterations_per_epoch});
  cut_short_ =
      begin_ >= run_end || begin_ + length_ > run_end || curve_->reach() > std::min(length_, last_place - begin_);
}

double ScheduledCurve::apply(double value, std::uint64_t iteration) const {
  double at = static_cast<double>(iteration - 1) / static_cast<double>(per_unit_);
  if (!smooth_) at = std::floor(at);
  return at < begin_ ? value : curve_->apply(value, std::min(at - begin_, length_));
}

}  // namespace flowtrain
