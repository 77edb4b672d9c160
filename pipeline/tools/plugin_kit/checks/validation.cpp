// The check `validation`.

#include "pipeline/tools/plugin_kit/checks/checks.h"
#include "pipeline/tools/plugin_kit/rows.h"

namespace flowtrain::plugin_kit {

void check_validation(const Subject& subject, Report& report) {
  const auto sampler = subject.make_sampler(/*training=*/false);
  const Rows rows(sampler->fields()), others(sampler->fields());
  for (auto& trial : subject.records()) {
    report.at(trial.name);
    if (make_row(*sampler, trial.record, 0, rows)) continue;
    make_row(*sampler, trial.record, 1000, others);
    if (const auto difference = others.difference(rows))
      throw CheckFailure{trial.name + ": for validation, another seed gives another row: " + *difference,
                         "draw no random numbers where `training` is false"};
  }
}

}  // namespace flowtrain::plugin_kit
