// The check `threads`.

#include "pipeline/tools/plugin_kit/checks/checks.h"
#include "pipeline/tools/plugin_kit/hammer.h"
#include "pipeline/tools/plugin_kit/rows.h"

namespace flowtrain::plugin_kit {

void check_threads(const Subject& subject, Report& report) {
  const auto sampler = subject.make_sampler();
  const auto items = items_of(subject);
  std::vector<std::uint64_t> expected;
  const Rows rows(sampler->fields());
  expected.reserve(items.size());
  for (auto& item : items) expected.push_back(hash_of_row(*sampler, item, rows));
  report.at("8 threads");
  hammer(items.size(), "share nothing between threads that calls change: use thread_local or local variables", [&] {
    return [&, rows = Rows(sampler->fields())](std::size_t i) -> std::optional<std::string> {
      if (hash_of_row(*sampler, items[i], rows) == expected[i]) return std::nullopt;
      return items[i].name() + ": the row that one of 8 threads made is not that of a single thread";
    };
  });
}

}  // namespace flowtrain::plugin_kit
