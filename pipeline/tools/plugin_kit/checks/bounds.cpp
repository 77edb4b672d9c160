// The check `bounds`.

#include "pipeline/tools/plugin_kit/checks/checks.h"
#include "pipeline/tools/plugin_kit/rows.h"

namespace flowtrain::plugin_kit {

void check_bounds(const Subject& subject, Report& report) {
  const auto sampler = subject.make_sampler();
  const Rows rows(sampler->fields());
  for (auto& item : items_of(subject)) {
    report.at(item.name());
    make_row(*sampler, item.trial->record, item.position, rows);
    rows.check_guards(item.name());
  }
}

}  // namespace flowtrain::plugin_kit
