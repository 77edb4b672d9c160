#include "pipeline/session/loggers.h"

#include "pipeline/train/display.h"

namespace flowtrain {

std::vector<NamedLogger> make_loggers(ProgressMode progress, std::uint64_t last, MetricsFile* metrics) {
  std::vector<NamedLogger> all;
  all.push_back(
      {"display", "bar, log, metrics.jsonl", Display::depth, std::make_unique<Display>(progress, last, metrics)});
  return all;
}

}  // namespace flowtrain
