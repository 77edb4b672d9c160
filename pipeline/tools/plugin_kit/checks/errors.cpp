// The check `errors`. An exception that is no SampleError ends it: see run_check().

#include "pipeline/tools/plugin_kit/check.h"
#include "pipeline/tools/plugin_kit/checks/checks.h"
#include "pipeline/tools/plugin_kit/rows.h"
#include "sampling/core/text.h"

namespace flowtrain::plugin_kit {

void check_errors(const Subject& subject, Report& report) {
  const auto sampler = subject.make_sampler();
  const Rows rows(sampler->fields());
  const auto items = items_of(subject);
  std::size_t refused = 0;
  std::string reason;
  for (auto& item : items) {
    report.at("sample(): " + item.name());
    const auto refusal = make_row(*sampler, item.trial->record, item.position, rows);
    if (!refusal) continue;
    if (refusal->empty() || refusal->ends_with("': "))  // "plugin 'x': "
      throw CheckFailure{item.name() + ": the record is refused without a message", how_to_refuse};
    ++refused;
    reason = *refusal;
  }
  if (refused == items.size())
    report.refuse(concat("all records are refused: ", reason));
  else if (refused > 0)
    report.note(concat(refused, " of ", items.size(), " records are refused: ", reason));
}

}  // namespace flowtrain::plugin_kit
