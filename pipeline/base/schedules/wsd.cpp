#include <algorithm>

#include "pipeline/base/schedules/shapes.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

/// Returns the share of the way down at a share of the time.
double fall_at(const std::string& shape, double share) {
  if (shape == "cosine") return half_cosine(share);
  return shape == "1-sqrt" ? std::sqrt(share) : share;
}

/// S. Hu et al., "MiniCPM: Unveiling the Potential of Small Language Models with Scalable Training Strategies", 2024;
/// 1-sqrt: A. Hägele et al., "Scaling Laws and Compute-Optimal Training Beyond Fixed Training Durations", NeurIPS 2024.
/// The formulas are those of transformers' get_wsd_schedule.
std::unique_ptr<Schedule> make_wsd(const Settings& settings, const ScheduleInput& input) {
  const auto rise = static_cast<double>(settings.integer("rise"));
  const auto given = static_cast<double>(settings.integer("fall"));
  const double fall = given > 0 ? given : std::floor(input.length * settings.real("fall_share"));
  if (rise + fall > input.length)
    throw settings.error(
        given > 0 ? "fall" : "rise",
        concat("rise = ", rise, " and a fall of ", fall, " are longer than the schedule (", input.length, ")"),
        ExitCode::usage, "lower rise, fall or fall_share, or raise run.max_iter");
  return std::make_unique<Formula>([=, length = input.length, shape = settings.text("shape"),
                                    end = settings.real("min_factor")](double value, double at) {
    if (at < rise) return value * between(end, 1 - at / rise);
    const double stable_end = length - fall;
    if (at < stable_end) return value;
    return value * between(end, fall > 0 ? fall_at(shape, std::min(1.0, (at - stable_end) / fall)) : 0);
  });
}

}  // namespace

ScheduleEntry wsd_entry() {
  return {"wsd",
          "rises, stays at the optimizer's own value, and falls at the end (warm-up, stable, decay)",
          {{"rise", Kind::integer, std::int64_t{0}, "length of the rise, which is linear from min_factor", 0, 9e15},
           {"fall", Kind::integer, std::int64_t{0}, "length of the fall, before the end; 0 = fall_share of it all", 0,
            9e15},
           {"fall_share", Kind::real, 0.2, "share of the schedule's length in which the value falls", 0, 1},
           {.name = "shape",
            .kind = Kind::text,
            .fallback = std::string("1-sqrt"),
            .help = "shape of the fall",
            .choices = {"1-sqrt", "linear", "cosine"}},
           min_factor_key()},
          make_wsd};
}

}  // namespace flowtrain
