#include "pipeline/engine/report/result_record.h"
#include "pipeline/base/telemetry/json_text.h"

#include <nlohmann/json.hpp>

namespace flowtrain {

std::string result_record(const RunResult& run) {
  nlohmann::ordered_json record{{"iteration", run.result.iteration},
                                {"epoch", run.epoch.periods(run.result.iteration)},
                                {"seconds", run.state.elapsed_s},
                                {"batch", run.batch},
                                {"ended", run.result.signal            ? "interrupted"
                                          : run.result.stopped.empty() ? "done"
                                                                       : "stopped"}};
  if (!run.result.stopped.empty()) record["why"] = run.result.stopped;
  if (!run.params_xxh64.empty()) record["params_xxh64"] = run.params_xxh64;
  if (run.weights_of != run.result.iteration) record["weights_of"] = run.weights_of;
  for (auto& rule : run.rules)
    if (const auto* best = rule.best(run.state.validations.best))
      record[rule.link] = {{"metric", rule.of.name}, {"value", best->value}, {"iteration", best->iteration}};
  return json_text(record, 2) + "\n";
}

}  // namespace flowtrain
