#include "pipeline/base/config/idle_keys.h"

#include <algorithm>
#include <string_view>

#include "pipeline/base/values/periods.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

/// Notes `keys` of `settings` whose values are not the defaults where `idle` says that `other` makes them so.
void note(std::vector<std::string>& notes, const Settings& settings, std::initializer_list<const char*> keys,
          const char* other, bool idle) {
  if (!idle) return;
  for (auto& key : settings.keys())
    if (std::find(keys.begin(), keys.end(), std::string_view(key.name)) != keys.end() &&
        settings.value(key.name) != key.fallback)
      notes.push_back(concat(settings.table(), ".", key.name, " (", settings.origin(key.name).text(), ") is not read: ",
                             other, " is ", to_toml(settings.value(other)), " (", settings.origin(other).text(), ")"));
}

}  // namespace

std::vector<std::string> idle_keys(const Config& config) {
  std::vector<std::string> notes;
  const Settings &train = config.table("train"), &ema = config.table("ema"), &early_stop = config.table("early_stop");
  note(notes, train, {"clip_by", "clip_p"}, "clip",
       train.real("clip") == 0 &&
           std::ranges::none_of(config.list("optim"), [](auto& optim) { return optim.real("clip") > 0; }));
  note(notes, train, {"clip_p"}, "clip_by", train.real("clip") > 0 && train.text("clip_by") != "norm");
  note(notes, train, {"rollback_lr"}, "nonfinite", train.text("nonfinite") != "rollback");
  note(notes, train, {"max_skipped"}, "on_error", train.text("on_error") != "skip");
  note(notes, ema, {"warmup", "validate"}, "decay", ema.real("decay") == 0);
  note(notes, early_stop, {"metric", "mode", "min_delta", "relative"}, "patience", early_stop.integer("patience") == 0);
  const Settings& display = config.table("display");
  note(notes, display, {"histograms"}, "tensorboard", !display.boolean("tensorboard"));
  const Settings& val = config.table("val");
  for (auto& metric : config.list("metric"))
    if (std::ranges::find(val.texts("metrics"), label_of(metric)) == val.texts("metrics").end())
      notes.push_back(concat(metric.table(), " (", metric.origin("name").text(), ") is not measured: '",
                             label_of(metric), "' is not among val.metrics (", val.origin("metrics").text(), ")"));
  const Settings& snapshot = config.table("snapshot");
  if (period(snapshot, "every", /*by_clock=*/true).seconds() > 0 && train.text("nonfinite") == "rollback")
    notes.push_back(concat("snapshots by the clock (snapshot.every, ", snapshot.origin("every").text(),
                           ") are not what a rollback (train.nonfinite, ", train.origin("nonfinite").text(),
                           ") goes back to, as they come at other iterations each time: it goes back to the start, or "
                           "to the last validation; a number of iterations keeps nearer points"));
  if (snapshot.text("when_busy") == "skip" && train.text("nonfinite") == "rollback")
    notes.push_back(concat("snapshot.when_busy (", snapshot.origin("when_busy").text(),
                           ") is not read: rollbacks (train.nonfinite, ", train.origin("nonfinite").text(),
                           ") go back to snapshots that were due, so none is left out"));
  return notes;
}

}  // namespace flowtrain
