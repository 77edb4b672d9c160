#include "pipeline/base/schedules/timed_schedule.h"

#include <algorithm>
#include <cmath>

#include "sampling/core/mistake.h"
#include "sampling/core/text.h"

namespace flowtrain {

TimedSchedule::TimedSchedule(const Settings& settings, const Every& epoch, std::uint64_t last, ScheduleInput input)
    : unit_(settings.text("by") == "epoch" ? epoch : Every(1)),
      begin_(static_cast<double>(settings.integer("begin"))),
      smooth_(unit_ == Every(1) || settings.boolean("smooth")),
      traits_(schedules().at(settings.text("name")).traits) {
  const auto end = static_cast<double>(settings.integer("end"));
  if (end > 0 && end <= begin_)
    throw settings.error("end", concat(end, " is not after begin = ", begin_), ExitCode::usage, "0 ends with the run");
  const double run_end = unit_.periods(last), last_place = unit_.periods(std::max<std::uint64_t>(last, 1) - 1);
  length_ = std::max(1.0, (end > 0 ? end : run_end) - begin_);
  input.length = length_;
  input.iterations_per_unit = unit_.mean_length();
  input.epoch = epoch;
  schedule_ = make_named(schedules(), settings, input);
  cut_short_ =
      begin_ >= run_end || begin_ + length_ > run_end || schedule_->reach() > std::min(length_, last_place - begin_);
}

double TimedSchedule::place_of(std::uint64_t iteration) const {
  const double at = unit_.periods(iteration - 1);
  return smooth_ ? at : std::floor(at);
}

double TimedSchedule::apply(double value, std::uint64_t iteration) const {
  const double at = place_of(iteration);
  return at < begin_ ? value : schedule_->apply(value, std::min(at - begin_, length_));
}

void TimedSchedule::record(const Scalars& scalars, std::uint64_t iteration) {
  const double at = place_of(std::max<std::uint64_t>(iteration, 1));
  if (at >= begin_ && at <= begin_ + length_) schedule_->record(scalars);
}

}  // namespace flowtrain
