// The check `order`: the first process makes the rows in their order, the second one in a different order.

#include <algorithm>
#include <random>

#include "pipeline/tools/plugin_kit/checks/checks.h"
#include "pipeline/tools/plugin_kit/rows.h"

namespace flowtrain::plugin_kit {

void check_order(const Subject& subject, Report& report) {
  const auto sampler = subject.make_sampler();
  const Rows rows(sampler->fields());
  auto items = items_of(subject);
  if (report.run() == 1) {
    std::ranges::reverse(items);
    std::shuffle(items.begin() + 1, items.end(), std::mt19937(7));
  }
  for (auto& item : items) {
    report.at(item.name());
    report.result(item.name(), hash_of_row(*sampler, item, rows));
  }
}

}  // namespace flowtrain::plugin_kit
