#include "pipeline/engine/session/loggers.h"

#include "pipeline/base/config/listen_address.h"
#include "pipeline/base/values/periods.h"
#include "pipeline/engine/pictures/picture_log.h"
#include "pipeline/engine/prometheus/endpoint.h"
#include "pipeline/engine/tensorboard/tensorboard.h"
#include "pipeline/engine/train/display.h"
#include "sampling/core/settings.h"

namespace flowtrain {

namespace {

PicturePolicy picture_policy(const LoggerParts& parts) {
  const SnapshotKeys snapshot = parts.config.snapshot();
  PicturePolicy policy;
  if (parts.metrics) policy.folder = parts.folder() / "pictures";
  policy.keep_last = static_cast<std::size_t>(*snapshot.keep_last);
  policy.keep_every = period(snapshot.keep_every).to_iterations(parts.epoch);
  return policy;
}

}  // namespace

std::vector<NamedLogger> make_loggers(const LoggerParts& parts) {
  std::vector<NamedLogger> all;
  const std::string& groups = *parts.config.val().group_by;
  all.push_back({"display", "bar, log, metrics.jsonl", Display::depth,
                 std::make_unique<Display>(parts.progress, parts.last, parts.metrics,
                                           /*groups=*/!groups.empty() && groups != "label")});
  if (*parts.config.val().pictures > 0)
    all.push_back({"pictures", "PNG, JSON", PictureLog::depth, std::make_unique<PictureLog>(picture_policy(parts))});
  const Settings& display = parts.config.table("display");
  const auto folder = parts.metrics ? parts.folder() : std::filesystem::path();  // empty: they write nothing
  if (const auto address = listen_address(display, "prometheus"))
    all.push_back(
        {"prometheus", "an HTTP endpoint", 1,
         std::make_unique<PrometheusEndpoint>(parts.metrics ? address : std::nullopt, folder.filename().string())});
  if (display.boolean("tensorboard"))
    all.push_back({"tensorboard", "event files", TensorBoard::depth,
                   std::make_unique<TensorBoard>(folder, parts.first, to_toml(parts.config))});
  return all;
}

}  // namespace flowtrain
