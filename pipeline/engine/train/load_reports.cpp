#include "pipeline/engine/train/load_reports.h"

namespace flowtrain {

void LoadReports::describe(StepEvent& event, const ConsumerTimes& now) {
  if (const auto shape = loader_.shape(); shape != shape_) {
    shape_ = shape;
    since_shape_ = since_report_ = LoadMeter(loader_, now);
  }
  if (event.report || now.wall_s - judged_at_s_ >= 1) {
    latest_ = judge(since_report_.load(now));
    judged_at_s_ = now.wall_s;
  }
  event.limit = {latest_.limit, latest_.share, latest_.queue_fill};
}

}  // namespace flowtrain
