// The check `seed`.

#include "pipeline/tools/plugin_kit/checks/checks.h"
#include "pipeline/tools/plugin_kit/rows.h"

namespace flowtrain::plugin_kit {

void check_seed(const Subject& subject, Report& report) {
  const auto sampler = subject.make_sampler();
  const Rows rows(sampler->fields()), again(sampler->fields());
  for (auto& item : items_of(subject)) {
    report.at(item.name());
    const auto first = hash_of_row(*sampler, item, rows), second = hash_of_row(*sampler, item, again);
    if (first != second)
      throw CheckFailure{
          item.name() + ": the row differs when it is made again: " + again.difference(rows).value_or("its extents"),
          "draw only from the random numbers that sample() gets, and keep no state between calls"};
    report.result(item.name(), first);
  }
}

}  // namespace flowtrain::plugin_kit
