#pragma once
// Keys of all rules over metrics: [early_stop], [[best]] and the schedule plateau.

#include <string>

#include "sampling/core/settings.h"

namespace flowtrain {

/// Returns the key of the metric that a rule compares; `must`: it must be given.
inline Key metric_key(bool must = false) {
  return {
      .name = "metric",
      .kind = Kind::text,
      .fallback = std::string(),
      .help =
          "name of one of val.metrics, or loss; <name>.<metric> of a [[val.set]]; <metric>.<group> with val.group_by; "
          "train.loss, train.<part>: mean over the epoch's training batches so far; empty: the first of "
          "val.metrics; \"-loss\": lower is better",
      .required = must};
}
inline Key mode_key() {
  return {.name = "mode",
          .kind = Kind::text,
          .fallback = std::string("auto"),
          .help = "selects the better value: the lower (min) or the higher one (max); auto: as the metric says",
          .choices = {"auto", "min", "max"}};
}
inline Key min_delta_key() {
  return {"min_delta", Kind::real, 0.0, "least difference from the best value that is an improvement", 0, 1e300};
}
inline Key relative_key() { return {"relative", Kind::boolean, false, "makes min_delta a share of the best value"}; }

}  // namespace flowtrain
