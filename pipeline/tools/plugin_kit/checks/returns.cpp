// The check `returns`. Other checks look at the results of the calls.

#include "pipeline/tools/plugin_kit/checks/checks.h"
#include "pipeline/tools/plugin_kit/rows.h"

namespace flowtrain::plugin_kit {

void check_returns(const Subject& subject, Report& report) {
  const auto sampler = subject.make_sampler();
  const Rows rows(sampler->fields());
  for (auto& item : items_of(subject)) {
    report.at("sample(): " + item.name());
    try {
      make_row(*sampler, item.trial->record, item.position, rows);
    } catch (...) {  // the check `errors` reports it
    }
  }
  report.at("the sampler is destroyed");
}

}  // namespace flowtrain::plugin_kit
