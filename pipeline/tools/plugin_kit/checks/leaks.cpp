// The check `leaks`.

#include "pipeline/tools/plugin_kit/checks/checks.h"
#include "pipeline/tools/plugin_kit/held.h"
#include "pipeline/tools/plugin_kit/rows.h"

namespace flowtrain::plugin_kit {

void check_leaks(const Subject& subject, Report& report) {
  const auto items = items_of(subject);
  {
    const auto sampler = subject.make_sampler();
    const Rows rows(sampler->fields());
    std::size_t next = 0;
    std::vector<std::int64_t> extents;
    const auto call = [&] {
      const Item& item = items[next++ % items.size()];
      measure_row(*sampler, item.trial->record, extents);
      make_row(*sampler, item.trial->record, item.position, rows);
    };
    report.at("calls of sample()");
    check_memory("call of sample()", affordable_calls(call), call);
  }
  report.at("samplers are made and destroyed");
  const Rows rows(subject.make_sampler()->fields());
  check_threads_and_files([&] {
    const auto sampler = subject.make_sampler();
    make_row(*sampler, items[0].trial->record, 0, rows);
  });
  check_memory("sampler that is made and destroyed", 50, [&] { subject.make_sampler(); });
}

}  // namespace flowtrain::plugin_kit
