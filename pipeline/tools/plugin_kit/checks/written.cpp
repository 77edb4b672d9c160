// The check `written`: a byte was not written if it keeps two different earlier values.

#include "pipeline/tools/plugin_kit/checks/checks.h"
#include "pipeline/tools/plugin_kit/rows.h"

namespace flowtrain::plugin_kit {

void check_written(const Subject& subject, Report& report) {
  const auto sampler = subject.make_sampler();
  Rows rows(sampler->fields()), again(sampler->fields());
  for (auto& item : items_of(subject)) {
    report.at(item.name());
    make_row_twice(*sampler, item, item.name(), rows, again);
  }
}

}  // namespace flowtrain::plugin_kit
