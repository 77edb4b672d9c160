#include "pipeline/session/loggers.h"

#include "pipeline/train/display.h"

namespace flowtrain {

std::vector<NamedLogger> make_loggers(const LoggerParts& parts) {
  std::vector<NamedLogger> all;
  all.push_back({"display", "bar, log, metrics.jsonl", Display::depth,
                 std::make_unique<Display>(parts.progress, parts.last, parts.metrics)});
  return all;
}

}  // namespace flowtrain
