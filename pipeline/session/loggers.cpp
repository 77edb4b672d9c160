#include "pipeline/session/loggers.h"

#include "pipeline/config/periods.h"
#include "pipeline/pictures/picture_log.h"
#include "pipeline/train/display.h"
#include "sampling/core/settings.h"

namespace flowtrain {

namespace {

PicturePolicy picture_policy(const LoggerParts& parts) {
  const Settings& snapshot = parts.config.table("snapshot");
  PicturePolicy policy;
  if (parts.metrics) policy.folder = parts.folder() / "pictures";
  policy.keep_last = static_cast<std::size_t>(snapshot.integer("keep_last"));
  policy.keep_every = period(snapshot, "keep_every").to_iterations(parts.epoch);
  return policy;
}

}  // namespace

std::vector<NamedLogger> make_loggers(const LoggerParts& parts) {
  std::vector<NamedLogger> all;
  all.push_back({"display", "bar, log, metrics.jsonl", Display::depth,
                 std::make_unique<Display>(parts.progress, parts.last, parts.metrics)});
  if (parts.config.table("val").integer("pictures") > 0)
    all.push_back({"pictures", "PNG, JSON", PictureLog::depth, std::make_unique<PictureLog>(picture_policy(parts))});
  return all;
}

}  // namespace flowtrain
