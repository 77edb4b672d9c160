// The check `time` reports the time of a call; it never fails.

#include "pipeline/base/telemetry/format.h"
#include "pipeline/tools/plugin_kit/checks/checks.h"
#include "pipeline/tools/plugin_kit/held.h"
#include "pipeline/tools/plugin_kit/rows.h"

namespace flowtrain::plugin_kit {

void measure_sample(const Subject& subject, Report& report) {
  const auto sampler = subject.make_sampler();
  const Rows rows(sampler->fields());
  const auto items = items_of(subject);
  std::size_t next = 0;
  const double each_s = seconds_of([&] {
    const Item& item = items[next++ % items.size()];
    make_row(*sampler, item.trial->record, item.position, rows);
  });
  report.note(printed("%.2f microseconds a sample in one thread", each_s * 1e6));
}

}  // namespace flowtrain::plugin_kit
